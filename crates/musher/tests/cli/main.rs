//! The `musher` command as people and programs use it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the command is started as a shell would start it")]

mod agents;
mod answers;
mod colours;
mod doctor;
mod exit_codes;
mod help;
mod init;
mod json;
mod musher;
mod no_server;
mod promises;
mod prompts;
mod real;
mod restart;
mod rules;
mod served;
mod server;
mod sockets;
mod stories;
mod tabs;
mod terminal;
mod trust;
