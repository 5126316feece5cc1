//! The tools of agents that have none of their own: files and commands in one folder, a plan, questions, an end.
//!
//! A [`ToolHost`] offers tools and carries out calls; [`Hosts`] makes one of several. Hosts decide nothing: whether a
//! call may be made is settled before it comes here, and what it wants of the session is told by its [`Effect`].

mod host;
mod hosts;

pub use host::{
    Effect, Progress, ReplyFuture, ReplyKind, Subject, ToolCall, ToolHost, ToolReply, ToolSpec,
};
pub use hosts::Hosts;
