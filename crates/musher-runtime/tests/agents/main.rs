//! Whole sessions through the public door: the contract of every runtime, the promises, and the real programs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the rig passes on the PATH of the machine")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod acp_real;
mod codex_real;
mod contract;
mod gates;
mod keeping;
mod log_lines;
mod long;
mod models;
mod promises;
mod real;
mod rig;
mod story;
