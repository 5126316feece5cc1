//! The product: everything between a person and a team of coding agents.
//!
//! Data flows one way: config → pool → runner → run log → views → doors.

pub mod api;
pub mod bus;
pub mod cli;
pub mod config;
pub mod diagnostics;
pub mod home;
pub mod journal;
pub mod logging;
pub mod mcp;
pub mod pool;
pub mod runner;
pub mod runtimes;
pub mod secrets;
pub mod settings;
pub mod supervisor;
pub mod watch;
