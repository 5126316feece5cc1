//! The whole spine: real servers, real runners and real agents, killed at every moment.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::print_stdout,
    reason = "whoever reads the output of a test must know what it did"
)]
#![expect(clippy::disallowed_methods, reason = "a test starts the program that it tests")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod asks;
mod bills;
mod caps;
mod changes;
mod container;
mod crowd;
mod dice;
mod disk;
mod durable;
#[path = "../sandbox/engine.rs"]
mod engine;
mod flow;
mod full;
mod grants;
mod hostile;
mod hung;
mod identity;
mod inject;
mod kept;
mod kills;
mod limits;
mod long;
mod loss;
mod mcp;
mod memory;
mod merges;
mod models;
mod money;
mod network;
mod options;
mod own_runtime;
mod ports;
mod project_files;
mod queued;
mod real;
mod reload;
mod resume_stream;
mod rig;
mod run_folder;
mod sandbox;
mod seat;
mod secrets;
mod server_log;
mod shown;
mod stopped;
mod tricks;
mod trouble;
mod verbs;
