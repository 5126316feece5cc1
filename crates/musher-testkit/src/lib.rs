//! Whole-program fakes for Musher's tests: a scripted model, an agent that misbehaves, and a player of recordings.

pub mod model;
pub mod proc;
pub mod programs;
pub mod real;
