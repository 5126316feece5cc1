//! The MCP doors: tools for an agent about its own run, and tools for an assistant about the whole project.
//!
//! | part | what it does |
//! |---|---|
//! | `tool_server` | Offers the tools of any [`ToolHost`](musher_runtime::tools::ToolHost) over MCP, in both generations. |
//! | `wire` | Serves a door over two pipes until they end. |
//! | `run` | The scope of one run: its story, plan, progress, questions and summary. |
//! | `operator` | The scope of the project: stories, runs, asks, logs and diffs. |
//! | `api_client` | How the operator's tools reach the server: over HTTP, or inside of it. |
//!
//! The doors hold no rules. What a run may do is settled by the driver, and what a project may do by the pool.

pub mod api_client;
mod input;
pub mod operator;
mod pace;
pub mod run;
#[cfg(test)]
mod tests;
mod tool_server;
mod wire;

pub use pace::Caller;
pub use tool_server::{CALLER_OF_TOOL, ToolServer};
pub use wire::serve;
