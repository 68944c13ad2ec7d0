//! The list of agents: paged, filtered and sorted by the engine, with the detail of the selected one.

mod draw;
mod pages;
#[cfg(test)]
pub(crate) mod tests;

pub use draw::View;

use crate::action::{Action, Context, Need};
use crate::effect::{Effect, call};
use crate::event::{Event, Input, Ms, What};
use crate::layers::{Confirm, Layer};
use crate::places::Go;
use crate::state::{Ctx, State};
use crate::widgets::Line as LineInput;
use contract::ops::agents::{AgentItem, AgentList, DeleteAgent, Deleted, GetAgent, ListAgents};
use contract::ops::common::{NamePath, Page, VersionQuery};
use contract::ops::me::Me;
use contract::wire::{Json, NoBody, NoPath, NoQuery};
use contract::{Code, Result, StudioError};
use crossterm::event::MouseEventKind;
use pages::{Pages, Row, SIZE};
use std::cell::Cell;

/// How long typing must rest before a filter is asked for, or a selection before its detail is.
const REST_MS: Ms = 120;
/// What those are told who may not author.
const NO_AUTHOR: &str = "Your role may not author agents. An administrator of the tenant can change that.";

/// Columns by which the engine sorts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sort {
    #[default]
    Name,
    Updated,
}

/// A page that was asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    page: usize,
    /// Something changed since it was asked for.
    spoilt: bool,
}

/// The detail of the selected agent.
#[derive(Debug, Default)]
struct Detail {
    name: String,
    item: Option<std::result::Result<Box<AgentItem>, StudioError>>,
    /// When it is asked for.
    due: Option<Ms>,
}

/// The list of agents.
#[derive(Debug, Default)]
pub struct Place {
    pages: Pages,
    selected: usize,
    /// Name of the selected agent, by which it is found again.
    name: Option<String>,
    sort: Sort,
    descending: bool,
    filter: LineInput,
    /// Whether the filter is being typed.
    filtering: bool,
    /// The filter that the list is asked for with.
    applied: String,
    filter_due: Option<Ms>,
    filter_error: Option<String>,
    error: Option<StudioError>,
    /// Grows with each filter and order; answers to older ones are dropped.
    generation: u64,
    /// Whether the rows on screen belong to an older filter or order.
    outdated: bool,
    asked: Option<Asked>,
    /// Whether to go on reading until the end is seen.
    to_end: bool,
    /// How many there are without a filter, once that was seen.
    all: Option<usize>,
    detail: Option<Detail>,
    /// Rows that fitted on the last frame.
    height: Cell<u16>,
}

/// An answer.
#[derive(Debug)]
pub enum Msg {
    /// A page.
    Listed {
        /// For which filter and order.
        generation: u64,
        /// Which page.
        page: usize,
        /// What came.
        reply: Result<Json<AgentList>>,
    },
    /// The detail of an agent.
    Read {
        /// Which.
        name: String,
        /// What came.
        reply: Result<Box<AgentItem>>,
    },
    /// An agent was made.
    Made {
        /// Its name.
        name: String,
    },
    /// A deletion.
    Deleted {
        /// Of which.
        name: String,
        /// What came.
        reply: Result<Json<Deleted>>,
    },
}

fn event(msg: Msg) -> Event {
    Event::Place(super::Msg::Agents(msg))
}

/// Tells the list of an agent that was made, so that it is seen there.
pub fn made(name: &str) -> Effect {
    Effect::Send(Box::new(event(Msg::Made { name: name.to_owned() })))
}

