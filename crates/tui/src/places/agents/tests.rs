#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::pages::touched;
use super::*;
use crate::places::PlaceId;
use crate::testing::Stage;
use contract::Micros;
use contract::ops::agents::{AgentDefinition, ModelParams};
use contract::ops::me::Me;

pub fn item(name: &str) -> AgentItem {
    AgentItem {
        name: name.into(),
        source: "studio".into(),
        origin: "studio".into(),
        owner: Some("ann".into()),
        enabled: true,
        agent_id: Some("id".into()),
        tenant: Some("acme".into()),
        version: Some(3),
        updated_at: Some(Micros(1_790_000_000_000_000)),
        visibility: "tenant".into(),
        allowed_groups: Vec::new(),
        class_name: "BasicBot".into(),
        module: None,
        file_path: None,
        tags: Vec::new(),
        priority: 0,
        at_startup: false,
        llm: Some("anthropic:claude".into()),
        description: Some("Answers.".into()),
        category: Some("general".into()),
        access: "owner".into(),
        can_manage: true,
        definition: None,
    }
}

/// The first page comes, with these agents.
pub fn listed(stage: &mut Stage, names: &[&str]) {
    let generation = stage.state.places.agents.generation;
    let agents: Vec<AgentItem> = names.iter().map(|name| item(name)).collect();
    let list = AgentList { count: agents.len(), agents, next_cursor: Some(None) };
    stage.reply(event(Msg::Listed { generation, page: 0, reply: Ok(Json(list)) }));
}

fn me(may_author: bool) -> Event {
    Event::Me(Ok(Me {
        user_id: "ann".into(),
        tenant: Some("acme".into()),
        may_author,
        may_administer: false,
        enabled: true,
        is_superuser: false,
    }))
}

/// An engine with this many agents: answers what the place asked for last.
struct World {
    stage: Stage,
    names: Vec<String>,
}

impl World {
    fn new(count: usize, size: (u16, u16)) -> Self {
        let names = (0..count).map(|n| format!("agent-{n:06}")).collect();
        let mut world = Self { stage: Stage::new(size.0, size.1), names };
        world.stage.event(me(true));
        world.answer();
        world
    }

    fn place(&self) -> &Place {
        &self.stage.state.places.agents
    }

    /// Answers until nothing is asked for any more; answers how many pages that were.
    fn answer(&mut self) -> usize {
        for count in 0.. {
            let place = self.place();
            let Some(asked) = place.asked else { return count };
            let from = if place.outdated { 0 } else { cursor_of(place, asked.page) };
            let to = (from + SIZE).min(self.names.len());
            let agents: Vec<AgentItem> = self.names[from..to].iter().map(|name| item(name)).collect();
            let next = (to < self.names.len()).then(|| to.to_string());
            let list = AgentList { count: agents.len(), agents, next_cursor: Some(next) };
            let generation = place.generation;
            self.stage.event(event(Msg::Listed { generation, page: asked.page, reply: Ok(Json(list)) }));
        }
        unreachable!()
    }

    fn keys(&mut self, keys: &str) -> &mut Self {
        self.stage.keys(keys);
        self.answer();
        self
    }
}

fn cursor_of(place: &Place, page: usize) -> usize {
    place.pages.cursor(page).map_or(0, |cursor| cursor.parse().unwrap())
}

#[test]
fn shows_rows_columns_and_the_total() {
    let mut world = World::new(3, (80, 24));
    let screen = world.stage.screen();
    assert_eq!(screen[1], "›Agents      Agents · row 1 of 3");
    assert!(
        screen[2].contains("NAME ↑") && screen[2].contains("LLM") && screen[2].contains("UPDATED"),
        "{}",
        screen[2]
    );
    assert!(screen[3].contains("›agent-000000") && screen[3].contains("anthropic:claude"), "{}", screen[3]);
    assert!(screen[3].ends_with("tenant   2026-09-21 14:13"), "{}", screen[3]);
    world.stage.resize(160, 24);
    assert!(world.stage.shows("OWNER") && world.stage.shows("CATEGORY") && world.stage.shows("v3"));
    world.stage.resize(60, 16);
    assert!(world.stage.shows("›agent-000000") && world.stage.shows("LLM") && !world.stage.shows("OWNER"));
    world.stage.resize(24, 8);
    assert!(world.stage.shows("›agent-000000"));
}

