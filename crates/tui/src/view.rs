//! What drawing keeps for the next drawing: caches, and where things were on the last frame. Apart from the state.

use ratatui::layout::{Position, Rect};

/// Filled while a frame is drawn.
#[derive(Default)]
pub struct View {
    /// Where the terminal's real cursor belongs; none hides it.
    pub cursor: Option<Position>,
    /// The middle of the screen, where the place is.
    pub middle: Rect,
    /// Views of places.
    pub places: crate::places::Views,
    /// Views of layers.
    pub layers: crate::layers::Views,
}
