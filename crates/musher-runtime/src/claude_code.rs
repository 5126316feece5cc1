//! The `claude-code` runtime: Claude Code over its two-way stream protocol.
//!
//! There is one mode only. One-shot work is one prompt and then the end of input, so approvals, questions, interrupts
//! and further prompts work everywhere.

mod backend;
mod control;
mod frame;
mod launch;
mod project;
mod tools;
mod translate;

use std::borrow::Cow;
use std::sync::Arc;

use crate::conversation::Recording;
use crate::session::{self, BackendProfile};
use crate::{Capabilities, ProgramLogin, ProjectFile, Runtime, Session, SessionSpec};

const NAME: &str = "claude-code";
/// The version that this runtime was proved against.
pub const TESTED_VERSION: &str = "2.1.325";
/// The command that installs it.
pub const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";
/// How a person logs in, and by what one is.
pub const LOGIN: ProgramLogin = ProgramLogin {
    command: "claude auth login",
    file: Some(".claude/.credentials.json"),
    variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
};

/// Claude Code, found as `claude` on `PATH` unless the session names a program.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeCode {}

impl Runtime for ClaudeCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { turns: false, ..Capabilities::ALL }
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        project::FILES
    }

    fn hosts(&self) -> Vec<&str> {
        launch::HOSTS.to_vec()
    }

    fn start(&self, spec: SessionSpec) -> Session {
        let profile = BackendProfile {
            variables: launch::VARIABLES,
            chosen: launch::CHOSEN,
            banned: launch::BANNED,
            files: Cow::Borrowed(project::FILES),
            ..BackendProfile::new(NAME, self.capabilities())
        };
        session::start(profile, spec, Arc::new(|attempt| Box::pin(backend::run(attempt))))
    }
}

/// Reads what Claude Code has printed, from its beginning.
pub fn recording() -> Recording {
    Recording::of(translate::Translator::default())
}
