//! The journal: what happened in the tenant, newest first, and the check that nothing of it was changed.

use crate::action::{Action, Context, Need};
use crate::effect::call;
use crate::event::{Event, Input};
use crate::places;
use crate::state::{Ctx, State};
use crate::widgets::{Line as LineInput, filter_input, keep_in_sight, list_move, row as one_row};
use crate::words::{count, second};
use contract::StudioError;
use contract::ops::audit::{AuditEntry, AuditList, AuditReport, ListAudit, VerifyAudit};
use contract::ops::common::Page;
use contract::wire::{NoBody, NoPath, NoQuery};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Wrap};
use text::Safe;

/// Entries of a page.
const PAGE: u32 = 200;

/// The place.
#[derive(Default)]
pub struct Place {
    entries: Vec<AuditEntry>,
    /// Where older entries continue.
    cursor: Option<String>,
    read: bool,
    error: Option<StudioError>,
    /// Place of the selected entry among those that pass the filter.
    selected: usize,
    filter: LineInput,
    typing: bool,
    detail: bool,
    checking: bool,
    report: Option<AuditReport>,
}

/// A message.
#[derive(Debug)]
pub enum Msg {
    /// The newest entries.
    Newest(contract::Result<AuditList>),
    /// Entries before those that were read.
    Older(contract::Result<AuditList>),
    /// What the check found.
    Checked(contract::Result<AuditReport>),
}

/// What drawing keeps.
#[derive(Default)]
pub struct View {
    first: usize,
}

fn event(msg: Msg) -> Event {
    Event::Place(places::Msg::Audit(msg))
}

