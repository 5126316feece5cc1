//! What a server needs of its machine and its project, looked at one by one: what `musher doctor` and the API tell.

mod check;
mod executed;
mod files;
mod keys;
mod machine;
mod programs;
mod project;
mod rules;
pub(crate) mod unit;
mod version;

use std::path::PathBuf;

use musher_runtime::Environment;

use crate::config::ProjectConfig;
use musher_git::GitEnv;

pub(crate) use check::{Check, CheckVerdict};
pub(crate) use files::{executed, executed_in_base, obeyed_in_base};
pub(crate) use keys::usual as usual_key;
pub(crate) use programs::{Fitness, Need, Program};
pub(crate) use version::version_of;

/// Where is looked.
#[derive(Debug, Clone)]
pub struct CheckContext {
    pub repo: Result<PathBuf, CheckTrouble>,
    pub state: Result<PathBuf, CheckTrouble>,
    pub environment: Environment,
    /// What git may see of the environment.
    pub git_env: GitEnv,
}

/// Why there is nothing to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckTrouble {
    pub says: String,
    pub fix: String,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct CheckFindings {
    pub(crate) checks: Vec<Check>,
    /// The project, if its file can be used.
    pub(crate) project: Option<ProjectConfig>,
}

impl CheckContext {
    /// Looks at the machine and the project.
    pub(crate) async fn examine(&self) -> CheckFindings {
        let site = self.clone();
        // A disk that hangs must not hold up others.
        let machine = tokio::task::spawn_blocking(move || machine::checks(&site));
        let mut checks = machine.await.unwrap_or_default();
        let (project, found) = project::checks(self).await;
        checks.extend(found);
        checks.extend(keys::checks(self, project.as_ref()));
        CheckFindings { checks, project }
    }

    /// The programs that the team needs; without a project, those of all runtimes.
    pub(crate) fn programs(&self, project: Option<&ProjectConfig>) -> Vec<Program> {
        programs::wanted(self, project)
    }
}
