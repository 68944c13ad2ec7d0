//! The bell: wakes whoever waits for a change, in this process and in every other one on the same home.
//!
//! A ring says only "something was committed"; what it was is read from the store. Each process listens
//! on a datagram socket of its own; nobody polls.

use std::fs;
use std::io::ErrorKind;
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use tokio::sync::watch;
use uuid::Uuid;

use crate::StoreError;
use crate::home::{self, Home};

/// The longest socket path every supported system takes, with its closing NUL byte left out.
const MAX_SOCKET_PATH: usize = 103;

/// A folder's time stamp has a coarse grain; a list read this shortly after a change may miss one of
/// the same instant and is read again.
const SETTLED: Duration = Duration::from_secs(2);

/// The bell of a home. Clones are the same bell.
#[derive(Debug, Clone)]
pub struct Bell(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    home: Arc<Home>,
    dir: PathBuf,
    ear: UnixDatagram,
    mouth: UnixDatagram,
    shared: Arc<Shared>,
    peers: Mutex<Peers>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    rung: watch::Sender<u64>,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct Peers {
    /// The folder's time stamp when the list was read; `None` if the list must be read again.
    stamp: Option<SystemTime>,
    list: Vec<(Uuid, PathBuf)>,
}

/// One who waits for the bell.
#[derive(Debug, Clone)]
pub struct Waiter(watch::Receiver<u64>);

impl Bell {
    /// Hangs this process's bell into the home.
    pub fn open(home: Arc<Home>) -> Result<Bell, StoreError> {
        const WHAT: &str = "the bell between processes cannot be set up";
        let fail = |e: std::io::Error| StoreError::home(WHAT, &e);
        let (dir, ear) = bind(&home).map_err(fail)?;
        let mouth = UnixDatagram::unbound().map_err(fail)?;
        mouth.set_nonblocking(true).map_err(fail)?;
        let shared = Arc::new(Shared { rung: watch::Sender::new(0), stop: AtomicBool::new(false) });
        let heard = (ear.try_clone().map_err(fail)?, shared.clone());
        let thread = std::thread::Builder::new()
            .name("store-bell".into())
            .spawn(move || listen(&heard.0, &heard.1))
            .map_err(fail)?;
        Ok(Bell(Arc::new(Inner { home, dir, ear, mouth, shared, peers: Mutex::default(), thread: Some(thread) })))
    }

    /// Starts to wait: from now on no ring is lost to this waiter. Subscribe, then look at the store,
    /// then wait, then look again.
    pub fn subscribe(&self) -> Waiter {
        Waiter(self.0.shared.rung.subscribe())
    }

    /// Wakes the waiters of this process and of all others on the home. Never blocks.
    pub fn ring(&self) {
        self.ring_here();
        self.0.ring_others();
    }

    /// Wakes the waiters of this process only.
    pub fn ring_here(&self) {
        self.0.shared.rung.send_modify(|n| *n = n.wrapping_add(1));
    }
}

impl Waiter {
    /// Returns once the bell has rung since the last return, or since the subscription; many rings in
    /// between count as one. After [`StoreError::Closed`] it will never ring again.
    pub async fn rung(&mut self) -> Result<(), StoreError> {
        self.0.changed().await.map_err(|_| StoreError::Closed)
    }
}

impl Inner {
    fn ring_others(&self) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = fs::metadata(&self.dir).and_then(|m| m.modified()).ok();
        if stamp.is_none() || peers.stamp != stamp {
            let settled = stamp.is_some_and(|t| t.elapsed().is_ok_and(|age| age > SETTLED));
            peers.stamp = stamp.filter(|_| settled);
            peers.list = self.read_peers();
        }
        for (id, path) in &peers.list {
            let Err(e) = self.mouth.send_to(&[1], path) else {
                continue;
            };
            // A full queue means that the other is about to look anyway.
            let gone =
                matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound | ErrorKind::ConnectionReset);
            if gone && !self.home.is_alive(*id) {
                home::remove(path);
            }
        }
    }

    fn read_peers(&self) -> Vec<(Uuid, PathBuf)> {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let peer = |path: PathBuf| {
            let name = path.file_name()?.to_str()?.strip_suffix(".bell")?;
            let id = Uuid::parse_str(name).ok()?;
            (id != self.home.process_id()).then_some((id, path))
        };
        entries.flatten().filter_map(|entry| peer(entry.path())).collect()
    }

    fn own_path(&self) -> PathBuf {
        self.dir.join(bell_name(&self.home))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let path = self.own_path();
        // Systems differ in what wakes a blocked reader: one of the two does.
        let shut = self.ear.shutdown(Shutdown::Both);
        let sent = self.mouth.send_to(&[0], &path);
        home::remove(&path);
        if let Some(thread) = self.thread.take()
            && (shut.is_ok() || sent.is_ok())
            && thread.join().is_err()
        {
            tracing::error!("the bell's thread panicked");
        }
    }
}