impl Place {
    /// Contexts, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if self.typing { Vec::new() } else { vec![Context::Audit, Context::List] }
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, _: &State) -> bool {
        match need {
            Need::Readable => self.error.is_none(),
            Need::Older => self.error.is_none() && self.cursor.is_some(),
            Need::Rows | Need::Row => self.error.is_none() && !self.passing().is_empty(),
            Need::Filter => self.error.is_none() && !self.entries.is_empty(),
            _ => true,
        }
    }

    /// Whether the filter is typed.
    pub fn wants_text(&self) -> bool {
        self.typing
    }

    /// Reads what is shown.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        self.refresh(ctx);
    }

    /// Reads the newest entries; those that were read stay.
    pub fn refresh(&mut self, ctx: &mut Ctx<'_>) {
        let page = Page { limit: Some(PAGE), ..Page::default() };
        let then =
            |reply: contract::Result<contract::wire::Json<AuditList>>| event(Msg::Newest(reply.map(|json| json.0)));
        ctx.effects.push(call::<ListAudit>(NoPath {}, page, NoBody, then));
    }

    fn older(&self, ctx: &mut Ctx<'_>) {
        let Some(cursor) = self.cursor.clone() else {
            ctx.tell("There are no older entries.");
            return;
        };
        let page = Page { limit: Some(PAGE), cursor: Some(cursor), ..Page::default() };
        let then =
            |reply: contract::Result<contract::wire::Json<AuditList>>| event(Msg::Older(reply.map(|json| json.0)));
        ctx.effects.push(call::<ListAudit>(NoPath {}, page, NoBody, then));
    }

    fn passing(&self) -> Vec<&AuditEntry> {
        let wanted = self.filter.text().to_lowercase();
        let fits = |text: &str| text.to_lowercase().contains(&wanted);
        self.entries.iter().filter(|e| fits(&e.actor) || fits(&e.action) || fits(&e.subject)).collect()
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, _: &Input, ctx: &mut Ctx<'_>) {
        match action {
            Action::Verify if !self.checking => {
                self.checking = true;
                self.report = None;
                ctx.effects.push(call::<VerifyAudit>(NoPath {}, NoQuery, NoBody, |reply| {
                    event(Msg::Checked(reply.map(|json| json.0)))
                }));
            }
            Action::OlderEntries => self.older(ctx),
            Action::Open => self.detail = !self.detail,
            Action::Filter => self.typing = true,
            Action::Refresh => self.refresh(ctx),
            other => {
                if let Some(to) = list_move(other, self.selected, self.passing().len(), ctx) {
                    self.selected = to;
                }
            }
        }
    }

    /// Takes an input that means no action: the filter's text.
    pub fn input(&mut self, input: &Input, _: &mut Ctx<'_>) {
        if filter_input(&mut self.typing, &mut self.filter, input) {
            self.selected = 0;
        }
    }

    /// Nothing moves by itself.
    pub fn tick(&mut self, _: &mut Ctx<'_>) -> bool {
        false
    }

    /// Takes a message.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Newest(Ok(list)) => self.newest(list),
            Msg::Older(Ok(list)) => {
                let known = self.entries.len();
                // A page that was asked for twice is taken once.
                if list.entries.first().is_none_or(|e| self.entries.iter().all(|known| known.id != e.id)) {
                    self.entries.extend(list.entries);
                    self.cursor = list.next_cursor;
                }
                let more = count(self.entries.len() - known, "older entry", "older entries");
                ctx.tell(format!("{more} read."));
            }
            Msg::Newest(Err(error)) => self.error = Some(error),
            Msg::Older(Err(error)) => ctx.complain(&error.message),
            Msg::Checked(Ok(report)) => {
                self.checking = false;
                self.report = Some(report);
            }
            Msg::Checked(Err(error)) => {
                self.checking = false;
                ctx.complain(&error.message);
            }
        }
    }

    /// Puts new entries before the known ones. Known ones are taken anew: they may have been sealed meanwhile.
    fn newest(&mut self, list: AuditList) {
        (self.read, self.error) = (true, None);
        let selected = self.passing().get(self.selected).map(|entry| entry.id.clone());
        let last = list.entries.last().map(|entry| entry.id.clone());
        match last.and_then(|id| self.entries.iter().position(|entry| entry.id == id)) {
            Some(at) => {
                let old = self.entries.split_off(at + 1);
                self.entries = list.entries;
                self.entries.extend(old);
            }
            None => {
                self.entries = list.entries;
                self.cursor = list.next_cursor;
            }
        }
        // Who stands at the top sees what is new; who reads further down stays where they are.
        if self.selected > 0
            && let Some(at) = self.passing().iter().position(|entry| Some(&entry.id) == selected.as_ref())
        {
            self.selected = at;
        }
        self.selected = self.selected.min(self.passing().len().saturating_sub(1));
    }

    /// Draws the place.
    pub fn draw(&self, state: &State, view: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        if let Some(error) = &self.error {
            let mut lines = vec![Line::styled(Safe::clean(&error.message).to_string(), theme.bad)];
            if error.status == 403 {
                lines.extend(who_may(state).into_iter().map(|line| Line::styled(line, theme.text)));
            }
            frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
            return;
        }
        let passing = self.passing();
        let below = if self.detail { area.height / 2 } else { 0 };
        let [top, head, list, detail] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(below),
        ])
        .areas(area);
        self.draw_top(state, view, passing.len(), top, frame);
        let row = |seq: &str, at: &str, actor: &str, action: &str, subject: &str| {
            let (actor, action) = (text::pad(actor, 12), text::pad(action, 22));
            text::truncate(&format!("{seq:>6} {at:<19} {actor} {action} {subject}"), list.width as usize).into_owned()
        };
        frame.render_widget(Line::styled(row("SEQ", "AT (UTC)", "ACTOR", "ACTION", "SUBJECT"), theme.strong), head);
        let rows = list.height as usize;
        let first = &mut view.places.audit.first;
        keep_in_sight(first, self.selected, rows);
        let lines: Vec<Line<'_>> = passing
            .iter()
            .enumerate()
            .skip(*first)
            .take(rows)
            .map(|(index, entry)| {
                let at = second(entry.at);
                let seq = entry.seq.map_or_else(|| "-".to_owned(), |seq| seq.to_string());
                let [actor, action, subject] =
                    [&entry.actor, &entry.action, &entry.subject].map(|text| Safe::clean(text));
                let text = text::pad(&row(&seq, &at, &actor, &action, &subject), list.width as usize);
                Line::styled(text, if index == self.selected { theme.selected } else { theme.text })
            })
            .collect();
        if lines.is_empty() {
            let text = match (self.read, self.entries.is_empty()) {
                (false, _) => "…",
                (true, true) => "The journal is empty.",
                (true, false) => "No entry that was read fits the filter.",
            };
            one_row(frame, list, text, theme.dim);
        }
        frame.render_widget(Paragraph::new(lines), list);
        if let Some(entry) = passing.get(self.selected).filter(|_| below > 0) {
            let block = Block::bordered().border_style(theme.border).title(" Entry ");
            let inner = block.inner(detail);
            frame.render_widget(block, detail);
            let body = serde_json::to_string_pretty(&entry.body).unwrap_or_default();
            let hash = entry.hash.as_deref().unwrap_or("not sealed yet");
            let text = format!("id {}\nhash {hash}\n{body}", entry.id);
            let text = Safe::clean_lines(&text).to_string();
            frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }), inner);
        }
    }

    /// One line: the filter while it is typed, else what the check found, else how much was read.
    fn draw_top(&self, state: &State, view: &mut crate::view::View, len: usize, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        if self.typing {
            view.cursor = self.filter.draw(frame, area, "filter: ", theme.text);
            return;
        }
        let (text, style) = match &self.report {
            _ if self.checking => ("Checking the journal…".to_owned(), theme.dim),
            Some(report) if report.ok => {
                // Roots stand over all tenants; who sees one alone has none to check.
                let roots = count(report.roots, "root", "roots");
                let roots = if report.roots > 0 { format!(", {roots}") } else { String::new() };
                let text = format!(
                    "The journal is whole: {}, {}{roots}; {} not sealed yet.",
                    count(report.entries, "entry", "entries"),
                    count(report.links, "link", "links"),
                    report.unsealed
                );
                (text, theme.good)
            }
            Some(report) => {
                let first = report.faults.first().map_or("no reason was given", String::as_str);
                let more = report.faults.len().saturating_sub(1);
                let more = if more > 0 {
                    format!(" (and {more} more; `astudio audit verify` lists them)")
                } else {
                    String::new()
                };
                (format!("THE JOURNAL DOES NOT FIT: {}{more}", Safe::clean(first)), theme.bad)
            }
            None => {
                let more = if self.cursor.is_some() { ", there are older ones" } else { "" };
                let filter = self.filter.text();
                let filtered =
                    if filter.is_empty() { String::new() } else { format!(" with '{}'", Safe::clean(filter)) };
                (format!("{}{filtered}{more}", count(len, "entry", "entries")), theme.dim)
            }
        };
        one_row(frame, area, text, style);
    }
}

