//! The form of one agent: what it is for, its model, its parameters, its prompt. Also of a new agent, and of one like another.

mod conflict;
mod draw;
mod fields;
mod keeping;
mod kept;
pub(super) mod models;
mod prompt;
mod saving;
mod sharing;
#[cfg(test)]
mod tests;

pub use draw::View;

use crate::action::{Action, Context, Need};
use crate::effect::{Effect, call};
use crate::event::{Event, Input, Ms, What};
use crate::form::{Did, Form};
use crate::places::Go;
use crate::state::{Ctx, State};
use crate::widgets::Line as LineInput;
use conflict::Conflict;
use contract::ops::agents::{AgentCreated, AgentItem, GetAgent};
use contract::ops::catalog::{CatalogQuery, GetCatalog, KindPath};
use contract::ops::common::NamePath;
use contract::wire::{Json, NoBody, NoQuery};
use contract::{Result, StudioError};
use fields::PROMPT;
use kept::Kept;
use models::Models;
use serde_json::Value;

/// How long typing rests before it is kept.
const KEEP_MS: Ms = 500;

/// What the form is of.
#[derive(Clone, Debug, Default, PartialEq)]
enum Subject {
    /// Nothing yet.
    #[default]
    Nothing,
    /// An agent.
    Agent(String),
    /// A new one.
    New,
    /// A new one like this.
    Like(String),
}

impl Subject {
    fn agent(&self) -> Option<&str> {
        match self {
            Subject::Agent(name) => Some(name),
            _ => None,
        }
    }

    fn is_new(&self) -> bool {
        matches!(self, Subject::New | Subject::Like(_))
    }

    /// Under which key unsaved text is kept.
    fn key(&self) -> String {
        // No agent's name begins with a hyphen.
        format!("agent-{}", self.agent().unwrap_or("-new"))
    }
}

/// The form of an agent.
#[derive(Debug, Default)]
pub struct Place {
    subject: Subject,
    /// Grows with each opening; answers for what was open before are told, not taken.
    ticket: u64,
    form: Form,
    item: Option<Box<AgentItem>>,
    /// The version on which the form is based.
    version: Option<i64>,
    /// Class of the agent that is copied.
    class: Option<String>,
    reading: bool,
    saving: bool,
    error: Option<StudioError>,
    /// Why nothing can be changed.
    locked: Option<String>,
    conflict: Option<Conflict>,
    models: Models,
    /// Whether what is being saved has another model than before.
    llm_changed: bool,
    search: Option<LineInput>,
    /// What was kept, until the form is there to compare it with.
    found: Option<String>,
    /// Unsaved text of before that can be taken over.
    offer: Option<Kept>,
    /// Whether keeping was asked for.
    keeping: bool,
    /// Whether something was kept since the form was opened.
    was_kept: bool,
}

/// An answer.
#[derive(Debug)]
pub enum Msg {
    /// The agent.
    Read {
        /// For which opening.
        ticket: u64,
        /// What came.
        reply: Result<Json<AgentItem>>,
    },
    /// A change was stored, or not.
    Saved {
        /// For which opening.
        ticket: u64,
        /// Of which agent.
        name: String,
        /// What came.
        reply: Result<Json<AgentItem>>,
    },
    /// An agent was created, or not.
    Created {
        /// For which opening.
        ticket: u64,
        /// What came.
        reply: Result<Json<AgentCreated>>,
    },
    /// What somebody else stored.
    Theirs {
        /// For which opening.
        ticket: u64,
        /// What came.
        reply: Result<Json<AgentItem>>,
    },
    /// Who sees an agent was changed, or not.
    Shared {
        /// For which opening.
        ticket: u64,
        /// Of which agent.
        name: String,
        /// What came.
        reply: Box<Result<Json<AgentItem>>>,
    },
    /// Models to choose from.
    Models(Result<Json<Value>>),
    /// Tools to choose from.
    Tools(Result<Json<Value>>),
    /// What was kept under the key.
    Kept {
        /// For which opening.
        ticket: u64,
        /// The text.
        text: Option<String>,
    },
    /// Typing is to be kept now.
    Keep {
        /// For which opening.
        ticket: u64,
    },
    /// What is typed and not saved is to be dropped.
    Drop {
        /// For which opening.
        ticket: u64,
    },
    /// The prompt comes back from the person's editor.
    Edited {
        /// For which opening.
        ticket: u64,
        /// The text, or why there is none.
        text: std::result::Result<String, String>,
    },
}

