//! Real runners: processes that host one run each, seen through their folders and sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test starts the program that it tests")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod commands;
mod hosting;
mod in_process;
mod loss;
mod rig;
