//! The pool's loop and its journal, through their public doors, with a real database.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod broken;
mod folding;
mod idempotency;
mod names;
mod old_journals;
mod opening;
mod rig;
mod rounds;
mod views;
mod world;
