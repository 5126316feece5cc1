//! The process that hosts one run, its files, and the way to speak to it.
//!
//! A runner stands between the server and the agent. It owns the agent's process tree, writes the run's log, listens
//! on a socket in the run's folder, keeps the limits, and records the outcome; the server may come and go.

mod alone;
pub mod bridge;
pub mod closing;
mod commands;
mod deltas;
pub mod end;
mod folder;
pub mod force;
pub(crate) mod hints;
mod host;
pub mod launch;
pub mod link;
mod logs;
mod proxy;
mod secret;
mod socket;
pub mod spec;
pub mod tools;

pub use alone::{Alone, Served};
pub use folder::{RunFolder, sessions};
pub use host::{HostError, host};
pub use logs::RunLogs;
pub(crate) use proxy::Upstreams;
