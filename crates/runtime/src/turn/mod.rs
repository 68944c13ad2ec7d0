//! Turns: the pure fold ([`state`]), and the driver that carries out what follows from it ([`drive`]).

pub(crate) mod drive;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod interleavings;
pub(crate) mod lease;
#[cfg(test)]
mod rests;
pub(crate) mod results;
pub mod state;
pub(crate) mod step;
