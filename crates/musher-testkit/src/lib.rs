//! Whole-program fakes for Musher's tests: a scripted model, agents that misbehave or do numbered work, and a player of
//! recordings.

pub mod books;
pub mod model;
pub mod proc;
pub mod programs;
pub mod real;
pub mod session;
