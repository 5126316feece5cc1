//! Measures what Musher costs per event, per agent and per viewer, beside a baseline in the same run.
//!
//! `cargo run --release -p musher-bench` builds what it measures, prints one table, and fails below a bar. Each row has
//! projects and servers of its own, so that what one row leaves behind does not hide what the next one costs.

#![expect(clippy::disallowed_methods, reason = "a tool for developers starts what it measures")]
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

pub mod bench;
pub mod callgrind;
pub mod curves;
pub mod downgrade;
pub mod kept;
pub mod load;
pub mod machine;
pub mod measure;
pub mod plot;
pub mod report;
pub mod row;
pub mod rows;
pub mod setup;
pub mod slow;
pub mod soak;
pub mod stage;
pub mod stand_in;
pub mod steal;
