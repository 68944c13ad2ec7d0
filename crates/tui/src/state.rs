//! The whole state of the workbench, and how it changes.

pub use crate::ctx::{Ctx, Newcomer, Toast};

use crate::action::{ACTIONS, Action, Context, Info, Need};
use crate::effect::Effect;
use crate::event::{Event, Input, Ms, What};
use crate::keeper::Person;
use crate::keymap::{Key, Keymap};
use crate::layers::Layers;
use crate::places::{PlaceId, Places};
use crate::theme::{Theme, ThemeName, ThemeSetting};
use crate::{Profile, TuiSettings, layers, places};
use contract::StudioError;
use contract::ops::me::{GetMe, Me};
use contract::wire::{NoBody, NoPath, NoQuery};
use crossterm::event::KeyEventKind;

/// How long a toast stays, in milliseconds.
const TOAST_MS: Ms = 6_000;

/// The state.
pub struct State {
    /// Where the engine is and as whom.
    pub profile: Profile,
    /// Who the caller is.
    pub me: Option<Me>,
    /// Why that is not known.
    pub me_error: Option<StudioError>,
    /// How the connection to the server stands, and when it was said.
    pub connection: (client::Connection, Ms),
    /// Columns and rows.
    pub size: (u16, u16),
    /// The place on screen.
    pub place: PlaceId,
    /// Places one came from.
    pub trail: Vec<PlaceId>,
    /// All places.
    pub places: Places,
    /// What lies on top.
    pub layers: Layers,
    /// Lines that come up and go, with their end. They belong to the place on screen and go with it.
    pub toasts: Vec<(Toast, Ms)>,
    /// The keys.
    pub keymap: Keymap,
    /// The colours.
    pub theme: Theme,
    /// The person's own colours, if the settings name a file with some.
    pub own_theme: Option<Theme>,
    /// Whether the mouse is captured.
    pub mouse: bool,
    /// Whether the terminal is in front.
    pub focused: bool,
    /// Whether motion is reduced.
    pub still: bool,
    /// Whether the environment forbids colours, whatever the theme.
    pub no_colour: bool,
    /// Whether the screen no longer shows the state.
    pub dirty: bool,
    /// Whether the next frame is drawn on a cleared screen.
    pub clear: bool,
    mouse_setting: bool,
    now: Ms,
    last_input: Ms,
}

impl State {
    /// The state at the beginning, and what is to be done first.
    pub fn new(profile: Profile, keymap: Keymap, size: (u16, u16)) -> (Self, Vec<Effect>) {
        let start = if profile.fresh { PlaceId::Welcome } else { PlaceId::Agents };
        let mut state = Self {
            profile,
            me: None,
            me_error: None,
            connection: (client::Connection::Connected, 0),
            size,
            place: start,
            trail: Vec::new(),
            places: Places::default(),
            layers: Layers::default(),
            toasts: Vec::new(),
            keymap,
            theme: Theme::of(ThemeName::default()),
            own_theme: None,
            mouse: false,
            focused: true,
            still: false,
            no_colour: false,
            dirty: true,
            clear: false,
            mouse_setting: false,
            now: 0,
            last_input: 0,
        };
        let mut effects = vec![ask_me()];
        state.with(&mut effects, |places, _, ctx| {
            places.approvals.watch(ctx);
            places.enter(start, ctx);
        });
        (state, effects)
    }

