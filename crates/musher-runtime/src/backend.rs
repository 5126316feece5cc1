//! For a runtime of your own: what its backend is started with, what it is told, and what it tells the driver.
//!
//! A runtime implements [`Runtime`](crate::Runtime). Its `start` calls [`start_session`] with a [`BackendProfile`] and a
//! [`Backend`]: a function that runs one [`Attempt`] to its end. Rules, limits, deadlines, asks and secrets are the
//! driver's, so a backend translates and decides nothing:
//!
//! - It takes [`BackendOrder`]s and the two tokens of its [`Port`] until it is told to close, to end or to be killed.
//! - It tells what happens with [`Attempt::tell`]: events, deltas, asks, and a [`PermissionRequest`] before a tool.
//! - A program is started with [`Attempt::start_program`], so that its whole tree is gone at the end.
//!
//! `tests/own_runtime` of this crate holds two small runtimes, one in memory and one with a program.

pub use crate::process::{
    Graces, LineBody, OutputLine, Process, ProcessControl, ProcessOutcome, ProcessRead, Weight,
};
pub use crate::session::{
    Attempt, Backend, BackendEnd, BackendOrder, BackendProfile, BeforeStart, FrameBatch, LADDER,
    PermissionRequest, PermissionVerdict, Port, ProjectFilesMode, Signal, start as start_session,
};
