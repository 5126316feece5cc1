//! What a program in a sandbox can and cannot do, tried with real programs. Every attempt has a control: the same line outside,
//! where it must succeed, so that none passes for the wrong reason.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs, and read their own environment"
)]

mod alone;
mod attempts;
mod commits;
mod container;
mod engine;
mod guests;
mod lab;
mod lines;
mod more_attempts;
mod users;
mod works;