#[test]
fn a_hundred_thousand_rows_cost_what_a_hundred_cost() {
    let cost = |world: &mut World, key: &str| {
        touched::take();
        world.stage.keys(key);
        let touched = touched::take();
        world.answer();
        touched
    };
    let mut small = World::new(150, (80, 24));
    let expected = cost(&mut small, "down");
    assert!(expected <= 30, "{expected}");
    let mut large = World::new(100_000, (80, 24));
    assert!(large.stage.shows("1 of more than 200"), "{:?}", large.stage.screen());
    assert_eq!(cost(&mut large, "down"), expected);
    large.keys("shift-g");
    assert!(large.stage.shows("100,000 of 100,000"), "{:?}", large.stage.screen());
    assert!(large.stage.shows("›agent-099999"));
    assert!(large.place().pages.held() <= 9, "far pages are let go");
    assert_eq!(cost(&mut large, "up"), expected);
    // Through the middle, and back to pages that were let go.
    for _ in 0..60 {
        large.keys("pageup");
    }
    let at = large.place().selected;
    assert!(large.stage.shows(&format!("›agent-{at:06}")), "{:?}", large.stage.screen());
    large.keys("g");
    assert!(large.stage.shows("›agent-000000"));
    assert!(large.place().pages.held() <= 9);
    assert_eq!(cost(&mut large, "down"), expected);
}

#[test]
fn the_selected_one_stays_selected_when_others_come_and_go() {
    let mut world = World::new(450, (80, 24));
    for _ in 0..12 {
        world.keys("pagedown");
    }
    let name = world.place().name.clone().unwrap();
    world.names.insert(0, "aaa".into());
    world.names.remove(5);
    world.names.remove(6);
    world.stage.event(Event::Rung);
    world.answer();
    assert_eq!(world.place().name.as_deref(), Some(name.as_str()));
    assert!(world.stage.shows(&format!("›{name}")));
    world.keys("g").keys("g down down");
    assert_eq!(world.place().name.as_deref(), Some("agent-000001"));
    world.names.insert(0, "aa".into());
    world.stage.event(Event::Rung);
    world.answer();
    assert_eq!(world.place().selected, 3);
    assert!(world.stage.shows("›agent-000001"));
    // It goes itself: the one in its place is selected.
    world.names.remove(3);
    world.stage.event(Event::Rung);
    world.answer();
    assert_eq!(world.place().selected, 3);
    assert!(world.place().name.is_some());
}

#[test]
fn a_change_while_reading_is_read_again() {
    let mut world = World::new(3, (80, 24));
    world.stage.event(Event::Rung);
    world.stage.event(Event::Rung);
    world.stage.event(Event::Rung);
    assert_eq!(world.stage.called("agents.list"), 2, "one at a time");
    assert_eq!(world.answer(), 2, "and once more for what happened meanwhile");
}