    /// Runs a piece of update with everything it may reach, then opens, goes and tells what it wanted.
    fn with<T>(
        &mut self,
        effects: &mut Vec<Effect>,
        act: impl FnOnce(&mut Places, &mut Layers, &mut Ctx<'_>) -> T,
    ) -> T {
        let (mut open, mut go, mut toasts) = (Vec::new(), None, Vec::new());
        let (mut settings, mut newcomer) = (None, None);
        let pending = self.places.approvals.pending();
        let mut ctx = Ctx {
            now: self.now,
            size: self.size,
            me: self.me.as_ref(),
            on_server: self.profile.is_server(),
            connected: self.connection.0 == client::Connection::Connected,
            keymap: &self.keymap,
            effects,
            open: &mut open,
            go: &mut go,
            toasts: &mut toasts,
            pending: &pending,
            settings: &mut settings,
            newcomer: &mut newcomer,
        };
        let result = act(&mut self.places, &mut self.layers, &mut ctx);
        if let Some(settings) = settings {
            self.apply(&settings, effects);
        }
        if let Some(Newcomer { client, profile }) = newcomer {
            // What was typed until now is the other one's.
            self.keep_typed(effects);
            effects.push(Effect::Belongs(None));
            effects.push(Effect::Become(client));
            effects.extend(self.become_other(profile));
        }
        for layer in open {
            self.layers.push(layer, self.now);
        }
        if let Some(go) = go {
            self.go(go, effects);
        }
        // After going: what is said on the way out is read where one comes to.
        for toast in toasts {
            self.toast(toast, effects);
        }
        result
    }

    /// Uses these settings. Keys that conflict stay as they were: whoever sets some has checked them before.
    pub fn apply(&mut self, settings: &TuiSettings, effects: &mut Vec<Effect>) {
        if let Ok(keymap) = Keymap::new(&settings.keys) {
            self.keymap = keymap;
        }
        self.theme = match (&settings.theme, self.own_theme) {
            _ if self.no_colour => Theme::of(ThemeName::Plain),
            (ThemeSetting::Named(name), _) => Theme::of(*name),
            (ThemeSetting::File(_), own) => own.unwrap_or_else(|| Theme::of(ThemeName::default())),
        };
        self.still = settings.reduced_motion;
        // The key that takes the mouse or lets it go counts until the setting is changed.
        if self.mouse_setting != settings.mouse {
            self.mouse_setting = settings.mouse;
            self.mouse = settings.mouse;
            effects.push(Effect::Mouse(self.mouse));
        }
        self.dirty = true;
    }

    fn toast(&mut self, toast: Toast, effects: &mut Vec<Effect>) {
        // What takes longer to read stays longer.
        let long = TOAST_MS + 60 * toast.text.chars().count().saturating_sub(60) as Ms;
        let end = self.now + toast.until_key.unwrap_or(long);
        self.toasts.push((toast, end));
        effects.push(Effect::Wake(end));
        self.dirty = true;
    }

    fn go(&mut self, go: places::Go, effects: &mut Vec<Effect>) {
        let to = match &go {
            places::Go::Back => self.trail.pop().unwrap_or(PlaceId::Agents),
            other => other.place(),
        };
        if to != self.place && !matches!(go, places::Go::Back) {
            self.trail.retain(|place| *place != to);
            self.trail.push(self.place);
        }
        let from = std::mem::replace(&mut self.place, to);
        self.dirty = true;
        if from != to {
            self.toasts.clear();
            self.with(effects, |places, _, ctx| places.left(from, ctx));
        }
        self.with(effects, |places, _, ctx| {
            places.open(go, ctx);
            places.enter(to, ctx);
        });
    }

    /// Changes the state by one event; answers what is to be done.
    pub fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Input(input) => self.input(input, &mut effects),
            Event::Drawn { at } => {
                self.now = self.now.max(at);
                self.layers.drawn(at, &mut effects);
            }
            Event::Tick { at } => {
                self.now = self.now.max(at);
                let before = self.toasts.len();
                self.toasts.retain(|(_, end)| *end > at);
                self.dirty |= self.toasts.len() != before;
                let place = self.place;
                let changed = self.with(&mut effects, |places, layers, ctx| places.tick(place, ctx) | layers.tick(ctx));
                self.dirty |= changed;
                self.count_down(&mut effects);
            }
            Event::Me(Ok(me)) => {
                let person = Person { tenant: me.tenant.clone(), user: me.user_id.clone() };
                effects.push(Effect::Belongs(Some(person)));
                self.me = Some(me);
                self.me_error = None;
                self.dirty = true;
            }
            Event::Me(Err(error)) => {
                self.me_error = Some(error);
                self.dirty = true;
            }
            Event::Place(msg) => {
                self.dirty = true;
                let place = self.place;
                self.with(&mut effects, |places, layers, ctx| places.update(msg, place, layers, ctx));
            }
            Event::Layer(msg) => {
                self.dirty = true;
                self.with(&mut effects, |_, layers, ctx| layers.update(msg, ctx));
            }
            Event::Toast(toast) => self.toast(toast, &mut effects),
            Event::Rung => {
                let place = self.place;
                self.with(&mut effects, |places, _, ctx| places.rung(place, ctx));
            }
            Event::Connection { at, connection } => self.connected(at, connection, &mut effects),
            Event::End => self.quit(&mut effects),
        }
        effects
    }

    /// The connection stands otherwise: when it works again, what is on screen is read anew.
    fn connected(&mut self, at: Ms, connection: client::Connection, effects: &mut Vec<Effect>) {
        self.now = self.now.max(at);
        let before = std::mem::replace(&mut self.connection, (connection, at)).0;
        self.dirty = true;
        match connection {
            client::Connection::Connected if before != connection => {
                if self.me.is_none() {
                    effects.push(ask_me());
                }
                let place = self.place;
                self.with(effects, |places, _, ctx| {
                    places.rung(place, ctx);
                    places.tick(place, ctx);
                });
            }
            client::Connection::Reconnecting { .. } => self.count_down(effects),
            _ => {}
        }
    }

    /// When the connection is tried again; none when it works or nobody can say.
    fn reconnects_at(&self) -> Option<Ms> {
        let client::Connection::Reconnecting { after } = self.connection.0 else { return None };
        Some(self.connection.1.saturating_add(Ms::try_from(after.as_millis()).unwrap_or(Ms::MAX)))
    }

    /// Seconds until the connection is tried again.
    pub fn seconds_to_reconnect(&self) -> Option<u64> {
        Some(self.reconnects_at()?.saturating_sub(self.now).div_ceil(1000))
    }

    /// Comes back when another second is over.
    fn count_down(&mut self, effects: &mut Vec<Effect>) {
        let Some((end, seconds)) = self.reconnects_at().zip(self.seconds_to_reconnect()) else { return };
        self.dirty = true;
        if seconds > 0 {
            effects.push(Effect::Wake(end.saturating_sub((seconds - 1) * 1000)));
        }
    }

    /// Contexts whose keys count now, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        match self.layers.contexts() {
            Some(contexts) => contexts,
            None => {
                let mut contexts = self.places.contexts(self.place);
                contexts.push(Context::Global);
                contexts
            }
        }
    }

    /// Contexts of the help: those that count now, and those of the place that are a key away.
    fn help_contexts(&self) -> Vec<Context> {
        let mut contexts = self.contexts();
        for more in self.places.more_contexts(self.place) {
            if !contexts.contains(more) {
                let at = contexts.iter().position(|context| *context == Context::Global).unwrap_or(contexts.len());
                contexts.insert(at, *more);
            }
        }
        contexts
    }

    /// Whether an action would do something now: what it needs by the table is there.
    pub fn can(&self, info: &Info) -> bool {
        info.needs.iter().all(|need| match need {
            Need::Author => self.me.as_ref().is_none_or(|me| me.may_author),
            Need::Home => !self.profile.is_server(),
            need => match self.layers.has(*need, self) {
                Some(has) => has,
                None => self.places.has(self.place, *need, self),
            },
        })
    }

    fn input(&mut self, input: Input, effects: &mut Vec<Effect>) {
        self.now = self.now.max(input.at);
        match &input.what {
            What::Resize(width, height) => {
                self.size = (*width, *height);
                self.dirty = true;
                self.clear = true;
                return;
            }
            What::Focus(focused) => {
                self.focused = *focused;
                return;
            }
            What::Key(key) if key.kind == KeyEventKind::Release => return,
            _ => {}
        }
        self.dirty = true;
        self.toasts.retain(|(toast, _)| toast.until_key.is_none());
        let quiet = input.at.saturating_sub(self.last_input);
        self.last_input = input.at;
        let contexts = self.contexts();
        let action = match &input.what {
            What::Key(event) => self.keymap.action(&contexts, Key::from(*event)),
            _ => None,
        };
        if self.layers.is_open() {
            if self.quits(&input, &contexts) {
                return self.quit(effects);
            }
            let asked = self.with(effects, |_, layers, ctx| layers.input(&input, action, quiet, ctx));
            if let Some(action) = asked {
                self.act(action, &input, effects);
            }
            return;
        }
        match action {
            // A key that types goes to the focused text field before it means anything.
            Some(action) if !self.types(&input) => self.act(action, &input, effects),
            _ => {
                let place = self.place;
                self.with(effects, |places, _, ctx| places.input(place, &input, ctx));
            }
        }
    }

    /// Whether a key leaves the workbench from a layer: one can always leave. A key that types, or that the layer wants for
    /// itself, does not.
    fn quits(&self, input: &Input, contexts: &[Context]) -> bool {
        let What::Key(event) = &input.what else { return false };
        let key = Key::from(*event);
        !key.is_text()
            && !self.layers.takes_any_key()
            && self.keymap.action(contexts, key).is_none()
            && self.keymap.action(&[Context::Global], key) == Some(Action::Quit)
    }

    /// Leaves. Unsaved text is kept and offered again, so leaving loses nothing, however it comes about.
    fn quit(&mut self, effects: &mut Vec<Effect>) {
        self.keep_typed(effects);
        effects.push(Effect::Quit);
    }

    /// Keeps all that is typed and not saved.
    fn keep_typed(&mut self, effects: &mut Vec<Effect>) {
        let typed = !self.places.unsaved().is_empty();
        self.with(effects, |places, layers, ctx| {
            if typed {
                places.keep_all(ctx);
            }
            layers.keep(ctx);
        });
    }

    fn types(&self, input: &Input) -> bool {
        match &input.what {
            What::Key(event) => Key::from(*event).is_text() && self.places.wants_text(self.place),
            _ => false,
        }
    }

    /// Does an action, from a key or from the palette.
    pub fn act(&mut self, action: Action, input: &Input, effects: &mut Vec<Effect>) {
        match action {
            Action::Quit => self.quit(effects),
            Action::Suspend => effects.push(Effect::Suspend),
            Action::Help => self.layers.push(layers::help(self.help_contexts()), self.now),
            Action::Palette => {
                let mut contexts = self.contexts();
                if !contexts.contains(&Context::Global) {
                    contexts.push(Context::Global);
                }
                let offered =
                    ACTIONS.iter().filter(|info| contexts.contains(&info.context) && self.can(info)).collect();
                self.layers.push(layers::palette(contexts, offered), self.now);
            }
            Action::Redraw => self.clear = true,
            Action::ToggleMouse => {
                self.mouse = !self.mouse;
                effects.push(Effect::Mouse(self.mouse));
                let text =
                    if self.mouse { "The mouse is captured; F9 lets it go." } else { "The mouse is the terminal's." };
                self.toast(Toast::good(text), effects);
            }
            Action::GoAgents => self.go(places::Go::Agents, effects),
            Action::GoApprovals => self.go(places::Go::Approvals, effects),
            Action::GoKeys => self.go(places::Go::Keys, effects),
            Action::GoAudit => self.go(places::Go::Audit, effects),
            Action::GoLog => self.go(places::Go::Log, effects),
            Action::GoSettings => self.go(places::Go::Settings, effects),
            Action::GoWelcome => self.go(places::Go::Welcome, effects),
            other => {
                let place = self.place;
                self.with(effects, |places, _, ctx| places.act(place, other, input, ctx));
            }
        }
    }

    /// The sign-in changed: everything is read anew.
    pub fn become_other(&mut self, profile: Profile) -> Vec<Effect> {
        let (mut fresh, effects) = State::new(profile, self.keymap.clone(), self.size);
        (fresh.theme, fresh.own_theme) = (self.theme, self.own_theme);
        fresh.now = self.now;
        fresh.connection = self.connection;
        fresh.mouse = self.mouse;
        fresh.mouse_setting = self.mouse_setting;
        fresh.focused = self.focused;
        fresh.still = self.still;
        fresh.no_colour = self.no_colour;
        fresh.toasts = std::mem::take(&mut self.toasts);
        *self = fresh;
        effects
    }
}

fn ask_me() -> Effect {
    crate::effect::call::<GetMe>(NoPath {}, NoQuery, NoBody, |reply| Event::Me(reply.map(|json| json.0)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Stage;

    #[test]
    fn what_is_typed_belongs_to_who_is_signed_in() {
        let mut stage = Stage::new(80, 24);
        stage.event(Event::Me(Ok(Me {
            user_id: "ann".into(),
            tenant: Some("acme".into()),
            may_author: true,
            may_administer: false,
            enabled: true,
            is_superuser: false,
        })));
        let person = stage.effects.iter().find_map(|effect| match effect {
            Effect::Belongs(person) => person.clone(),
            _ => None,
        });
        assert_eq!(person, Some(Person { tenant: Some("acme".into()), user: "ann".into() }));
    }
}
