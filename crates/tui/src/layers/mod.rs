//! What lies on top of a place: help, palette, questions, the approval dialog. A stack; the top one gets the input first.

mod ask;
mod choose;
mod confirm;
mod help;
mod palette;
mod press;

use crate::action::{Action, Context, Info, Need};
use crate::effect::Effect;
use crate::event::{Input, Ms};
use crate::places::approvals::dialog::{self, Dialog};
use crate::state::{Ctx, State};
use crate::view::View;
use ratatui::Frame;
use ratatui::layout::Rect;

pub use ask::Ask;
pub use choose::{Choice, Choose};
pub use confirm::Confirm;
pub use press::Press;

/// What is done with what a person gave.
type Then<T> = Box<dyn FnOnce(T, &mut Ctx<'_>) + Send>;

/// A layer.
pub enum Layer {
    /// The keys that work.
    Help(help::Help),
    /// Every place and action by its name.
    Palette(palette::Palette),
    /// A question, perhaps with a word to type.
    Confirm(Confirm),
    /// One of several.
    Choose(Choose),
    /// A line of text, perhaps hidden.
    Ask(Ask),
    /// The next key.
    Press(Press),
    /// An approval.
    Approval(Box<Dialog>),
}

/// A message for a layer.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few at a time, and an event is as large by the messages of places"
)]
pub enum Msg {
    /// For the dialog of an approval.
    Dialog(dialog::Msg),
    /// Names of agents, for the palette.
    Palette(palette::Found),
}

/// Views of layers.
#[derive(Default)]
pub struct Views {
    /// The dialog's.
    pub dialog: dialog::View,
    /// Rows that fit a list layer.
    pub rows: u16,
}

/// The stack.
#[derive(Default)]
pub struct Layers(Vec<Layer>);

/// The help for what works now.
pub fn help(contexts: Vec<Context>) -> Layer {
    Layer::Help(help::Help::new(contexts))
}

/// The palette over the actions of these contexts that would do something.
pub fn palette(contexts: Vec<Context>, offered: Vec<&'static Info>) -> Layer {
    Layer::Palette(palette::Palette::new(contexts, offered))
}

/// What a layer did with an input.
pub enum Done {
    /// It stays.
    Stay,
    /// It goes.
    Close,
    /// It goes, and this is done.
    Act(Action),
}

impl Layers {
    /// Whether something lies on top.
    pub fn is_open(&self) -> bool {
        !self.0.is_empty()
    }

    /// Opens a layer. An approval that is open already is not opened twice.
    pub fn push(&mut self, layer: Layer, now: Ms) {
        if let Layer::Approval(new) = &layer {
            let open = self.0.iter().any(|layer| matches!(layer, Layer::Approval(open) if open.id() == new.id()));
            if open {
                return;
            }
        }
        let _ = now;
        self.0.push(layer);
    }

    /// The dialog of this approval, if it is open.
    pub fn dialog(&mut self, id: &str) -> Option<&mut Dialog> {
        self.0.iter_mut().find_map(|layer| match layer {
            Layer::Approval(dialog) if dialog.id() == id => Some(dialog.as_mut()),
            _ => None,
        })
    }

    /// Closes the dialog of this approval.
    pub fn close_dialog(&mut self, id: &str) {
        self.0.retain(|layer| !matches!(layer, Layer::Approval(dialog) if dialog.id() == id));
    }

    /// Contexts of the top layer; none when nothing is open.
    pub fn contexts(&self) -> Option<Vec<Context>> {
        Some(match self.0.last()? {
            Layer::Approval(dialog) => dialog.contexts(),
            // Any key is taken as it is.
            Layer::Press(_) => Vec::new(),
            Layer::Help(_) => vec![Context::Reading, Context::Layer],
            _ => vec![Context::Layer],
        })
    }

    /// Whether the top layer takes every key as it is.
    pub fn takes_any_key(&self) -> bool {
        matches!(self.0.last(), Some(Layer::Press(_)))
    }