#[test]
fn a_filter_waits_for_a_rest_and_says_what_is_wrong_with_it() {
    let mut world = World::new(3, (80, 24));
    let before = world.stage.called("agents.list");
    world.stage.keys("/").typed("owner:me vis:tenant n");
    assert_eq!(world.stage.called("agents.list"), before, "nothing is asked for while one types");
    assert!(world.stage.shows("/ owner:me vis:tenant n"));
    assert_eq!(world.stage.cursor().map(|at| at.y), Some(1));
    world.stage.wait(200);
    assert_eq!(world.stage.called("agents.list"), before + 1);
    assert_eq!(world.stage.next_wake(), None);
    assert_eq!(world.place().query(None).q.as_deref(), Some("owner:me vis:tenant n"));
    let generation = world.place().generation;
    let error = StudioError::invalid_request("'vis:' in 'q' must be followed by private, tenant or groups.");
    world.stage.event(event(Msg::Listed { generation, page: 0, reply: Err(error) }));
    assert!(world.stage.shows("! 'vis:' in 'q'"), "{:?}", world.stage.screen());
    assert!(world.stage.shows("agent-000000"), "the rows of before stay");
    // An answer to an older filter is dropped.
    world.stage.typed("x").wait(200);
    let stale = AgentList { agents: vec![item("stale")], count: 1, next_cursor: Some(None) };
    world.stage.event(event(Msg::Listed { generation, page: 0, reply: Ok(Json(stale)) }));
    assert!(!world.stage.shows("stale"));
    world.names = vec!["nx".into()];
    world.answer();
    world.keys("enter");
    assert!(world.stage.shows("›nx") && world.stage.shows("1 shown of 3  / owner:me"), "{:?}", world.stage.screen());
    world.names.clear();
    world.keys("/ esc");
    assert!(world.place().query(None).q.is_none());
    assert!(world.stage.shows("There are no agents here"));
}

#[test]
fn sorts_by_what_the_engine_sorts_by() {
    let mut world = World::new(3, (80, 24));
    let sort = |world: &World| world.place().query(None).sort.unwrap();
    assert_eq!(sort(&world), "name");
    world.keys("shift-s");
    assert_eq!(sort(&world), "-name");
    assert!(world.stage.shows("NAME ↓"));
    world.keys("s");
    assert_eq!(sort(&world), "-updated_at");
    assert!(world.stage.shows("UPDATED ↓"));
    world.keys("s");
    assert_eq!(sort(&world), "name");
}

#[test]
fn what_one_may_not_do_says_why() {
    let mut world = World::new(2, (100, 24));
    world.stage.event(me(false));
    assert!(world.stage.shows("your role may not author"));
    for key in ["n", "shift-c", "d"] {
        world.stage.state.toasts.clear();
        world.keys(key);
        assert!(world.stage.shows("Your role may not author agents."), "{key}");
        assert_eq!(world.stage.state.place, PlaceId::Agents);
        assert!(!world.stage.state.layers.is_open());
    }
    world.stage.event(me(true));
    let mut other = item("agent-000000");
    other.can_manage = false;
    let list = AgentList { agents: vec![other], count: 1, next_cursor: Some(None) };
    world.stage.keys("f5").event(event(Msg::Listed { generation: 0, page: 0, reply: Ok(Json(list)) }));
    world.keys("d");
    assert!(world.stage.shows("belongs to ann"), "{:?}", world.stage.screen());
}

#[test]
fn deleting_asks_for_the_name() {
    let mut world = World::new(2, (80, 24));
    world.stage.keys("d enter");
    assert!(world.stage.shows("toolkits and MCP servers"), "{:?}", world.stage.screen());
    world.stage.typed("agent-00000").keys("enter");
    assert_eq!(world.stage.called("agents.delete"), 0, "the whole name is needed");
    world.stage.keys("esc d").typed("agent-000000").keys("enter");
    assert_eq!(world.stage.called("agents.delete"), 1);
    world.names.remove(0);
    let reply = Ok(Json(Deleted { name: "agent-000000".into(), deleted: true }));
    world.stage.event(event(Msg::Deleted { name: "agent-000000".into(), reply }));
    world.answer();
    assert!(world.stage.shows("'agent-000000' is deleted.") && world.stage.shows("›agent-000001"));
}

#[test]
fn goes_where_the_keys_say() {
    for (key, place) in [
        ("enter", PlaceId::Agent),
        ("e", PlaceId::Agent),
        ("n", PlaceId::Agent),
        ("shift-c", PlaceId::Agent),
        ("c", PlaceId::Chat),
    ] {
        let mut world = World::new(2, (80, 24));
        world.keys(key);
        assert_eq!(world.stage.state.place, place, "{key}");
    }
}

