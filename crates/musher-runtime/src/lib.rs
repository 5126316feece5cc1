//! Run one coding agent, on any backend: commands in, typed events out.
//!
//! A [`Runtime`] turns one vendor's protocol into [`Event`]s. It starts a [`Session`]: one agent at work on one
//! prompt in one folder. Around every runtime stands the same driver, which applies tool rules, limits and deadlines,
//! and says the end exactly once, after the agent's whole process tree is gone.
//!
//! For one-shot work there is [`run_once`].
//!
//! Each runtime is a cargo feature by its name, all of them by default, and a runtime of your own stands behind the same
//! driver: see [`backend`].
//!
//! The library changes no process-wide state of the program that embeds it. A program that hosts a single session and
//! wants to catch every orphan can make itself a subreaper and say so with [`Host::Dedicated`].

#[cfg(not(target_os = "linux"))]
compile_error!("musher-runtime runs on Linux; on Windows use WSL2");

#[cfg(feature = "acp")]
pub mod acp;
#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg_attr(
    not(feature = "openai"),
    expect(dead_code, reason = "each runtime uses a part of what they share")
)]
mod attachments;
pub mod backend;
#[cfg(feature = "claude-code")]
pub mod claude_code;
mod clock;
#[cfg(feature = "codex")]
pub mod codex;
#[cfg(feature = "frames")]
#[cfg_attr(
    not(all(feature = "claude-code", feature = "codex")),
    expect(dead_code, reason = "each program uses a part of what they share")
)]
mod conversation;
#[cfg(feature = "gates")]
pub mod gates;
#[cfg(feature = "gemini")]
pub mod gemini;
#[cfg_attr(
    all(feature = "frames", not(feature = "claude-code")),
    expect(dead_code, unused_imports, reason = "each program uses a part of what they share")
)]
mod json;
#[cfg(feature = "model")]
#[cfg_attr(
    not(all(feature = "anthropic", feature = "gemini", feature = "openai")),
    expect(dead_code, reason = "each vendor uses a part of what they share")
)]
mod model;
mod once;
#[cfg(feature = "openai")]
pub mod openai;
#[cfg(feature = "frames")]
#[cfg_attr(
    not(feature = "claude-code"),
    expect(dead_code, reason = "each program uses a part of what they share")
)]
mod peer;
#[cfg(feature = "prices")]
#[cfg_attr(
    not(feature = "model"),
    expect(dead_code, reason = "sizes of models matter only to those who speak to one")
)]
mod prices;
mod process;
mod project_files;
mod runtime;
#[cfg(feature = "script")]
pub mod script;
mod secret_finder;
mod session;
mod task;
pub mod tools;

pub use attachments::{
    Attachment, AttachmentError, ImageType, MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, MAX_IMAGE_BYTES,
    MAX_IMAGES_TOTAL_BYTES, PromptImage,
};
pub use clock::now_ms;
#[cfg(feature = "frames")]
pub use conversation::Recording;
#[cfg(feature = "model")]
pub use model::ModelService;
pub use musher_core::{self as core, Event, EventKind, Outcome};
pub use once::{RunResult, run_once};
pub use process::{
    Containment, Environment, Host, InteractiveProgram, MARK, OtherProcess, Sweep, TreeOf,
    can_be_limited, control_group, memory, reap_orphans, sweep,
};
pub use process::{ProgramError, find as find_program};
pub use project_files::{
    Changed, FileEffect, FoundFile, MAX_PROJECT_FILE_SIZE_BYTES, ProjectFile, ProjectTrust,
    SeenFile, Snapshot, effect_of, executed_below, executed_roots, is_executed,
};
pub use runtime::{Capabilities, ProgramLogin, Runtime};
pub use session::{
    AskPolicy, CommandError, HostAnswer, HostAsk, HostReports, Keeper, KeySource, McpServer,
    McpTransport, ModelOptions, PendingPrompt, Remark, ResumeFrom, RunLimits, Secrets, Session,
    SessionCommand, SessionHandle, SessionOutput, SessionSpec, SystemPrompt, USUAL_INACTIVITY,
};
pub use tokio_util::sync::CancellationToken;
