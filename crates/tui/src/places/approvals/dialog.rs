//! Being written.
use crate::action::{Action, Context};
use crate::effect::Effect;
use crate::event::{Input, Ms};
use crate::layers::Done;
use crate::state::{Ctx, State};
use ratatui::Frame;
use ratatui::layout::Rect;
/// Dialog.
pub struct Dialog { id: String }
/// Msg.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Msg { pub id: String }
/// View.
#[derive(Default)]
pub struct View {}
#[allow(missing_docs)]
impl Dialog {
    pub fn id(&self) -> &str { &self.id }
    pub fn contexts(&self) -> Vec<Context> { vec![Context::Dialog] }
    pub fn input(&mut self, _: &Input, _: Option<Action>, _quiet: Ms, _: &mut Ctx<'_>) -> Done { Done::Stay }
    pub fn drawn(&mut self, _: Ms, _: &mut Vec<Effect>) {}
    pub fn tick(&mut self, _: &mut Ctx<'_>) -> bool { false }
    pub fn update(&mut self, _: Msg, _: &mut Ctx<'_>) -> bool { false }
    pub fn draw(&self, _: &State, _: &mut crate::view::View, _: Rect, _: &mut Frame<'_>) {}
}
