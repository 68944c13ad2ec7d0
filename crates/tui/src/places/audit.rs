//! Being written.
use crate::action::{Action, Context};
use crate::event::Input;
use crate::state::{Ctx, State};
use ratatui::Frame;
use ratatui::layout::Rect;
/// Place.
#[derive(Default)]
pub struct Place {}
/// Msg.
#[derive(Debug)]
pub enum Msg {}
/// View.
#[derive(Default)]
pub struct View {}
#[allow(missing_docs)]
impl Place {
    pub fn contexts(&self) -> Vec<Context> { vec![] }
    pub fn wants_text(&self) -> bool { false }
    pub fn enter(&mut self, _: &mut Ctx<'_>) {}
    pub fn act(&mut self, _: Action, _: &Input, _: &mut Ctx<'_>) {}
    pub fn input(&mut self, _: &Input, _: &mut Ctx<'_>) {}
    pub fn tick(&mut self, _: &mut Ctx<'_>) -> bool { false }
    pub fn draw(&self, _: &State, _: &mut crate::view::View, _: Rect, _: &mut Frame<'_>) {}
    pub fn update(&mut self, msg: Msg, _: &mut Ctx<'_>) { match msg {} }
    pub fn refresh(&mut self, _: &mut Ctx<'_>) {}
}