/// Who may read it, and how to become one of them.
fn who_may(state: &State) -> Vec<String> {
    let you = state.me.as_ref().map_or_else(String::new, |me| {
        let tenant = me.tenant.as_deref().map(|tenant| format!(" in {}", Safe::clean(tenant))).unwrap_or_default();
        format!(" You are {}{tenant}.", Safe::clean(&me.user_id))
    });
    let mut lines = vec![
        String::new(),
        format!("The journal is read by administrators of the tenant, and by those of the platform.{you}"),
    ];
    if !state.profile.is_server() {
        lines.push("In a home of your own, `astudio --as USER@TENANT` opens the workbench as one of them.".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Stage;
    use contract::{Code, Micros};
    use serde_json::json;

    fn list(from: usize, to: usize, more: bool) -> AuditList {
        let entry = |n: usize| AuditEntry {
            id: format!("id-{n:04}"),
            seq: Some(n as i64),
            at: Micros(1_790_000_000_000_000),
            actor: if n.is_multiple_of(2) { "ada" } else { "ben" }.into(),
            action: "agent.updated".into(),
            subject: format!("agent:a{n}"),
            body: json!({"n": n}),
            hash: None,
        };
        let entries: Vec<_> = (from..to).rev().map(entry).collect();
        AuditList { count: entries.len(), entries, next_cursor: more.then(|| format!("id-{from:04}")) }
    }

    fn stage() -> Stage {
        let mut stage = Stage::new(100, 20);
        stage.keys("alt-4");
        stage.event(event(Msg::Newest(Ok(list(100, 150, true)))));
        stage
    }

    #[test]
    fn entries_are_listed_newest_first_and_older_ones_on_request() {
        let mut stage = stage();
        assert!(stage.shows("agent:a149") && stage.shows("2026-09-21 14:13:20 ben"), "{:#?}", stage.screen());
        assert!(stage.shows("there are older ones"));
        stage.keys("o");
        assert_eq!(stage.called("audit.list"), 2);
        stage.event(event(Msg::Older(Ok(list(50, 100, false))))).keys("end");
        assert!(stage.shows("agent:a50"));
        stage.keys("o");
        assert_eq!(stage.called("audit.list"), 2, "there are none");
    }

    #[test]
    fn new_entries_come_in_above_and_the_selection_stays() {
        let mut stage = stage();
        stage.keys("down down down enter");
        assert!(stage.shows("\"n\": 146"));
        stage.event(event(Msg::Newest(Ok(list(120, 160, true)))));
        assert!(stage.shows("\"n\": 146"), "{:#?}", stage.screen());
        assert!(stage.shows("60 entries"));
    }

    #[test]
    fn a_filter_looks_at_actor_action_and_subject() {
        let mut stage = stage();
        stage.keys("/").typed("a12").keys("enter");
        assert!(stage.shows("10 entries with 'a12'") && stage.shows("agent:a120") && !stage.shows("agent:a119"));
        stage.keys("/ esc");
        assert!(stage.shows("agent:a149"));
    }

    #[test]
    fn the_check_says_what_it_found() {
        let mut stage = stage();
        stage.keys("v v");
        assert_eq!(stage.called("audit.verify"), 1, "one check at a time");
        assert!(stage.shows("Checking"));
        let report = AuditReport { ok: true, entries: 7, links: 7, roots: 2, ..AuditReport::default() };
        stage.event(event(Msg::Checked(Ok(report))));
        assert!(stage.shows("The journal is whole: 7 entries"));
        let report = AuditReport { faults: vec!["entry x was changed".into(), "y".into()], ..AuditReport::default() };
        stage.event(event(Msg::Checked(Ok(report))));
        assert!(stage.shows("DOES NOT FIT: entry x was changed (and 1 more"));
    }

    #[test]
    fn who_may_not_read_it_is_told_why() {
        let mut stage = Stage::new(100, 20);
        stage.keys("alt-4");
        let error = StudioError::new(Code::AdminRequired, 403, "Only administrators may do this.");
        stage.event(event(Msg::Newest(Err(error))));
        assert!(stage.shows("Only administrators may do this."));
        assert!(
            stage.shows("administrators of the tenant") && stage.shows("--as USER@TENANT"),
            "{:#?}",
            stage.screen()
        );
        for (width, height) in [(1, 1), (20, 5), (22, 6), (100, 20)] {
            stage.resize(width, height);
        }
    }

    #[test]
    fn it_can_be_drawn_at_any_size() {
        let mut stage = stage();
        stage.keys("enter end");
        for (width, height) in [(1, 1), (20, 5), (22, 6), (61, 17), (200, 60)] {
            stage.resize(width, height);
        }
    }
}
