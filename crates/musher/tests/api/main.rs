//! The HTTP door with the real journal, pool, logs and git behind it; only the runners are missing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    reason = "a test owns the tasks that it starts and makes its repository"
)]

mod access;
mod activity;
mod actors;
mod caps;
mod change;
mod checks;
mod commands;
mod conflicts;
mod damage;
mod diff;
mod document;
mod events;
mod export;
mod feed;
mod grants;
mod mcp;
mod outline;
mod problems;
mod retention;
mod rig;
mod search;
mod serving;
mod shown;
mod sse;
mod strangers;
mod stream;
mod tokens;
mod views;
