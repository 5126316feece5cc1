//! What is in force: the project file, and what was decided while working. It alone changes while the server runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use musher_core::pool::{PoolLimits, Seat, Team};
use tokio::sync::watch;

use crate::config::local::{LocalCaps, LocalFile};
use crate::config::trust::{self, Powers, TrustError, TrustState};
use crate::config::{self, AgentConfig, ConfigErrors, ConfigState, ProjectConfig};
use crate::pool::{PoolError, PoolHandle};
use crate::runtimes::KnownRuntime;

/// The settings of one server. What changes takes effect for what starts afterwards; active runs keep what they started with.
#[derive(Debug)]
pub struct ServerSettings {
    repo: PathBuf,
    state: PathBuf,
    /// The runtimes that an agent may name.
    runtimes: &'static [KnownRuntime<'static>],
    local: LocalFile,
    caps: Mutex<LocalCaps>,
    /// The project file as the server began with it: some of it cannot be changed under a server.
    begun: Arc<ProjectConfig>,
    project: watch::Sender<Arc<ProjectConfig>>,
}

/// Why the settings were not read again. What was in force still is.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    #[error(transparent)]
    Project(ConfigErrors),
    #[error("the project file may do things that nobody has agreed to:\n{}", powers.join("\n"))]
    Untrusted { powers: Vec<String> },
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Local(ConfigErrors),
}

/// What came of reading the settings again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    pub hash: String,
    /// The keys whose new values count only after the server has begun anew.
    pub after_restart: Vec<&'static str>,
}

/// The project file as it stands on the disk.
#[derive(Debug)]
pub struct FileNow {
    pub path: PathBuf,
    pub look: ConfigState,
    pub trusted: bool,
    /// Whether what the server runs is this.
    pub in_force: bool,
}

impl ServerSettings {
    /// Begins with a project file that was read and is trusted. What was decided while working is read here.
    pub fn begin(
        repo: &Path,
        state: &Path,
        runtimes: &'static [KnownRuntime<'static>],
        project: ProjectConfig,
    ) -> Result<Self, ConfigErrors> {
        let local = LocalFile::new(state);
        let caps = Mutex::new(local.read()?.caps);
        let begun = Arc::new(project);
        let (repo, state) = (repo.to_owned(), state.to_owned());
        let project = watch::Sender::new(begun.clone());
        Ok(Self { repo, state, runtimes, local, caps, begun, project })
    }

    /// The project file as it is in force.
    pub fn project(&self) -> Arc<ProjectConfig> {
        self.project.borrow().clone()
    }

    /// The project file as it is in force, now and later.
    pub fn watch(&self) -> watch::Receiver<Arc<ProjectConfig>> {
        self.project.subscribe()
    }

    /// The file of what was decided while working.
    pub fn local(&self) -> &LocalFile {
        &self.local
    }

    /// The caps as they are in force.
    pub fn caps(&self) -> LocalCaps {
        *self.caps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the caps from the file. A file with a mistake in it changes nothing. This blocks for a moment.
    pub fn read_caps(&self) -> Result<(), ConfigErrors> {
        // Whoever comes last has read last.
        let mut caps = self.caps.lock().unwrap_or_else(PoisonError::into_inner);
        *caps = self.local.read()?.caps;
        Ok(())
    }

    /// Reads everything again, if a person has agreed to it. This blocks for a moment.
    pub fn reload(&self) -> Result<Reloaded, ReloadError> {
        let project = config::load(&self.repo, self.runtimes).map_err(ReloadError::Project)?;
        let powers = match trust::trusted(&self.state, &project)? {
            TrustState::Trusted => None,
            TrustState::New => Some(Powers::of(&project).lines()),
            TrustState::Changed { diff } => Some(diff),
        };
        if let Some(powers) = powers {
            tracing::info!(
                cause = "nobody has agreed to what it may do",
                "project file not reloaded"
            );
            return Err(ReloadError::Untrusted { powers });
        }
        self.read_caps().map_err(ReloadError::Local)?;
        let hash = project.hash.clone();
        let after_restart = self.after_restart(&project);
        self.project.send_replace(Arc::new(project));
        tracing::info!(hash, "project file reloaded");
        Ok(Reloaded { hash, after_restart })
    }

    /// Tells the pool who is on the team and within which limits; the queue is looked at again.
    pub async fn enforce(&self, pool: &PoolHandle) -> Result<(), PoolError> {
        pool.set_team(self.team()).await
    }

    /// The team as it is in force.
    pub fn team(&self) -> Team {
        let project = self.project();
        let seat = |agent: &AgentConfig| Seat {
            name: agent.name.clone(),
            model: agent.model.clone(),
            budget: agent.limits.budget,
            turns: agent.capabilities().turns,
        };
        let limits = PoolLimits {
            runs: project.limits.runs,
            runs_per_agent: project.limits.runs_per_agent,
            runs_per_story: project.limits.runs_per_story,
            day_usd: self.caps().day_usd,
        };
        Team { agents: project.agents.iter().map(seat).collect(), limits }
    }

    /// Looks at the project file as it stands on the disk. This blocks for a moment.
    pub fn file(&self) -> FileNow {
        let look = config::look(&self.repo, self.runtimes);
        let (trusted, in_force) = match &look.project {
            Ok(project) => {
                let trust = trust::trusted(&self.state, project);
                let same = self.project().hash == project.hash;
                let in_force = same && self.after_restart(project).is_empty();
                (matches!(trust, Ok(TrustState::Trusted)), in_force)
            }
            Err(_) => (false, false),
        };
        FileNow { path: self.repo.join(config::PROJECT_FILE), look, trusted, in_force }
    }

    /// What of a project file differs from the one that the server began with and cannot be changed under it.
    fn after_restart(&self, project: &ProjectConfig) -> Vec<&'static str> {
        let begun = &*self.begun;
        let keys = [
            ("base_branch", begun.base_branch != project.base_branch),
            ("worktree.copy", begun.worktree.copy != project.worktree.copy),
            ("worktree.keep", begun.worktree.keep != project.worktree.keep),
            ("server.listen", begun.server.listen != project.server.listen),
            ("server.origins", begun.server.origins != project.server.origins),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}