impl Place {
    /// Contexts, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if self.filtering { vec![Context::Layer] } else { vec![Context::Agents, Context::List] }
    }

    /// Whether the filter is being typed.
    pub fn wants_text(&self) -> bool {
        self.filtering
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, state: &State) -> bool {
        match need {
            Need::Rows | Need::Filter => self.pages.known() > 0 || !self.applied.trim().is_empty(),
            Need::Row => self.row().is_some(),
            Need::Manage => self.row().is_some_and(|row| why_not_manage(row, state.me.as_ref()).is_none()),
            _ => true,
        }
    }

    /// The list is on screen.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        self.refresh(ctx);
    }

    /// Reads again what is shown.
    pub fn refresh(&mut self, ctx: &mut Ctx<'_>) {
        self.error = None;
        self.pages.refresh();
        if let Some(asked) = &mut self.asked {
            asked.spoilt = true;
        }
        if let Some(detail) = &mut self.detail {
            detail.due = Some(ctx.now);
        }
        self.read_detail(ctx);
        self.ask(ctx);
    }

    /// Begins anew with another filter or order.
    fn restart(&mut self, ctx: &mut Ctx<'_>) {
        self.generation += 1;
        self.outdated = true;
        self.asked = None;
        self.to_end = false;
        self.error = None;
        self.ask(ctx);
    }

    fn query(&self, cursor: Option<String>) -> Page {
        let field = match self.sort {
            Sort::Name => "name",
            Sort::Updated => "updated_at",
        };
        let filter = self.applied.trim();
        Page {
            limit: Some(SIZE as u32),
            cursor,
            q: (!filter.is_empty()).then(|| filter.to_owned()),
            sort: Some(format!("{}{field}", if self.descending { "-" } else { "" })),
        }
    }

    /// Asks for the next page that is needed, one at a time.
    fn ask(&mut self, ctx: &mut Ctx<'_>) {
        if self.asked.is_some() || self.error.is_some() {
            return;
        }
        let wanted = if self.outdated {
            Some(pages::Wanted { page: 0, cursor: None })
        } else {
            let near = self.pages.wanted(self.selected, self.height.get().into());
            near.or_else(|| self.to_end.then(|| self.pages.wanted_last()).flatten())
        };
        let Some(wanted) = wanted else { return };
        let (generation, page) = (self.generation, wanted.page);
        self.asked = Some(Asked { page, spoilt: false });
        let query = self.query(wanted.cursor);
        ctx.effects.push(call::<ListAgents>(NoPath {}, query, NoBody, move |reply| {
            event(Msg::Listed { generation, page, reply })
        }));
    }

    /// Takes an answer.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Listed { generation, page, reply } if generation == self.generation => self.listed(page, reply, ctx),
            Msg::Listed { .. } => {}
            Msg::Read { name, reply } => {
                if let Some(detail) = self.detail.as_mut().filter(|detail| detail.name == name) {
                    detail.item = Some(reply);
                }
            }
            Msg::Made { name } => {
                self.name = Some(name);
                if self.applied.trim().is_empty() {
                    self.refresh(ctx);
                } else {
                    self.filter.clear();
                    self.apply_filter(ctx);
                    ctx.tell("The filter of the list is cleared, so that the new agent is seen.");
                }
            }
            Msg::Deleted { name, reply } => {
                match reply {
                    Ok(_) => ctx.tell(format!("'{name}' is deleted.")),
                    Err(error) if error.code == Code::VersionConflict => {
                        ctx.complain(format!("'{name}' has changed since the list was read, and was not deleted."));
                    }
                    Err(error) => ctx.complain(&error.message),
                }
                self.refresh(ctx);
            }
        }
    }

    fn listed(&mut self, page: usize, reply: Result<Json<AgentList>>, ctx: &mut Ctx<'_>) {
        let asked = self.asked.take();
        match reply {
            Ok(Json(list)) => {
                self.filter_error = None;
                if std::mem::take(&mut self.outdated) {
                    self.pages = Pages::default();
                    self.selected = 0;
                }
                self.pages.take(page, list, self.selected);
                if self.applied.trim().is_empty() {
                    self.all = self.pages.total().or(self.all);
                }
                if asked.is_some_and(|asked| asked.spoilt && asked.page == page) {
                    self.pages.spoil(page);
                }
                if self.to_end {
                    self.select(usize::MAX, ctx);
                    self.to_end = self.pages.total().is_none();
                }
                self.find_again(ctx);
                self.ask(ctx);
            }
            // The words of a filter are refused by name; that belongs to the line in which they stand.
            Err(error) if error.code == Code::InvalidRequest && !self.applied.trim().is_empty() => {
                self.filter_error = Some(error.message);
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Selects the agent that was selected before, by its name; when it is gone, the row in its place.
    fn find_again(&mut self, ctx: &mut Ctx<'_>) {
        let found = self.name.as_deref().and_then(|name| self.pages.find(name));
        match found {
            Some(index) if !self.to_end => self.selected = index,
            _ => self.select(self.selected, ctx),
        }
    }

    fn select(&mut self, index: usize, ctx: &mut Ctx<'_>) {
        self.selected = index.min(self.pages.known().saturating_sub(1));
        // Where the row is not here yet, the name follows when its page comes.
        if let Some(row) = self.pages.row(self.selected) {
            let name = row.name.clone();
            if let Some(detail) = self.detail.as_mut().filter(|detail| detail.name != name) {
                detail.name.clone_from(&name);
                detail.item = None;
                detail.due = Some(ctx.now + REST_MS);
                ctx.effects.push(Effect::Wake(ctx.now + REST_MS));
            }
            self.name = Some(name);
        } else {
            self.name = None;
        }
    }

    fn go_to(&mut self, index: usize, ctx: &mut Ctx<'_>) {
        self.to_end = false;
        self.select(index, ctx);
        self.ask(ctx);
    }

    fn row(&self) -> Option<&Row> {
        self.pages.row(self.selected).filter(|_| !self.outdated)
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, _: &Input, ctx: &mut Ctx<'_>) {
        let page = usize::from(self.height.get().max(2)) - 1;
        match action {
            Action::Up => self.go_to(self.selected.saturating_sub(1), ctx),
            Action::Down => self.go_to(self.selected.saturating_add(1), ctx),
            Action::PageUp => self.go_to(self.selected.saturating_sub(page), ctx),
            Action::PageDown => self.go_to(self.selected.saturating_add(page), ctx),
            Action::First => self.go_to(0, ctx),
            Action::Last => {
                self.go_to(usize::MAX, ctx);
                self.to_end = self.pages.total().is_none();
                self.ask(ctx);
            }
            Action::Refresh => self.refresh(ctx),
            Action::Filter => self.filtering = true,
            Action::LayerUp | Action::LayerDown => {
                let by: isize = if action == Action::LayerUp { -1 } else { 1 };
                self.go_to(self.selected.saturating_add_signed(by), ctx);
            }
            Action::LayerEnter => {
                self.filtering = false;
                self.apply_filter(ctx);
            }
            Action::LayerClose => {
                self.filtering = false;
                self.filter.clear();
                self.apply_filter(ctx);
            }
            Action::SortAgents => {
                self.sort = if self.sort == Sort::Name { Sort::Updated } else { Sort::Name };
                // The newest first is what one looks for.
                self.descending = self.sort == Sort::Updated;
                self.restart(ctx);
            }
            Action::ReverseSort => {
                self.descending = !self.descending;
                self.restart(ctx);
            }
            Action::Detail => self.toggle_detail(ctx),
            Action::NewAgent if may_author(ctx.me) => *ctx.go = Some(Go::Agent(None)),
            Action::NewAgent => ctx.complain(NO_AUTHOR),
            _ => self.act_on_row(action, ctx),
        }
    }

    fn act_on_row(&mut self, action: Action, ctx: &mut Ctx<'_>) {
        let Some(row) = self.row() else { return };
        let name = row.name.clone();
        match action {
            Action::Open | Action::EditAgent => *ctx.go = Some(Go::Agent(Some(name))),
            Action::ChatWith => *ctx.go = Some(Go::Chat { agent: name, session: None }),
            Action::CloneAgent if may_author(ctx.me) => *ctx.go = Some(Go::Clone(name)),
            Action::CloneAgent => ctx.complain(NO_AUTHOR),
            Action::DeleteAgent => match why_not_manage(row, ctx.me) {
                Some(why) => ctx.complain(why),
                None => {
                    let question = deletion(row);
                    let version = row.version;
                    ctx.open.push(Layer::Confirm(Confirm::new(
                        "Delete an agent",
                        question,
                        Some(name.clone()),
                        move |ctx| {
                            let path = NamePath { name: name.clone() };
                            let query = VersionQuery { expected_version: version };
                            ctx.effects.push(call::<DeleteAgent>(path, query, NoBody, move |reply| {
                                event(Msg::Deleted { name, reply })
                            }));
                        },
                    )));
                }
            },
            _ => {}
        }
    }

    fn toggle_detail(&mut self, ctx: &mut Ctx<'_>) {
        self.detail = match self.detail.take() {
            Some(_) => None,
            None => Some(Detail { name: self.name.clone().unwrap_or_default(), item: None, due: Some(ctx.now) }),
        };
        self.read_detail(ctx);
    }

    /// Reads the detail when its time has come.
    fn read_detail(&mut self, ctx: &mut Ctx<'_>) {
        let Some(detail) = &mut self.detail else { return };
        if detail.name.is_empty() || detail.due.is_none_or(|due| due > ctx.now) {
            return;
        }
        detail.due = None;
        let name = detail.name.clone();
        let path = NamePath { name: name.clone() };
        ctx.effects.push(call::<GetAgent>(path, NoQuery, NoBody, move |reply| {
            event(Msg::Read { name, reply: reply.map(|json| Box::new(json.0)) })
        }));
    }

    fn apply_filter(&mut self, ctx: &mut Ctx<'_>) {
        self.filter_due = None;
        if self.filter.text().trim() == self.applied.trim() && self.filter_error.is_none() {
            return;
        }
        self.applied = self.filter.text().to_owned();
        self.filter_error = None;
        self.restart(ctx);
    }

    /// Takes an input that means no action.
    pub fn input(&mut self, input: &Input, ctx: &mut Ctx<'_>) {
        let changed = match &input.what {
            What::Mouse(mouse) => {
                match mouse.kind {
                    MouseEventKind::ScrollUp => self.go_to(self.selected.saturating_sub(3), ctx),
                    MouseEventKind::ScrollDown => self.go_to(self.selected.saturating_add(3), ctx),
                    _ => {}
                }
                false
            }
            What::Key(key) if self.filtering => self.filter.key(key),
            What::Paste(text) if self.filtering => self.filter.paste(text),
            _ => false,
        };
        if changed {
            self.filter_due = Some(ctx.now + REST_MS);
            ctx.effects.push(Effect::Wake(ctx.now + REST_MS));
        }
    }

    /// A time has come.
    pub fn tick(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let due = self.filter_due.is_some_and(|due| due <= ctx.now);
        if due {
            self.apply_filter(ctx);
        }
        self.read_detail(ctx);
        due
    }
}

fn may_author(me: Option<&Me>) -> bool {
    // Until it is known who one is, the engine is left to say no.
    me.is_none_or(|me| me.may_author)
}

fn why_not_manage(row: &Row, me: Option<&Me>) -> Option<String> {
    if !may_author(me) {
        return Some(NO_AUTHOR.to_owned());
    }
    let owner = row.owner.as_deref().unwrap_or("the host program");
    (!row.can_manage)
        .then(|| format!("'{}' belongs to {owner}; only its owner and administrators may delete it.", row.name))
}

fn deletion(row: &Row) -> String {
    format!(
        "'{}' (owner {}, version {}) goes for good: its prompt, settings, toolkits and MCP servers. Nobody can chat with it any \
         more. What was done with it stays in the history and the journal.",
        row.name,
        row.owner.as_deref().unwrap_or("–"),
        row.version.map_or_else(|| "–".to_owned(), |version| version.to_string()),
    )
}