fn event(msg: Msg) -> Event {
    Event::Place(super::Msg::Agent(msg))
}

fn get(name: &str, then: impl FnOnce(Result<Json<AgentItem>>) -> Msg + Send + 'static) -> Effect {
    call::<GetAgent>(NamePath { name: name.to_owned() }, NoQuery, NoBody, move |reply| event(then(reply)))
}

fn catalog(kind: &str, then: impl FnOnce(Result<Json<Value>>) -> Msg + Send + 'static) -> Effect {
    let path = KindPath { kind: kind.to_owned() };
    call::<GetCatalog>(path, CatalogQuery::default(), NoBody, move |reply| event(then(reply)))
}

impl Place {
    /// Contexts, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if self.search.is_some() {
            return vec![Context::Layer];
        }
        if self.conflict.is_some() {
            return vec![Context::Agent, Context::Form];
        }
        let form = self.form.contexts();
        if form == [Context::Layer] {
            return form;
        }
        std::iter::once(Context::Agent).chain(form).collect()
    }

    /// Whether keys that write go to a field.
    pub fn wants_text(&self) -> bool {
        self.search.is_some() || (self.conflict.is_none() && self.form.wants_text())
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, _: &State) -> bool {
        match need {
            Need::Editable => self.locked.is_none() && !self.form.fields().is_empty(),
            Need::Choices => self.form.has_choices(),
            Need::Stored => self.subject.agent().is_some(),
            Need::Manage => self.item.as_ref().is_some_and(|item| item.can_manage),
            Need::Prompt => self.form.field(PROMPT).is_some(),
            Need::Conflict => self.conflict.is_some(),
            Need::Kept => self.offer.is_some(),
            Need::Unsaved => self.offer.is_some() || self.is_unsaved(),
            _ => true,
        }
    }

    /// It is no longer on screen: what becomes of what was typed is said.
    pub fn left(&mut self, ctx: &mut Ctx<'_>) {
        if self.is_unsaved() {
            self.keep(ctx);
            ctx.tell(match &self.subject {
                Subject::Agent(name) => format!("What you typed for '{name}' is not saved. It is kept: open it again."),
                _ => "The new agent is not saved. What you typed is kept: make a new one to go on.".to_owned(),
            });
        }
    }

    /// Shows an agent; none = a new one. What is typed for the same one stays.
    pub fn open(&mut self, name: Option<String>, ctx: &mut Ctx<'_>) {
        self.begin(name.map_or(Subject::New, Subject::Agent), ctx);
    }

    /// Shows a new agent like this one.
    pub fn open_like(&mut self, name: String, ctx: &mut Ctx<'_>) {
        self.begin(Subject::Like(name), ctx);
    }

    fn begin(&mut self, subject: Subject, ctx: &mut Ctx<'_>) {
        if self.subject == subject && self.is_unsaved() {
            let whose = match &self.subject {
                Subject::Agent(name) => format!("for '{name}'"),
                _ => "for a new agent".to_owned(),
            };
            // While older text is offered, the key is for that one.
            let drop = match &self.offer {
                Some(_) => String::new(),
                None => format!("; {} drops it", ctx.keymap.hint(Action::ForgetKept)),
            };
            return ctx.tell(format!("Your unsaved text {whose} is back{drop}."));
        }
        if self.subject == subject && self.saving {
            return;
        }
        self.keep(ctx);
        *self = Self { subject, ticket: self.ticket + 1, ..Self::default() };
        let ticket = self.ticket;
        if self.subject == Subject::New {
            self.form = fields::new();
            self.lock(ctx);
            self.ask_choices(ctx);
        }
        self.read(ctx);
        let then = move |text| event(Msg::Kept { ticket, text });
        ctx.effects.push(Effect::ReadKept { key: self.subject.key(), then: Box::new(then) });
    }

    fn ask_choices(&self, ctx: &mut Ctx<'_>) {
        ctx.effects.push(catalog("llm-clients", Msg::Models));
        if self.subject.is_new() {
            ctx.effects.push(catalog("tools", Msg::Tools));
        }
    }

    fn read(&mut self, ctx: &mut Ctx<'_>) {
        if let Subject::Agent(name) | Subject::Like(name) = &self.subject {
            let ticket = self.ticket;
            self.reading = true;
            self.error = None;
            ctx.effects.push(get(name, move |reply| Msg::Read { ticket, reply }));
        }
    }

    /// The form is on screen: what is not being changed is read again.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        let quiet = !self.reading && !self.saving && !self.is_unsaved() && self.conflict.is_none();
        if quiet && self.subject.agent().is_some() {
            self.read(ctx);
        }
    }

    /// The same.
    pub fn refresh(&mut self, ctx: &mut Ctx<'_>) {
        self.enter(ctx);
    }

    /// Whether something is typed and not saved.
    pub fn is_unsaved(&self) -> bool {
        self.locked.is_none() && self.form.is_dirty()
    }

    /// Says why nothing can be changed, when that is so.
    fn lock(&mut self, ctx: &Ctx<'_>) {
        let why = match (&self.item, self.subject.agent()) {
            _ if ctx.me.is_some_and(|me| !me.may_author) => {
                Some("your role may not author agents; an administrator of the tenant can change that".to_owned())
            }
            (Some(item), Some(_)) if item.source != "studio" => {
                Some("the host program defines this agent, not Studio".to_owned())
            }
            (Some(item), Some(_)) if !item.can_manage || item.definition.is_none() => {
                let owner = item.owner.as_deref().unwrap_or("somebody else");
                Some(format!("it belongs to {owner}; only its owner and administrators may change it"))
            }
            _ => None,
        };
        if why.is_some() {
            self.form.make_read_only();
        }
        self.locked = why;
    }

    /// Takes an answer.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Read { ticket, reply } if ticket == self.ticket => {
                self.reading = false;
                match reply {
                    Ok(Json(item)) => self.take(item, ctx),
                    Err(error) => self.error = Some(error),
                }
            }
            Msg::Saved { ticket, reply, .. } if ticket == self.ticket => self.saved(reply, ctx),
            Msg::Saved { name, reply, .. } => match reply {
                Ok(_) => ctx.tell(format!("'{name}' is saved.")),
                Err(error) => {
                    ctx.complain(format!("'{name}' was not saved, what was typed is kept: {}", error.message))
                }
            },
            Msg::Created { ticket, reply } => self.created(ticket, reply, ctx),
            Msg::Theirs { ticket, reply } if ticket == self.ticket => self.meet(reply, ctx),
            Msg::Shared { ticket, name, reply } => self.shared(ticket, &name, *reply, ctx),
            Msg::Models(Ok(Json(rows))) => {
                self.models = Models::read(&rows);
                self.form.set_options("llm", self.models.options());
                self.form.set_notes("llm", self.models.notes());
            }
            Msg::Tools(Ok(Json(rows))) => self.form.set_options("tools", fields::tools(&rows)),
            // Without the catalogues there are no choices, but everything can be typed.
            Msg::Models(Err(_)) | Msg::Tools(Err(_)) => {}
            Msg::Kept { ticket, text } if ticket == self.ticket => {
                self.found = text;
                self.make_offer(ctx);
            }
            Msg::Keep { ticket } if ticket == self.ticket => {
                self.keeping = false;
                self.keep(ctx);
            }
            Msg::Drop { ticket } if ticket == self.ticket => self.drop_typed(ctx),
            Msg::Edited { ticket, text } if ticket == self.ticket => match text {
                Ok(text) => {
                    self.form.set(PROMPT, if text.is_empty() { Value::Null } else { Value::String(text) });
                    self.changed(ctx);
                }
                Err(why) => ctx.complain(why),
            },
            Msg::Edited { text: Ok(_), .. } => {
                ctx.complain("Another agent is open now; the edited prompt was not taken over.")
            }
            _ => {}
        }
    }

    fn take(&mut self, item: AgentItem, ctx: &mut Ctx<'_>) {
        if let Subject::Like(name) = &self.subject {
            self.form = fields::new();
            self.class = item.definition.as_ref().map(|definition| definition.bot_class.clone());
            if let Some(left_out) = fields::fill(&mut self.form, &item) {
                ctx.complain(format!("Not copied from '{name}': {left_out}."));
            }
            self.ask_choices(ctx);
        } else if self.is_unsaved() {
            // Somebody typed while it was read; what is stored now comes up when it is saved.
            return;
        } else {
            self.version = item.version;
            let same_fields =
                self.item.as_ref().is_some_and(|old| old.definition.is_some() == item.definition.is_some());
            if same_fields {
                for (key, value) in fields::values(&item) {
                    self.form.set_base(key, Some(value));
                }
            } else {
                self.form = fields::of(&item);
                self.ask_choices(ctx);
            }
        }
        self.item = Some(Box::new(item));
        self.lock(ctx);
        self.make_offer(ctx);
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, input: &Input, ctx: &mut Ctx<'_>) {
        if self.search.is_some() {
            return self.search(action, ctx);
        }
        if let Some(conflict) = &mut self.conflict {
            if conflict.act(action) {
                return;
            }
        } else if self.used(action, input, ctx) {
            return;
        }
        match action {
            Action::Save => self.save(ctx),
            Action::Back if self.conflict.is_some() => self.conflict = None,
            Action::Back => {
                self.keep(ctx);
                *ctx.go = Some(Go::Back);
            }
            Action::ToChat => match self.subject.agent() {
                Some(agent) => *ctx.go = Some(Go::Chat { agent: agent.to_owned(), session: None }),
                None => ctx.complain("Create it first, then chat with it."),
            },
            Action::SetVisibility => self.ask_visibility(ctx),
            Action::EditPrompt => self.edit(ctx),
            Action::SearchText if self.form.field(PROMPT).is_some() => {
                self.form.focus_on(PROMPT);
                self.search = Some(LineInput::default());
            }
            Action::TakeMine | Action::TakeTheirs => ctx.tell("There is no conflict."),
            Action::TakeKept => self.take_offer(ctx),
            Action::ForgetKept if self.offer.is_none() && self.is_unsaved() => self.ask_drop(ctx),
            Action::ForgetKept if self.offer.take().is_some() => {
                if self.form.is_dirty() {
                    self.keep(ctx);
                } else {
                    ctx.effects.push(Effect::KeepUnsaved { key: self.subject.key(), text: None });
                }
            }
            _ => {}
        }
    }

    fn used(&mut self, action: Action, input: &Input, ctx: &mut Ctx<'_>) -> bool {
        let did = self.form.act(action, input);
        if did == Did::Changed {
            self.changed(ctx);
        }
        did != Did::Ignored
    }

    /// Takes an input that means no action.
    pub fn input(&mut self, input: &Input, ctx: &mut Ctx<'_>) {
        if let Some(search) = &mut self.search {
            let changed = match &input.what {
                What::Key(key) => search.key(key),
                What::Paste(text) => search.paste(text),
                _ => false,
            };
            if changed {
                let text = search.text().to_owned();
                self.form.find(PROMPT, &text, false, true);
            }
        } else if self.conflict.is_none() && self.form.input(input) == Did::Changed {
            self.changed(ctx);
        }
    }

    /// A time has come; nothing here waits for one.
    pub fn tick(&mut self, _: &mut Ctx<'_>) -> bool {
        false
    }
}
