//! A stage for tests: a state, a view and a screen in memory, driven by key names and times.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::effect::Effect;
use crate::event::{Event, Input, Ms, What};
use crate::keymap::{Key, Keymap};
use crate::state::State;
use crate::view::View;
use crate::{Profile, draw};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Position;
use ratatui::style::Style;

/// Time between two keys of [`Stage::keys`]: slow enough to count as deliberate.
const KEY_MS: Ms = 400;

/// A workbench without terminal and driver.
pub struct Stage {
    /// The state.
    pub state: State,
    /// What drawing kept.
    pub view: View,
    /// Everything the state wanted so far, in order. Nothing is carried out but [`Effect::Wake`], by [`Stage::wait`].
    pub effects: Vec<Effect>,
    /// Now.
    pub now: Ms,
    terminal: Terminal<TestBackend>,
    wakes: Vec<Ms>,
}

impl Stage {
    /// A workbench on a screen of this size, its first frame drawn.
    pub fn new(width: u16, height: u16) -> Self {
        let profile = Profile { engine: Profile::EMBEDDED.into(), fresh: false };
        let keymap = Keymap::new(&std::collections::BTreeMap::new()).unwrap();
        let (state, effects) = State::new(profile, keymap, (width, height));
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut stage =
            Self { state, view: View::default(), effects: Vec::new(), now: 10_000, terminal, wakes: Vec::new() };
        stage.keep(effects);
        stage.draw();
        stage
    }

    fn keep(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Wake(at) => self.wakes.push(at),
                other => self.effects.push(other),
            }
        }
    }

    /// Lets an event happen; draws when the state says so.
    pub fn event(&mut self, event: Event) -> &mut Self {
        let effects = self.state.update(event);
        self.keep(effects);
        self.draw()
    }

    /// The same as [`Stage::event`], for answers to calls.
    pub fn reply(&mut self, event: Event) -> &mut Self {
        self.event(event)
    }

    /// Draws if the screen no longer shows the state, and tells the state that the frame was written out.
    pub fn draw(&mut self) -> &mut Self {
        while self.state.dirty {
            self.state.dirty = false;
            let (state, view) = (&self.state, &mut self.view);
            self.terminal.draw(|frame| draw::draw(state, view, frame)).unwrap();
            let effects = self.state.update(Event::Drawn { at: self.now });
            self.keep(effects);
        }
        self
    }

    /// Lets an input come in at this time.
    pub fn input_at(&mut self, at: Ms, what: What) -> &mut Self {
        self.now = self.now.max(at);
        self.event(Event::Input(Input { at, what }))
    }

    /// Presses keys named as in the settings, 400 ms apart: `ctrl-p a b enter`.
    pub fn keys(&mut self, names: &str) -> &mut Self {
        for name in names.split_whitespace() {
            let at = self.now + KEY_MS;
            self.input_at(at, What::Key(key(name)));
        }
        self
    }

    /// Types text, a key each 10 ms.
    pub fn typed(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            let at = self.now + 10;
            self.input_at(at, What::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
        }
        self
    }

    /// Pastes text.
    pub fn paste(&mut self, text: &str) -> &mut Self {
        let at = self.now + KEY_MS;
        self.input_at(at, What::Paste(text.to_owned()))
    }

    /// Lets time pass, with every tick that was asked for.
    pub fn wait(&mut self, ms: Ms) -> &mut Self {
        let end = self.now + ms;
        while let Some(at) = self.wakes.iter().copied().filter(|at| *at <= end).min() {
            self.wakes.retain(|wake| *wake > at);
            self.now = self.now.max(at);
            self.event(Event::Tick { at: self.now });
        }
        self.now = end;
        self
    }

    /// When the next tick is wanted; none = nothing moves by itself.
    pub fn next_wake(&self) -> Option<Ms> {
        self.wakes.iter().copied().min()
    }

    /// Gives the screen another size.
    pub fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.terminal.backend_mut().resize(width, height);
        self.terminal.autoresize().unwrap();
        let at = self.now;
        self.input_at(at, What::Resize(width, height))
    }

    /// The screen's lines, without the blanks at their ends.
    pub fn screen(&self) -> Vec<String> {
        let buffer = self.terminal.backend().buffer();
        let area = buffer.area;
        (0..area.height)
            .map(|y| {
                let mut line = String::new();
                let mut x = 0;
                while x < area.width {
                    let symbol = buffer[(x, y)].symbol();
                    line += symbol;
                    // The cell behind a wide one is no character of its own.
                    x += (text::width(symbol) as u16).max(1);
                }
                line.trim_end().to_owned()
            })
            .collect()
    }

    /// The keys that are told: the last row, and the one above it while nothing is said there.
    pub fn footer(&self) -> String {
        let screen = self.screen();
        screen[screen.len().saturating_sub(2)..].join("  ")
    }

    /// Whether some line of the screen holds this.
    pub fn shows(&self, wanted: &str) -> bool {
        self.screen().iter().any(|line| line.contains(wanted))
    }

    /// The style of a cell.
    pub fn style_at(&self, x: u16, y: u16) -> Style {
        self.terminal.backend().buffer()[(x, y)].style()
    }

    /// Where the real cursor is, if the last frame wanted one.
    pub fn cursor(&self) -> Option<Position> {
        self.view.cursor
    }

    /// Names of the operations called so far.
    pub fn calls(&self) -> Vec<&'static str> {
        self.effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Call { name, .. } => Some(*name),
                _ => None,
            })
            .collect()
    }

    /// How often an operation was called so far.
    pub fn called(&self, operation: &str) -> usize {
        self.calls().into_iter().filter(|name| *name == operation).count()
    }
}

/// The event of a key, by its name in the settings.
pub fn key(name: &str) -> KeyEvent {
    Key::parse(name).expect("a key").event()
}
