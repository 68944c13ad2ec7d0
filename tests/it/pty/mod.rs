//! The workbench as people meet it: the built program on a real terminal, keys in, a screen out.

mod ahead;
mod answers;
mod drawings;
mod escapes;
mod first_steps;
mod job;
mod looks;
mod pictures;
mod records;
pub mod screen;
mod sizes;
mod storm;
mod strings;
mod svg;
mod ways_out;
