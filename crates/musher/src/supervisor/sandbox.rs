//! The sandbox of a run: what the project file says of it, as places of this machine.

use std::path::{Path, PathBuf};

use musher_core::{ErrorClass, ErrorInfo, RunPlan, SlotId};
use musher_git::worktree::{Lane, WorktreeError, WorktreeSlots};
use musher_sandbox::{
    ContainerBackend, Mount, MountAccess, Sandbox, SandboxBackend, SandboxLimits, SandboxNetwork,
};

use super::SupervisorContext;
use super::assign::{config_error, seat};
use crate::config::{AgentConfig, SandboxConfig, SandboxProfile};
use crate::diagnostics::UNLIMITED_HINT;
use crate::home::login_is_unled;

impl SupervisorContext {
    /// The sandbox of a run in this slot; none if its agent has the rights of its user.
    pub(super) async fn sandbox(
        &self,
        plan: &RunPlan,
        slot: SlotId,
    ) -> Result<Option<Sandbox>, ErrorInfo> {
        let project = self.settings.project();
        let config = seat(&project, plan)?.sandbox.clone();
        let backend = match config.profile {
            SandboxProfile::Off => return Ok(None),
            SandboxProfile::Landlock => SandboxBackend::Landlock,
            SandboxProfile::Workspace | SandboxProfile::Strict => match &config.image {
                None => SandboxBackend::Namespaces,
                Some(image) => SandboxBackend::Container(
                    ContainerBackend::of(image, |name| self.environment.get(name))
                        .map_err(|why| unmade(&why.to_string()).with_hint(why.hint()))?,
                ),
            },
        };
        if let Some(key) = config.misplaced() {
            let message = format!("`{key}` of [sandbox] means nothing with {}", shown(&config));
            return Err(config_error(message).with_hint("leave it out, or set another profile"));
        }
        self.sandbox_can_be_had(&backend).await?;
        if config.image.is_none() {
            limits_can_be_had(config.limits()).await?;
        }
        let state = self.home.path().to_owned();
        let enclose = async move |slots: WorktreeSlots| match backend {
            SandboxBackend::Namespaces | SandboxBackend::Container(_) => {
                slots.enclose_by(slot, &backend).await
            }
            SandboxBackend::Landlock => slots.admit(slot).await,
        };
        let enclosed = self.slots.apart(Lane::Slot(slot), "the sandbox", enclose).await;
        let mut sandbox = enclosed.map_err(|error: WorktreeError| unmade(&error.to_string()))?;
        let home = sandbox.home_at.clone();
        let (read, write) = self.places(&config, &home)?;
        sandbox.mounts.extend(caches(&config, &state, &home).map_err(|error| unmade(&error))?);
        sandbox.mounts.extend(self.login(seat(&project, plan)?, &home));
        let at = |(real, written): (PathBuf, PathBuf)| Mount::read(real).at(written);
        sandbox.mounts.extend(read.into_iter().map(at));
        let writable = |mount: Mount| Mount { access: MountAccess::Write, ..mount };
        sandbox.mounts.extend(write.into_iter().map(at).map(writable));
        if config.profile == SandboxProfile::Strict {
            sandbox.network = SandboxNetwork::Proxy;
            let runtime = seat(&project, plan)?
                .played_by(&self.environment)
                .map_err(|error| config_error(error.to_string()).with_hint(error.hint()))?;
            let own = runtime.hosts().into_iter().map(str::to_owned);
            sandbox.hosts = own.chain(config.hosts.iter().cloned()).collect();
        }
        sandbox.nested = config.nested;
        sandbox.limits = config.limits();
        Ok(Some(sandbox))
    }

    /// Refuses a start where this machine cannot make a sandbox. It is tried out once; a failure is tried again, because it may have been
    /// mended.
    async fn sandbox_can_be_had(&self, backend: &SandboxBackend) -> Result<(), ErrorInfo> {
        let mut tried = self.sandboxes_tried.lock().await;
        if tried.contains(backend) {
            return Ok(());
        }
        let scratch = self.home.scratch().map_err(|error| unmade(&error.to_string()))?;
        let (helper, wanted) = (self.program.clone(), backend.clone());
        let probed = tokio::task::spawn_blocking(move || {
            let scratch = tempfile::tempdir_in(scratch)?;
            Ok::<_, std::io::Error>(musher_sandbox::try_out(&wanted, &helper, scratch.path()))
        });
        let probed = probed.await.map_err(std::io::Error::other).and_then(|probed| probed);
        match probed.map_err(|error| unmade(&error.to_string()))? {
            Ok(()) => tried.push(backend.clone()),
            Err(why) => return Err(unmade(&why.to_string()).with_hint(why.hint())),
        }
        Ok(())
    }

