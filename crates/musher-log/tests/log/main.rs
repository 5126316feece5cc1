//! The promises of the run log, kept with real files.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crash;
mod damage;
mod full;
mod lost;
mod old_logs;
mod race;
mod raw;
mod reading;
mod rig;
mod wakes;
mod writing;
