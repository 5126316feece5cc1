//! The whole spine: real servers, real runners and real agents, killed at every moment.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test starts the program that it tests")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod asks;
mod flow;
mod kills;
mod loss;
mod real;
mod rig;
