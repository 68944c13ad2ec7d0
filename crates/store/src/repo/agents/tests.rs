#![allow(clippy::unwrap_used)]
use super::list::{After, Ask, Order, Reach, Term, rows};
use super::*;
use crate::{Store, StoreSettings};
use tempfile::TempDir;

fn store() -> (TempDir, Store) {
    let home = TempDir::new().unwrap();
    let store = Store::open(&StoreSettings::new(home.path())).unwrap();
    (home, store)
}

fn acme() -> Partition {
    Partition::tenant("acme").unwrap()
}

fn agent(name: &str, owner: &str, at: i64) -> Agent {
    Agent {
        head: Head {
            id: contract::ids::record_id(),
            name: name.into(),
            owner: owner.into(),
            visibility: Visibility::Private,
            allowed_groups: Vec::new(),
            bot_class: "BasicBot".into(),
            llm: Some("anthropic:x".into()),
            category: "general".into(),
            description: None,
            active: true,
            version: 1,
            created_at: Micros(at),
            updated_at: Micros(at),
        },
        definition: Definition {
            schema_version: SCHEMA_VERSION,
            bot_class: "BasicBot".into(),
            llm: Some("anthropic:x".into()),
            model_params: ModelParams { temperature: Some(0.5), ..ModelParams::default() },
            system_prompt: Some("Say \"hello\".".into()),
            description: None,
            category: "general".into(),
            tools: vec!["calc".into()],
            config: Map::new(),
        },
    }
}

async fn add(store: &Store, partition: &Partition, agent: Agent) -> Result<(), StoreError> {
    let partition = partition.clone();
    store.write(move |tx| insert(tx, &partition, &agent, "u1")).await
}