    /// The folder of the login that a person has made for this agent, if there is one. Programs renew their login and put it in the
    /// place of the old one, so all runs of the agent share the folder.
    fn login(&self, agent: &AgentConfig, home: &Path) -> Option<Mount> {
        if agent.sandbox.profile == SandboxProfile::Landlock {
            return None;
        }
        let folder = agent.login()?.folder?;
        let kept = self.home.login(&agent.name).join(&folder);
        // bubblewrap would follow a link to whatever it leads to.
        login_is_unled(&kept, &folder).then(|| Mount::write(kept).at(home.join(folder)))
    }

    /// The places that may be read and written: where each leads, and where it is inside.
    fn places(&self, config: &SandboxConfig, home: &Path) -> Result<(Places, Places), ErrorInfo> {
        let all = |list: &[PathBuf]| -> Result<Places, ErrorInfo> {
            list.iter().map(|path| self.place(whole(path, home), home)).collect()
        };
        Ok((all(&config.read)?, all(&config.write)?))
    }

    /// Refuses a place that would open the sandbox: whoever can write it, or read some of it, needs no way out.
    fn place(&self, path: PathBuf, home: &Path) -> Result<(PathBuf, PathBuf), ErrorInfo> {
        let real = path.canonicalize().map_err(|error| {
            let message = format!("the sandbox cannot be given {}: {error}", path.display());
            config_error(message).with_hint("correct `read` or `write` of [sandbox]")
        })?;
        let holds = [self.home.path(), self.git.root(), self.git.common(), home];
        if let Some(kept) = holds.iter().find(|kept| kept.starts_with(&real)) {
            let message = format!(
                "the sandbox cannot be given {}, which holds {}",
                path.display(),
                kept.display()
            );
            let hint = "name what the agent needs of it in `read` or `write` of [sandbox]";
            return Err(config_error(message).with_hint(hint));
        }
        let own = [(self.home.path(), "Musher's own"), (self.git.common(), "git's own")];
        if let Some((_, whose)) = own.iter().find(|(own, _)| real.starts_with(own)) {
            let message = format!("the sandbox cannot be given {}: it is {whose}", path.display());
            return Err(config_error(message).with_hint("leave it out"));
        }
        Ok((real, path))
    }
}

/// Refuses a start whose limits nothing on this machine would hold.
async fn limits_can_be_had(limits: SandboxLimits) -> Result<(), ErrorInfo> {
    if limits.memory.is_none() && limits.cpu_millis.is_none() {
        return Ok(());
    }
    let tried = tokio::task::spawn_blocking(move || musher_runtime::can_be_limited(limits));
    let tried = tried.await.map_err(std::io::Error::other).and_then(|tried| tried);
    tried.map_err(|error| unmade(&error.to_string()).with_hint(UNLIMITED_HINT))
}

/// Places of the machine: where each leads, and where it is inside.
type Places = Vec<(PathBuf, PathBuf)>;

/// A place as it was written, with the home of the user in it.
fn whole(path: &Path, home: &Path) -> PathBuf {
    path.strip_prefix("~").map_or_else(|_| path.to_owned(), |below| home.join(below))
}

/// The caches that all sandboxes of a project share. They are not the person's own: what an agent puts there is not built into
/// what the person builds.
fn caches(config: &SandboxConfig, state: &Path, home: &Path) -> Result<Vec<Mount>, String> {
    let mut mounts = Vec::new();
    for cache in &config.caches {
        for folder in cache.folders {
            let own = state.join("cache").join(cache.name).join(folder.replace('/', "-"));
            std::fs::create_dir_all(&own)
                .map_err(|error| format!("the cache {} cannot be made: {error}", own.display()))?;
            mounts.push(Mount::write(own).at(home.join(folder)));
        }
    }
    Ok(mounts)
}

/// A profile as it is written.
fn shown(config: &SandboxConfig) -> String {
    format!("profile = \"{}\"", config.profile.name())
}

fn unmade(why: &str) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Config, format!("the sandbox cannot be made: {why}"))
}
