//! The workbench as people meet it: the built program on a real terminal, keys in, a screen out.

mod ahead;
mod escapes;
mod job;
mod looks;
mod screen;
mod ways_out;