async fn history(store: &Store, id: &str) -> Vec<(i64, String)> {
    let id = id.to_owned();
    store
        .read(|tx| {
            let rows =
                tx.query("select version, change from agent_versions where agent_id = $1 order by version", vals![id])?;
            rows.iter().map(|row| Ok::<_, StoreError>((row.int(0)?, row.text(1)?))).collect()
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_life() {
    let (_home, store) = store();
    let mut one = agent("a", "u1", 5);
    add(&store, &acme(), one.clone()).await.unwrap();
    assert_eq!(add(&store, &acme(), agent("a", "u2", 6)).await, Err(StoreError::Unique));
    // The same name is free in another partition.
    add(&store, &Partition::GLOBAL, agent("a", "u2", 6)).await.unwrap();

    let found = store.read(|tx| by_name(tx, &acme(), "a")).await.unwrap().unwrap();
    assert_eq!(found, one);
    assert_eq!(store.read(|tx| head_by_name(tx, &acme(), "a")).await.unwrap(), Some(one.head.clone()));
    let other = Partition::tenant("globex").unwrap();
    assert_eq!(store.read(|tx| by_id(tx, &other, &one.head.id)).await.unwrap(), None);
    assert_eq!(store.read(|tx| by_id(tx, &acme(), &one.head.id)).await.unwrap().unwrap(), one);

    one.head.version = 2;
    one.head.visibility = Visibility::Groups;
    one.head.allowed_groups = vec!["g1".into()];
    let write = |agent: Agent| {
        let store = store.clone();
        async move { store.write(move |tx| update(tx, &acme(), &agent, "u1", "visibility")).await.unwrap() }
    };
    assert!(write(one.clone()).await);
    assert!(!write(one.clone()).await, "the version before is gone");
    assert_eq!(store.read(|tx| by_name(tx, &acme(), "a")).await.unwrap().unwrap(), one);

    let id = one.head.id.clone();
    store
        .write(move |tx| {
            tx.exec(
                "insert into agent_tooling (agent_id, kind, slug, position, config, updated_at) values ($1, 'toolkit', 'x', 0, '{\"a\":1}', 0)",
                vals![&id],
            )
        })
        .await
        .unwrap();
    let id = one.head.id.clone();
    assert_eq!(store.read(|tx| tooling(tx, &id)).await.unwrap()[0].config, serde_json::json!({"a": 1}));

    let remove = |version: i64| {
        let (store, mut head) = (store.clone(), one.head.clone());
        head.version = version;
        async move { store.write(move |tx| delete(tx, &acme(), &head, "u1", Micros(9))).await.unwrap() }
    };
    assert!(!remove(1).await);
    assert!(remove(2).await);
    assert!(store.read(|tx| tooling(tx, &id)).await.unwrap().is_empty());
    assert!(store.read(|tx| name_in_use(tx, &Partition::GLOBAL, "a")).await.unwrap());
    assert!(!store.read(|tx| name_in_use(tx, &acme(), "a")).await.unwrap());
    let story = [(1, "create"), (2, "visibility"), (3, "delete")].map(|(v, c)| (v, c.to_owned()));
    assert_eq!(history(&store, &id).await, story);
}

#[tokio::test]
async fn pages_walk_every_row_once_in_both_orders_and_directions() {
    let (_home, store) = store();
    for n in 0..25_i64 {
        // Equal instants, so that the name must break ties.
        add(&store, &acme(), agent(&format!("a{n:02}"), "u1", n / 4)).await.unwrap();
    }
    for order in [Order::Name, Order::Updated] {
        for descending in [false, true] {
            let mut names = Vec::new();
            let mut after: Option<After> = None;
            loop {
                let ask =
                    Ask { reach: &Reach::All, terms: &[], order, descending, after: after.as_ref(), limit: Some(4) };
                let page = store.read(|tx| rows(tx, &acme(), &ask)).await.unwrap();
                let Some(last) = page.last() else { break };
                after = Some(After { name: last.name.clone(), updated_at: last.updated_at });
                names.extend(page.into_iter().map(|row| row.name));
            }
            let mut expected: Vec<String> = (0..25).map(|n| format!("a{n:02}")).collect();
            if descending {
                expected.reverse();
            }
            assert_eq!(names, expected, "{order:?} {descending}");
        }
    }
}

#[tokio::test]
async fn reach_and_terms() {
    let (_home, store) = store();
    let mut shared = agent("shared", "u1", 1);
    shared.head.visibility = Visibility::Tenant;
    shared.head.description = Some("Répond aux ÉTUDIANTS, 100%".into());
    let mut grouped = agent("grouped", "u1", 2);
    grouped.head.visibility = Visibility::Groups;
    grouped.head.allowed_groups = vec!["g_1".into(), "a\"b".into()];
    let mut off = agent("off_line", "u2", 3);
    off.head.active = false;
    off.head.llm = Some("OpenAI:gpt".into());
    for one in [shared, grouped, off, agent("private", "u1", 4)] {
        add(&store, &acme(), one).await.unwrap();
    }
    add(&store, &Partition::tenant("globex").unwrap(), agent("other", "u2", 5)).await.unwrap();

    let names = async |reach: Reach, terms: &[Term]| {
        let ask = Ask { reach: &reach, terms, order: Order::Name, descending: false, after: None, limit: None };
        let found = store.read(|tx| rows(tx, &acme(), &ask)).await.unwrap();
        found.into_iter().map(|row| row.name).collect::<Vec<_>>().join(" ")
    };
    let member =
        |groups: &[&str]| Reach::Member { user: "u2".into(), groups: groups.iter().map(|g| (*g).to_owned()).collect() };
    assert_eq!(names(Reach::All, &[]).await, "grouped off_line private shared");
    assert_eq!(names(member(&[]), &[]).await, "off_line shared");
    assert_eq!(names(member(&["g_1"]), &[]).await, "grouped off_line shared");
    assert_eq!(names(member(&["a\"b"]), &[]).await, "grouped off_line shared");
    assert_eq!(names(member(&["g%", "gx1", "g"]), &[]).await, "off_line shared");

    let all = async |term: Term| names(Reach::All, &[term]).await;
    assert_eq!(all(Term::Owner("u2".into())).await, "off_line");
    assert_eq!(all(Term::Visibility(Visibility::Groups)).await, "grouped");
    assert_eq!(all(Term::Llm("openai".into())).await, "off_line");
    assert_eq!(all(Term::Category("general".into())).await, "grouped off_line private shared");
    assert_eq!(all(Term::Active(false)).await, "off_line");
    assert_eq!(all(Term::Text("F_L".into())).await, "off_line");
    assert_eq!(all(Term::Text("étudiants".into())).await, "shared");
    assert_eq!(all(Term::Text("100%".into())).await, "shared");
    assert_eq!(all(Term::Text("100!".into())).await, "");
    assert_eq!(names(Reach::All, &[Term::Owner("u1".into()), Term::Text("pri".into())]).await, "private");
}

#[test]
fn text_terms_fold_case_of_every_letter() {
    let mut head = agent("a", "u1", 1).head;
    head.description = Some("Ärger".into());
    assert!(Term::Text("ärger".into()).holds(&head));
    assert!(Term::Text("ÄR".into()).holds(&head));
    assert!(!Term::Text("örger".into()).holds(&head));
}
