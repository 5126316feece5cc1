//! What a server needs of its machine and its project, looked at one by one: what `musher doctor` and the API tell.

mod diagnostic;
mod executed;
mod files;
mod keys;
mod machine;
mod programs;
mod project;
mod rules;
mod sandbox;
pub use sandbox::UNLIMITED_HINT;
pub(crate) mod unit;
mod version;

use std::path::PathBuf;

use musher_runtime::Environment;

use crate::config::ProjectConfig;
use musher_git::GitEnv;

pub(crate) use diagnostic::{Diagnostic, DiagnosticVerdict};
pub(crate) use files::{executed, executed_in_base, obeyed_in_base};
pub(crate) use keys::usual as usual_key;
pub(crate) use programs::{Fitness, Need, Program};
pub(crate) use version::version_of;

/// Where is looked.
#[derive(Debug, Clone)]
pub struct DiagnosticContext {
    pub repo: Result<PathBuf, DiagnosticTrouble>,
    pub state: Result<PathBuf, DiagnosticTrouble>,
    pub environment: Environment,
    /// What git may see of the environment.
    pub git_env: GitEnv,
}

/// Why there is nothing to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagnosticTrouble {
    pub says: String,
    pub fix: String,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct DiagnosticFindings {
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The project, if its file can be used.
    pub(crate) project: Option<ProjectConfig>,
}

impl DiagnosticContext {
    /// Looks at the machine and the project.
    pub(crate) async fn examine(&self) -> DiagnosticFindings {
        let site = self.clone();
        // A disk that hangs must not hold up others.
        let machine = tokio::task::spawn_blocking(move || machine::diagnose(&site));
        let mut diagnostics = machine.await.unwrap_or_default();
        let (project, found) = project::diagnose(self).await;
        let team = project.clone();
        let (environment, state) = (self.environment.clone(), self.state.clone().ok());
        let confined = tokio::task::spawn_blocking(move || {
            sandbox::diagnose(team.as_ref(), &environment, state.as_deref())
        });
        diagnostics.extend(confined.await.unwrap_or_default());
        diagnostics.extend(found);
        diagnostics.extend(keys::diagnose(self, project.as_ref()));
        DiagnosticFindings { diagnostics, project }
    }

    /// The programs that the team needs; without a project, those of all runtimes.
    pub(crate) fn programs(&self, project: Option<&ProjectConfig>) -> Vec<Program> {
        programs::wanted(self, project)
    }
}
