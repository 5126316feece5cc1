//! How the program of an agent is signed in.

use std::path::{Component, Path, PathBuf};

use musher_runtime::Environment;

use super::AgentConfig;
use crate::runtimes::{self, ProgramCare};

/// The login of a vendor, as an agent needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLogin {
    /// What a person types to log in.
    pub command: String,
    /// The folder that the login is kept in, seen from the home folder.
    pub folder: Option<PathBuf>,
    /// The file of the login, seen from the home folder.
    pub file: Option<PathBuf>,
    /// Variables of which one stands for a login.
    pub keys: Vec<String>,
}

impl AgentConfig {
    /// How the program of this agent is signed in; nothing if it has no login.
    pub fn login(&self) -> Option<AgentLogin> {
        let care = match &self.preset {
            Some(preset) => Some(ProgramCare::of(preset)),
            None => runtimes::care(&self.runtime),
        }?;
        let below =
            |file: &PathBuf| file.components().all(|part| matches!(part, Component::Normal(_)));
        let file = care.login_file.map(PathBuf::from).filter(below);
        let folder = file.as_deref().and_then(Path::parent).map(Path::to_owned);
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        Some(AgentLogin { command: care.login?, folder, file, keys: care.keys })
    }

    /// The variable that stands for a login of this agent, if one is set.
    pub fn login_key(&self, environment: &Environment) -> Option<String> {
        let is_set = |name: &String| {
            self.env.contains_key(name)
                || environment.get(name).is_some_and(|value| !value.is_empty())
        };
        self.login()?.keys.into_iter().find(is_set)
    }
}
