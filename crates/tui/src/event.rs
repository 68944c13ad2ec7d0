//! What happens to the workbench.

use crate::layers;
use crate::places;
use contract::ops::me::Me;
use crossterm::event::{KeyEvent, MouseEvent};

/// Milliseconds since the workbench began, by a clock that never goes back.
pub type Ms = u64;

/// What came from the terminal, with the time at which it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// When it was read.
    pub at: Ms,
    /// What.
    pub what: What,
}

/// A kind of input.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A key; releases are dropped at the door.
    Key(KeyEvent),
    /// Text pasted as one piece.
    Paste(String),
    /// A click, a wheel.
    Mouse(MouseEvent),
    /// The terminal came to the front, or went.
    Focus(bool),
    /// It has a new size.
    Resize(u16, u16),
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// From the terminal.
    Input(Input),
    /// A frame was written out.
    Drawn {
        /// When its last byte was handed to the terminal.
        at: Ms,
    },
    /// A time that somebody asked for has come.
    Tick {
        /// Now.
        at: Ms,
    },
    /// Who the caller is.
    Me(contract::Result<Me>),
    /// For a place.
    Place(places::Msg),
    /// For a layer.
    Layer(layers::Msg),
    /// A line for the person, from an effect.
    Toast(crate::state::Toast),
    /// Somebody else changed something in the home: lists look again.
    Rung,
    /// The connection to the server stands so from now on.
    Connection {
        /// When that was said.
        at: Ms,
        /// How.
        connection: client::Connection,
    },
    /// The program was asked to end (a signal, a lost terminal).
    End,
}