#[test]
fn the_detail_follows_after_a_rest() {
    let mut world = World::new(5, (80, 24));
    world.keys("space");
    assert_eq!(world.stage.called("agents.get"), 1);
    let mut whole = item("agent-000000");
    whole.definition = Some(AgentDefinition {
        bot_class: "BasicBot".into(),
        llm: None,
        description: None,
        category: "general".into(),
        model_params: ModelParams { temperature: Some(0.5), ..ModelParams::default() },
        system_prompt: Some("Be kind.\nAlways.".into()),
        tools: vec!["http".into()],
    });
    let read = |name: &str, item| event(Msg::Read { name: name.into(), reply: Ok(Box::new(item)) });
    world.stage.event(read("agent-000000", whole));
    let below = world.stage.screen().join("\n");
    assert!(below.contains("temperature 0.5"), "{below}");
    world.stage.resize(150, 30);
    assert!(world.stage.shows("Be kind.") && world.stage.shows("Always."));
    world.stage.input_at(world.stage.now + 1, What::Key(crate::testing::key("down")));
    world.stage.input_at(world.stage.now + 1, What::Key(crate::testing::key("down")));
    assert_eq!(world.stage.called("agents.get"), 1, "not for each row one passes");
    world.stage.wait(300);
    assert_eq!(world.stage.called("agents.get"), 2);
    world.stage.event(read("agent-000000", item("late")));
    assert!(!world.stage.shows("late"), "an answer for another row is dropped");
    world.keys("space");
    assert!(!world.stage.shows("Reading"));
}

#[test]
fn an_error_is_shown_and_tried_again() {
    let mut stage = Stage::new(80, 24);
    stage.event(event(Msg::Listed { generation: 0, page: 0, reply: Err(StudioError::storage_unavailable()) }));
    assert!(stage.shows("The storage cannot be used"), "{:?}", stage.screen());
    let before = stage.called("agents.list");
    stage.keys("f5");
    assert_eq!(stage.called("agents.list"), before + 1);
}

#[test]
fn text_of_others_is_clean_and_wide_names_keep_the_columns() {
    let evil = [
        "\u{1b}[2Jx",
        "a\u{202E}gnp",
        "\u{9b}31m",
        "x\ny\tz",
        "日本語のとても長い名前のエージェント",
        "👨‍👩‍👧👨‍👩‍👧",
        "e\u{301}",
    ];
    let mut world = World::new(0, (80, 24));
    world.names = evil.iter().map(|name| (*name).to_owned()).collect();
    world.keys("f5 space");
    let mut whole = item(evil[0]);
    whole.description = Some(evil.concat());
    world.stage.event(event(Msg::Read { name: evil[0].into(), reply: Ok(Box::new(whole)) }));
    let screen = world.stage.screen();
    let all = screen.concat();
    assert!(all.chars().all(|c| !c.is_control() && c != '\u{202E}'), "{all:?}");
    for line in &screen[3..3 + evil.len()] {
        let column = line.find("anthropic").map(|at| text::width(&line[..at]));
        let expected = screen[2].find("LLM").map(|at| text::width(&screen[2][..at]));
        assert_eq!(column, expected, "{line}");
    }
    world.stage.keys("d");
    assert!(world.stage.screen().concat().chars().all(|c| !c.is_control() && c != '\u{202E}'));
}

#[test]
fn every_size_is_drawn() {
    let mut world = World::new(300, (80, 24));
    world.keys("end space");
    for (width, height) in
        (1..30).map(|n| (n, n)).chain([(1, 50), (200, 1), (20, 5), (21, 6), (59, 15), (60, 16), (110, 9)])
    {
        world.stage.resize(width, height);
        world.keys("up down pageup");
        world.stage.keys("/ esc");
        world.answer();
    }
    world.stage.resize(80, 24);
    assert!(world.stage.shows("› agent") || world.stage.shows("›agent"));
}
