//! Git and worktrees as the rest of Musher uses them, with a real git on real files.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the tests play the person and the agent at git")]

mod copy;
mod crash;
mod diff;
mod hardening;
mod lab;
mod merge;
mod names;
mod open;
mod queue;
mod recycle;
mod slots;
mod snapshot;
