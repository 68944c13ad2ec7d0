//! The places: what stands in the middle of the screen. One file or folder per place; each has its state, its messages, how
//! it takes actions and input, and how it is drawn. Places know nothing of each other: to get elsewhere they say [`Go`].

pub mod agent;
pub mod agents;
pub mod approvals;
pub mod audit;
pub mod chat;
pub mod keys;
pub mod log;
pub mod settings;
pub mod welcome;

use crate::action::{Action, Context, Info, Need};
use crate::event::Input;
use crate::layers::Layers;
use crate::state::{Ctx, State};
use crate::view::View;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Where one can go.
#[derive(Clone, Debug, PartialEq)]
pub enum Go {
    /// To where one came from.
    Back,
    /// The first screen.
    Welcome,
    /// The list of agents.
    Agents,
    /// The form of an agent; none = a new one.
    Agent(Option<String>),
    /// A new agent like this one.
    Clone(String),
    /// The chat with an agent, in a session of this name or the default one.
    Chat {
        /// The agent.
        agent: String,
        /// The session.
        session: Option<String>,
    },
    /// The inbox.
    Approvals,
    /// Provider keys.
    Keys,
    /// The journal.
    Audit,
    /// The program's own log.
    Log,
    /// The settings.
    Settings,
}

impl Go {
    /// The place it goes to.
    pub fn place(&self) -> PlaceId {
        match self {
            Go::Welcome => PlaceId::Welcome,
            Go::Agents | Go::Back => PlaceId::Agents,
            Go::Agent(_) | Go::Clone(_) => PlaceId::Agent,
            Go::Chat { .. } => PlaceId::Chat,
            Go::Approvals => PlaceId::Approvals,
            Go::Keys => PlaceId::Keys,
            Go::Audit => PlaceId::Audit,
            Go::Log => PlaceId::Log,
            Go::Settings => PlaceId::Settings,
        }
    }
}

macro_rules! places {
    ($($id:ident $field:ident $about:literal;)+) => {
        /// Which place.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum PlaceId { $($id),+ }

        impl PlaceId {
            /// All places.
            pub const ALL: &'static [PlaceId] = &[$(PlaceId::$id),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(PlaceId::$id => $about),+ }
            }
        }

        /// All places.
        #[derive(Default)]
        #[allow(missing_docs)]
        pub struct Places { $(pub $field: $field::Place),+ }

        /// A message for a place.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum Msg { $($id($field::Msg)),+ }

        /// Views of places.
        #[derive(Default)]
        #[allow(missing_docs)]
        pub struct Views { $(pub $field: $field::View),+ }

        impl Places {
            /// Contexts of a place, innermost first.
            pub fn contexts(&self, id: PlaceId) -> Vec<Context> {
                match id { $(PlaceId::$id => self.$field.contexts()),+ }
            }

            /// Whether a text field has the focus.
            pub fn wants_text(&self, id: PlaceId) -> bool {
                match id { $(PlaceId::$id => self.$field.wants_text()),+ }
            }

            /// Whether a place has what an action needs.
            pub fn has(&self, id: PlaceId, need: Need, state: &State) -> bool {
                match id { $(PlaceId::$id => self.$field.has(need, state)),+ }
            }

            /// The place is on screen now: it reads what it shows.
            pub fn enter(&mut self, id: PlaceId, ctx: &mut Ctx<'_>) {
                match id { $(PlaceId::$id => self.$field.enter(ctx)),+ }
            }

            /// Takes an action.
            pub fn act(&mut self, id: PlaceId, action: Action, input: &Input, ctx: &mut Ctx<'_>) {
                match id { $(PlaceId::$id => self.$field.act(action, input, ctx)),+ }
            }

            /// Takes an input that means no action: typing, pasting, clicking.
            pub fn input(&mut self, id: PlaceId, input: &Input, ctx: &mut Ctx<'_>) {
                match id { $(PlaceId::$id => self.$field.input(input, ctx)),+ }
            }

            /// A time has come. Says whether something changed on screen.
            pub fn tick(&mut self, id: PlaceId, ctx: &mut Ctx<'_>) -> bool {
                match id { $(PlaceId::$id => self.$field.tick(ctx)),+ }
            }

            /// Draws a place.
            pub fn draw(state: &State, view: &mut View, area: Rect, frame: &mut Frame<'_>) {
                match state.place { $(PlaceId::$id => state.places.$field.draw(state, view, area, frame)),+ }
            }
        }
    };
}

places! {
    Agents agents "Agents";
    Agent agent "Agent";
    Chat chat "Chat";
    Approvals approvals "Approvals";
    Keys keys "Keys";
    Audit audit "Audit";
    Log log "Log";
    Settings settings "Settings";
    Welcome welcome "Welcome";
}

impl Places {
    /// Tells a place what it is to show.
    pub fn open(&mut self, go: Go, ctx: &mut Ctx<'_>) {
        match go {
            Go::Agent(name) => self.agent.open(name, ctx),
            Go::Clone(name) => self.agent.open_like(name, ctx),
            Go::Chat { agent, session } => self.chat.open(agent, session, ctx),
            _ => {}
        }
    }

    /// Takes a message for a place, on screen or not.
    pub fn update(&mut self, msg: Msg, on_screen: PlaceId, layers: &mut Layers, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Agents(msg) => self.agents.update(msg, ctx),
            Msg::Agent(msg) => self.agent.update(msg, ctx),
            Msg::Chat(msg) => self.chat.update(msg, on_screen == PlaceId::Chat, ctx),
            Msg::Approvals(msg) => self.approvals.update(msg, layers, ctx),
            Msg::Keys(msg) => self.keys.update(msg, ctx),
            Msg::Audit(msg) => self.audit.update(msg, ctx),
            Msg::Log(msg) => self.log.update(msg, ctx),
            Msg::Settings(msg) => self.settings.update(msg, ctx),
            Msg::Welcome(msg) => self.welcome.update(msg, ctx),
        }
    }

    /// Something in the home changed: approvals always look again, the place on screen too.
    pub fn rung(&mut self, on_screen: PlaceId, ctx: &mut Ctx<'_>) {
        self.approvals.watch(ctx);
        match on_screen {
            PlaceId::Agents => self.agents.refresh(ctx),
            PlaceId::Audit => self.audit.refresh(ctx),
            PlaceId::Keys => self.keys.refresh(ctx),
            _ => {}
        }
    }

    /// The word for an action in the footer of a place; empty = it is not told.
    pub fn label(&self, id: PlaceId, info: &Info) -> &'static str {
        match id {
            PlaceId::Chat => self.chat.label(info),
            _ => info.label,
        }
    }

    /// Contexts of a place that are a key away from those that count now.
    pub fn more_contexts(&self, id: PlaceId) -> &'static [Context] {
        match id {
            PlaceId::Chat => &[Context::Composer, Context::Chat],
            _ => &[],
        }
    }

    /// A place is no longer on screen.
    pub fn left(&mut self, id: PlaceId, ctx: &mut Ctx<'_>) {
        if id == PlaceId::Agent {
            self.agent.left(ctx);
        }
    }

    /// Names of what is typed and not saved.
    pub fn unsaved(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        if self.agent.is_unsaved() {
            names.push("agent");
        }
        if self.chat.is_unsaved() {
            names.push("chat");
        }
        names
    }

    /// Keeps all that is typed and not saved.
    pub fn keep_all(&mut self, ctx: &mut Ctx<'_>) {
        self.agent.keep(ctx);
        self.chat.keep(ctx);
    }
}
