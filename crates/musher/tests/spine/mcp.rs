//! The MCP doors with real servers, real runners and the clients of others.

mod agent;
mod alone;
mod official;
mod real;
mod run_scope;