fn listen(ear: &UnixDatagram, shared: &Shared) {
    let mut byte = [0u8; 1];
    loop {
        let heard = ear.recv(&mut byte);
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        match heard {
            Ok(_) => shared.rung.send_modify(|n| *n = n.wrapping_add(1)),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                tracing::error!(kind = %e.kind(), "the bell no longer hears other processes");
                return;
            }
        }
    }
}

fn bell_name(home: &Home) -> String {
    format!("{}.bell", home.process_id())
}

fn bind(home: &Home) -> std::io::Result<(PathBuf, UnixDatagram)> {
    let name = bell_name(home);
    let near = home.run_dir();
    if near.join(&name).as_os_str().len() <= MAX_SOCKET_PATH {
        let ear = UnixDatagram::bind(near.join(&name))?;
        return Ok((near, ear));
    }
    let far = far_dir(home)?;
    sweep_far(home, &far);
    let ear = UnixDatagram::bind(far.join(&name))?;
    Ok((far, ear))
}

/// The folder of the bells of a home whose own path is too long for a socket: always below `/tmp`, not
/// where `TMPDIR` says, for all processes must find the same one. Others can write there, so the folder
/// must be ours and closed to them.
fn far_dir(home: &Home) -> std::io::Result<PathBuf> {
    let hash = Sha256::digest(home.path().as_os_str().as_encoded_bytes());
    let short: String = hash[..8].iter().map(|b| format!("{b:02x}")).collect();
    let dir = Path::new("/tmp").join(format!("astudio-{short}"));
    home::create_private(&dir)?;
    let meta = fs::symlink_metadata(&dir)?;
    if !meta.is_dir() || meta.uid() != home.uid()? || meta.mode() & 0o077 != 0 {
        return Err(ErrorKind::PermissionDenied.into());
    }
    Ok(dir)
}

fn sweep_far(home: &Home, dir: &Path) {
    for path in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = path.path();
        let id = path.file_stem().and_then(|s| s.to_str());
        if let Some(id) = id.and_then(|s| Uuid::parse_str(s).ok())
            && !home.is_alive(id)
        {
            home::remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn open(path: &Path) -> Bell {
        Bell::open(Arc::new(Home::open(path).unwrap())).unwrap()
    }

    async fn hears(waiter: &mut Waiter) -> bool {
        match tokio::time::timeout(SOON, waiter.rung()).await {
            Ok(answer) => answer.is_ok(),
            Err(_) => false,
        }
    }

    async fn silent(waiter: &mut Waiter) -> bool {
        let short = Duration::from_millis(50);
        tokio::time::timeout(short, waiter.rung()).await.is_err()
    }

    #[tokio::test]
    async fn a_ring_wakes_both_sides_and_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (open(dir.path()), open(dir.path()));
        let (mut here, mut there) = (a.subscribe(), b.subscribe());
        a.ring();
        assert!(hears(&mut here).await);
        assert!(hears(&mut there).await);
        assert!(silent(&mut here).await);
        assert!(silent(&mut there).await);
    }

    #[tokio::test]
    async fn a_ring_between_look_and_wait_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let bell = open(dir.path());
        let mut waiter = bell.subscribe();
        bell.ring();
        bell.ring();
        assert!(hears(&mut waiter).await);
        assert!(silent(&mut waiter).await);
    }

    #[tokio::test]
    async fn one_who_comes_later_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let a = open(dir.path());
        a.ring();
        let b = open(dir.path());
        let mut waiter = b.subscribe();
        a.ring();
        assert!(hears(&mut waiter).await);
    }

    #[tokio::test]
    async fn a_deaf_neighbour_never_blocks_and_a_dead_ones_socket_goes() {
        let dir = tempfile::tempdir().unwrap();
        let a = open(dir.path());
        let run = dir.path().join("run");
        let dead = run.join(format!("{}.bell", Uuid::new_v4()));
        drop(UnixDatagram::bind(&dead).unwrap());
        let deaf = run.join(format!("{}.bell", Uuid::new_v4()));
        let deaf_socket = UnixDatagram::bind(&deaf).unwrap();
        for _ in 0..10_000 {
            a.ring();
        }
        assert!(!dead.exists());
        assert!(deaf.exists());
        drop(deaf_socket);
    }

    #[tokio::test]
    async fn a_home_with_a_long_path_rings_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x".repeat(120));
        let (a, b) = (open(&path), open(&path));
        assert!(a.0.dir.starts_with("/tmp"));
        let mut waiter = b.subscribe();
        a.ring();
        assert!(hears(&mut waiter).await);
        let far = a.0.dir.clone();
        drop((a, b, waiter));
        assert_eq!(fs::read_dir(&far).unwrap().count(), 0);
        fs::remove_dir(far).unwrap();
    }

    #[tokio::test]
    async fn waiters_learn_that_the_bell_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let bell = open(dir.path());
        let mut waiter = bell.subscribe();
        drop(bell);
        assert_eq!(waiter.rung().await, Err(StoreError::Closed));
    }
}