    /// Keeps what is typed and not sent.
    pub fn keep(&mut self, ctx: &mut Ctx<'_>) {
        for layer in &mut self.0 {
            if let Layer::Approval(dialog) = layer {
                dialog.keep(ctx);
            }
        }
    }

    /// Whether the top layer has what an action needs; none when nothing is open.
    pub fn has(&self, need: Need, state: &State) -> Option<bool> {
        Some(match self.0.last()? {
            Layer::Approval(dialog) => dialog.has(need, state),
            Layer::Palette(palette) => palette.has(need),
            Layer::Choose(choose) => choose.has(need),
            Layer::Ask(ask) => ask.has(need),
            Layer::Confirm(confirm) => confirm.has(need),
            // Nothing to choose, only to close.
            Layer::Help(_) | Layer::Press(_) => need != Need::Choice,
        })
    }

    /// The word for an action in the footer while the top layer has the keys; empty = it is not told.
    pub fn label(&self, info: &Info) -> &'static str {
        match self.0.last() {
            Some(Layer::Approval(dialog)) => dialog.label(info),
            _ => info.label,
        }
    }

    /// Gives an input to the top layer. Answers an action that it wants done.
    pub fn input(&mut self, input: &Input, action: Option<Action>, quiet: Ms, ctx: &mut Ctx<'_>) -> Option<Action> {
        let done = match self.0.last_mut()? {
            Layer::Help(help) => help.input(input, action),
            Layer::Palette(palette) => palette.input(input, action, ctx),
            Layer::Confirm(confirm) => confirm.input(input, action, ctx),
            Layer::Choose(choose) => choose.input(input, action, ctx),
            Layer::Ask(ask) => ask.input(input, action, ctx),
            Layer::Press(press) => press.input(input, ctx),
            Layer::Approval(dialog) => dialog.input(input, action, quiet, ctx),
        };
        match done {
            Done::Stay => None,
            Done::Close => {
                self.0.pop();
                None
            }
            Done::Act(action) => {
                self.0.pop();
                Some(action)
            }
        }
    }

    /// A frame was written out.
    pub fn drawn(&mut self, at: Ms, effects: &mut Vec<Effect>) {
        if let Some(Layer::Approval(dialog)) = self.0.last_mut() {
            dialog.drawn(at, effects);
        }
    }

    /// A time has come. Says whether something changed on screen.
    pub fn tick(&mut self, ctx: &mut Ctx<'_>) -> bool {
        match self.0.last_mut() {
            Some(Layer::Approval(dialog)) => dialog.tick(ctx),
            _ => false,
        }
    }

    /// Takes a message.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Dialog(msg) => {
                let id = msg.id.clone();
                let close = self.dialog(&id).is_some_and(|dialog| dialog.update(msg, ctx));
                if close {
                    self.close_dialog(&id);
                }
            }
            Msg::Palette(found) => {
                let open = |layer: &mut Layer| match layer {
                    Layer::Palette(palette) => palette.take(found, ctx),
                    _ => false,
                };
                if self.0.last_mut().is_some_and(open) {
                    self.0.pop();
                }
            }
        }
    }

    /// Draws the stack from below.
    pub fn draw(state: &State, view: &mut View, area: Rect, frame: &mut Frame<'_>) {
        for layer in &state.layers.0 {
            match layer {
                Layer::Help(help) => help.draw(state, view, area, frame),
                Layer::Palette(palette) => palette.draw(state, view, area, frame),
                Layer::Confirm(confirm) => confirm.draw(state, view, area, frame),
                Layer::Choose(choose) => choose.draw(state, view, area, frame),
                Layer::Ask(ask) => ask.draw(state, view, area, frame),
                Layer::Press(press) => press.draw(state, area, frame),
                Layer::Approval(dialog) => dialog.draw(state, view, area, frame),
            }
        }
    }
}
