//! The `codex` runtime: OpenAI's Codex over its app server, which speaks JSON-RPC on its standard streams.
//!
//! `codex exec` is never used: it asks nothing, streams nothing and leaves out commands that its sandbox refused.

mod frame;
mod home;
mod launch;
mod project;
mod recording;
mod translate;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use musher_core::SessionId;

use crate::session::{self, BackendProfile};
use crate::{Capabilities, ProgramLogin, ProjectFile, Runtime, Session, SessionSpec};

pub use recording::recording;

const NAME: &str = "codex";
/// The version that this runtime was proved against.
pub const TESTED_VERSION: &str = "0.166.0";
/// The command that installs it.
pub const INSTALL: &str = "npm install -g @openai/codex";
/// How a person logs in, and by what one is.
pub const LOGIN: ProgramLogin = ProgramLogin {
    command: "codex login",
    file: Some(".codex/auth.json"),
    variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
};

/// Codex, found as `codex` on `PATH` unless the session names a program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Codex {}

impl Runtime for Codex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        // It reports tokens and no cost: that is worked out from a table of prices.
        Capabilities { turns: false, ..Capabilities::ALL }
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        project::FILES
    }

    fn hosts(&self) -> Vec<&str> {
        launch::HOSTS.to_vec()
    }

    fn has_session(&self, folder: &Path, session: &SessionId) -> bool {
        home::has_session(folder, session)
    }

    fn start(&self, spec: SessionSpec) -> Session {
        let profile = BackendProfile {
            variables: launch::VARIABLES,
            banned: launch::BANNED,
            files: Cow::Borrowed(project::FILES),
            ..BackendProfile::new(NAME, self.capabilities())
        };
        session::start(profile, spec, Arc::new(|attempt| Box::pin(launch::run(attempt))))
    }
}
