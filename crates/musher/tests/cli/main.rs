//! The `musher` command as people and programs use it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the command is started as a shell would start it")]

mod exit_codes;
mod json;
mod musher;
mod promises;
mod prompts;
mod real;
mod terminal;
