#![allow(clippy::unwrap_used)]
use super::*;
use toolkits::desk::Status;

#[test]
fn the_cast_fits_together() {
    let people: BTreeMap<_, _> = cast::PEOPLE.iter().map(|p| (p.id, p)).collect();
    let mut names = BTreeSet::new();
    for agent in &cast::AGENTS {
        assert!(names.insert(agent.name), "{} twice", agent.name);
        assert!(models::rehearsal::BUILT_IN.iter().any(|(script, _)| *script == agent.script), "{}", agent.script);
        let owner = people[agent.owner];
        assert!(owner.role >= contract::ops::people::Role::Builder, "{} may own", agent.owner);
        assert!(agent.groups.iter().all(|g| owner.groups.contains(g)), "{} shares with own groups", agent.name);
        assert_eq!(agent.groups.is_empty(), agent.visibility != "groups", "{}", agent.name);
    }
    let mut registry = tools::Registry::default();
    registry.register(toolkits::desk::host_tools("unused".into()));
    for tool in cast::AGENTS.iter().flat_map(|a| a.tools) {
        assert!(registry.lookup(tool).is_some(), "{tool}");
    }
    for what in ["private", "tenant", "groups"] {
        assert!(cast::AGENTS.iter().any(|a| a.visibility == what), "{what}");
    }
    let roles: BTreeSet<_> = cast::PEOPLE.iter().map(|p| p.role).collect();
    assert_eq!(roles.len(), 3, "every role is there");
    assert_eq!(people[USER].role, contract::ops::people::Role::Builder);
}

#[test]
fn the_orders_are_what_the_examples_speak_of() {
    let all = orders::all();
    assert_eq!(all, orders::all());
    let ids: Vec<i64> = all.iter().map(|o| o.order_id).collect();
    assert_eq!(ids, (1001..=1040).collect::<Vec<_>>());
    let status = |id: i64| all.iter().find(|o| o.order_id == id).unwrap().status;
    assert_eq!((status(1003), status(1007), status(1012)), (Status::Open, Status::Open, Status::Delivered));
    for status in Status::ALL {
        assert!(all.iter().any(|o| o.status == status), "{status:?}");
    }
    let open = all.iter().filter(|o| o.status == Status::Open).count();
    assert!(open < 32, "more than a turn cancels at once: {open}");
    assert!(all.windows(2).all(|w| w[0].placed_at < w[1].placed_at));
    assert!(all.iter().all(|o| o.refunded <= o.total && (o.refunded == o.total) == (o.status == Status::Refunded)));
}
