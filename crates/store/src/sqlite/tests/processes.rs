//! Several processes on one home. A child is this test binary itself, told by the environment what to
//! do.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::*;

const ROLE: &str = "ASTUDIO_STORE_TEST_CHILD";
const HOME: &str = "ASTUDIO_STORE_TEST_HOME";

/// The command of a child; `launcher` may be a shell that sets limits first.
pub(super) fn child(mut launcher: Command, role: &str, home: &Path) -> Command {
    launcher
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::tests::processes::in_child", "--nocapture"])
        .env(ROLE, role)
        .env(HOME, home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    launcher
}

fn spawn(role: &str, home: &Path) -> Child {
    child(Command::new("env"), role, home).spawn().unwrap()
}

/// Says something to the parent on a line of its own, at once.
pub(super) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").unwrap();
    out.flush().unwrap();
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok)
}

/// The child's side; without a role it has nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn in_child() {
    let (Ok(role), Ok(home)) = (std::env::var(ROLE), std::env::var(HOME)) else {
        return;
    };
    say("");
    let store = open(Path::new(&home));
    match role.as_str() {
        "fill" => disk::fill(store).await,
        "count" => count(store).await,
        "one by one" => one_by_one(store).await,
        "crowd" => crowd(store).await,
        "live" => {
            say(&format!("id {}", store.home().process_id()));
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        "ring" => store.write(|tx| insert(tx, "rung", 1)).await.unwrap(),
        "open" => say(&format!("applied {}", store.migrated().applied.len())),
        other => panic!("unknown role {other}"),
    }
}

const COUNTS: i64 = 300;

/// Read, add one, write: lost updates would show.
async fn count(store: Store) {
    let me = store.home().process_id();
    for _ in 0..COUNTS {
        let add = move |tx: &mut dyn Tx| {
            let n = tx.query_one("SELECT n FROM items WHERE id = 'shared'", &[])?;
            let n = n.map_or(Ok(0), |row| row.int(0))? + 1;
            tx.exec("INSERT INTO items (id, n) VALUES ('shared', $1) ON CONFLICT (id) DO UPDATE SET n = $1", vals![n])?;
            tx.exec("INSERT INTO tallies VALUES ($1, 1) ON CONFLICT (writer) DO UPDATE SET n = n + 1", vals![me])
        };
        store.write(add).await.unwrap();
    }
}

async fn one_by_one(store: Store) {
    for i in 0..1000i64 {
        store.write(move |tx| insert(tx, &format!("{i:06}"), i)).await.unwrap();
        say(&format!("ok {i:06}"));
    }
}

async fn crowd(store: Store) {
    let callers = (0..64i64).map(|caller| {
        let store = store.clone();
        tokio::spawn(async move {
            for i in 0..10_000i64 {
                let id = format!("{caller:02}-{i:06}");
                let own = id.clone();
                // Two rows per call: half a call would show.
                let put = move |tx: &mut dyn Tx| {
                    insert(tx, &own, i)?;
                    insert(tx, &format!("{own}'"), i)
                };
                store.write(put).await.unwrap();
                say(&format!("ok {id}"));
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
}

#[tokio::test]
async fn two_processes_write_at_once_and_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let children = [spawn("count", dir.path()), spawn("count", dir.path())];
    for child in children {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{out:?}");
    }
    let store = open(dir.path());
    let shared = store.read(|tx| tx.query_one("SELECT n FROM items WHERE id = 'shared'", &[])).await;
    assert_eq!(shared.unwrap().unwrap().int(0), Ok(2 * COUNTS));
    let tallies = store.read(|tx| tx.query("SELECT n FROM tallies", &[])).await;
    let tallies: Vec<_> = tallies.unwrap().iter().map(|row| row.int(0)).collect();
    assert_eq!(tallies, [Ok(COUNTS), Ok(COUNTS)]);
}

#[test]
fn an_empty_home_is_migrated_once_by_many() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("new");
    let children: Vec<Child> = (0..4).map(|_| spawn("open", &home)).collect();
    let mut applied = 0;
    for child in children {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{out:?}");
        let text = String::from_utf8(out.stdout).unwrap();
        let n = text.lines().find_map(|l| l.strip_prefix("applied "));
        applied += n.unwrap().parse::<usize>().unwrap();
    }
    assert_eq!(applied, SCHEMA.len());
}

#[test]
fn a_killed_process_is_dead_in_the_register() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut child = spawn("live", dir.path());
    let id = lines(&mut child).find_map(|l| l.strip_prefix("id ").map(str::to_owned));
    let id = uuid::Uuid::parse_str(&id.unwrap()).unwrap();
    let run = dir.path().join("run");
    assert!(store.home().is_alive(id));
    assert!(run.join(format!("{id}.bell")).exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!store.home().is_alive(id));
    assert!(!run.join(format!("{id}.alive")).exists());
    store.bell().ring();
    assert!(!run.join(format!("{id}.bell")).exists());
}

#[tokio::test]
async fn another_process_rings_here() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut waiter = store.bell().subscribe();
    let mut child = spawn("ring", dir.path());
    let soon = std::time::Duration::from_secs(30);
    assert_eq!(tokio::time::timeout(soon, waiter.rung()).await, Ok(Ok(())));
    assert_eq!(stored(&store).await, ["rung"]);
    child.wait().unwrap();
}

#[tokio::test]
async fn a_kill_in_mid_group_keeps_what_was_acknowledged_and_no_half_call() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = spawn("crowd", dir.path());
    let mut lines = lines(&mut child).filter(|l| l.starts_with("ok "));
    let mut acknowledged: Vec<String> = lines.by_ref().take(500).collect();
    child.kill().unwrap();
    acknowledged.extend(lines);
    child.wait().unwrap();
    // The kill may have cut the last line.
    let whole = |l: &String| l.len() == "ok 00-000000".len();
    let acknowledged: Vec<String> = acknowledged.into_iter().filter(whole).collect();
    let there = stored(&open(dir.path())).await;
    for line in &acknowledged {
        let id = line.strip_prefix("ok ").unwrap().to_owned();
        assert!(there.contains(&id), "{id} was acknowledged");
    }
    for id in there.iter().filter(|id| !id.ends_with('\'')) {
        assert!(there.contains(&format!("{id}'")), "half of {id}");
    }
    assert_eq!(there.len() % 2, 0);
}

#[cfg(feature = "failpoints")]
#[tokio::test]
async fn a_kill_around_the_commit_is_all_or_nothing() {
    for (fault, more) in [("before_commit@5=kill", 0), ("after_commit@5=kill", 1), ("after_commit@5=abort", 1)] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = child(Command::new("env"), "one by one", dir.path());
        let out = child.env("ASTUDIO_FAULT", fault).output().unwrap();
        assert!(!out.status.success());
        let text = String::from_utf8(out.stdout).unwrap();
        let acknowledged = text.lines().filter(|l| l.starts_with("ok ")).count();
        assert_eq!(acknowledged, 4, "{fault}");
        let there = stored(&open(dir.path())).await;
        assert_eq!(there.len(), acknowledged + more, "{fault}");
    }
}
