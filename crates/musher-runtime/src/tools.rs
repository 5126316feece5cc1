//! The tools of agents that have none of their own: files and commands in one folder, a plan, questions, an end.
//!
//! A [`ToolHost`] offers tools and carries out calls; [`Hosts`] makes one of several. Hosts decide nothing: whether a
//! call may be made is settled before it comes here, and what it wants of the session is told by its [`SessionEffect`].

mod beneath;
mod change;
mod command;
mod command_sandbox;
mod commands;
mod edit;
mod fault;
mod files;
mod glob;
mod grep;
mod host;
mod hosts;
mod input;
pub(crate) mod kept;
mod list;
mod place;
mod read;
mod run_tools;
mod walk;
mod write;

use std::path::PathBuf;

pub use commands::{CommandSpec, CommandTools};
pub use files::FileTools;
pub use host::{
    CallProgress, ReplyFuture, ReplyKind, SessionEffect, Subject, ToolCall, ToolHost, ToolReply,
    ToolSpec,
};
pub use hosts::Hosts;
pub use run_tools::RunTools;

/// Why tools could not be offered.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    #[error("folder `{}` cannot be worked in: {cause}; name a folder that exists", path.display())]
    Folder { path: PathBuf, cause: std::io::Error },
}

#[cfg(test)]
mod tests;
