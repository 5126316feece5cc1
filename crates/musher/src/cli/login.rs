//! `musher login`: opens the login of an agent's vendor in the sandbox of that agent.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::Args;
use musher_runtime::{InteractiveProgram, find_program};
use musher_sandbox::{Mount, Sandbox, SandboxBackend, SandboxLimits, SandboxNetwork};
use serde_json::json;

use super::place::{PlaceArgs, WorkLocation};
use super::terminal::tell;
use super::{CliError, CliExit, out};
use crate::config::trust::{self, TrustState};
use crate::config::{self, AgentConfig, AgentLogin, ProjectConfig, SandboxProfile};
use crate::home::{Home, login_is_unled};
use crate::runtimes;

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The agent to sign in.
    agent: String,
    /// Delete its login instead.
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// More arguments for the vendor's login.
    #[arg(last = true)]
    args: Vec<OsString>,
}

impl LoginArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.clone().place();
        let (repo, state) = (place.repo()?, place.state()?);
        let project = config::load(&repo, runtimes::built())?;
        let agent = find(&project, &self.agent)?;
        let home = Home::open(&state, &repo)?;
        let kept = home.login(&agent.name);
        if self.remove {
            return forget(&place, agent, &kept);
        }
        let login = needed(agent)?;
        let folder = login.folder.as_deref().ok_or_else(|| unknown_place(agent))?;
        if trust::trusted(home.path(), &project)? != TrustState::Trusted {
            let message = "the project file names programs that nobody has agreed to";
            return Err(CliError::hinted(message, "review them with `musher trust`"));
        }
        let failed = |error: std::io::Error| unusable(&kept, &error);
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(kept.join(folder)).map_err(failed)?;
        let program = program(&place, agent, &login, &repo, &self.args)?;
        if !place.json() {
            let shown = &login.command;
            tell(&format!("Opening `{shown}` in the sandbox of agent {} …", agent.name));
        }
        let scratch = tempfile::tempdir_in(home.scratch()?).map_err(failed)?;
        let sandbox = sandbox(&place, &kept.join(folder), folder, scratch.path())?;
        let inside = sandbox.home_at.clone();
        let ended = tokio::task::spawn_blocking(move || program.run(sandbox, &inside)).await;
        let ended = ended.map_err(std::io::Error::other).and_then(|ended| ended);
        let ended = ended.map_err(|error| {
            let message = format!("`{}` cannot be opened: {error}", login.command);
            CliError::hinted(message, "`musher doctor` says whether sandboxes work here")
        })?;
        let there = login.file.as_deref().is_some_and(|file| kept.join(file).is_file());
        if !ended.success() || !there {
            let message = format!(
                "agent {} is not signed in: `{}` ended with {ended}",
                agent.name, login.command
            );
            return Err(CliError::hinted(message, "try again, or give it a key by `env`"));
        }
        tell_done(&place, agent, true)
    }
}

fn find<'a>(project: &'a ProjectConfig, name: &str) -> Result<&'a AgentConfig, CliError> {
    project.agents.iter().find(|agent| agent.name.as_str() == name).ok_or_else(|| {
        let names: Vec<&str> = project.agents.iter().map(|agent| agent.name.as_str()).collect();
        CliError::hinted(format!("there is no agent {name}"), format!("use {}", names.join(", ")))
    })
}

/// The login of an agent that needs one of its own.
fn needed(agent: &AgentConfig) -> Result<AgentLogin, CliError> {
    let Some(login) = agent.login() else {
        let message = format!("agent {} ({}) has no login", agent.name, agent.runtime);
        return Err(CliError::hinted(message, "give it a key by `env`, if it needs one"));
    };
    match agent.sandbox.profile {
        SandboxProfile::Off => {
            let message = format!(
                "agent {} has your own rights (profile = \"off\") and uses your own login",
                agent.name
            );
            Err(CliError::hinted(message, format!("log in with `{}`", login.command)))
        }
        // Where nothing can be mounted, a login cannot be shown to some runs and not to others.
        SandboxProfile::Landlock => {
            let message = format!(
                "agent {} has no login of its own: profile = \"landlock\" cannot show one to it",
                agent.name
            );
            Err(CliError::hinted(message, "give it a key by `env`"))
        }
        SandboxProfile::Workspace | SandboxProfile::Strict => Ok(login),
    }
}

fn unknown_place(agent: &AgentConfig) -> CliError {
    let message = format!("Musher does not know where {} keeps its login", agent.runtime);
    CliError::hinted(message, "give the agent a key by `env`")
}

fn unusable(path: &Path, error: &std::io::Error) -> CliError {
    let message = format!("{} cannot be used: {error}", path.display());
    CliError::hinted(message, "see that the state directory can be written to")
}

/// The vendor's login. The program of the agent stands for the one of its vendor's name.
fn program(
    place: &WorkLocation,
    agent: &AgentConfig,
    login: &AgentLogin,
    repo: &Path,
    more: &[OsString],
) -> Result<InteractiveProgram, CliError> {
    let mut words = login.command.split_whitespace();
    let named = PathBuf::from(words.next().unwrap_or_default());
    let usual = runtimes::program(&agent.runtime, agent.preset.as_ref());
    let own = agent.program(repo).filter(|_| usual.as_ref() == Some(&named));
    let found = find_program(own.as_ref().unwrap_or(&named), place.environment.get("PATH"));
    let program =
        found.map_err(|error| CliError::hinted(error.to_string(), "see `musher agents`"))?;
    let args = words.map(OsString::from).chain(more.iter().cloned()).collect();
    Ok(InteractiveProgram { program, args, environment: place.environment.clone() })
}

/// The sandbox of a login: an empty home in which nothing but the folder of the login is kept, and the network that a login needs.
/// The folder is mounted, so that nothing inside can put a link in its place.
fn sandbox(
    place: &WorkLocation,
    kept: &Path,
    folder: &Path,
    scratch: &Path,
) -> Result<Sandbox, CliError> {
    let failed = |error: std::io::Error| unusable(kept, &error);
    if !login_is_unled(kept, folder) {
        let message = format!("there is a link on the way to {}", kept.display());
        return Err(CliError::hinted(message, "delete the login with --remove, and sign in again"));
    }
    let [home, tmp] = ["home", "tmp"].map(|name| scratch.join(name));
    for own in [&home, &tmp] {
        std::fs::DirBuilder::new().mode(0o700).create(own).map_err(failed)?;
    }
    let home_at = place.environment.get("HOME").map(PathBuf::from);
    let home_at =
        home_at.ok_or_else(|| CliError::hinted("there is no home folder", "set the variable HOME"));
    let home_at = home_at?;
    Ok(Sandbox {
        helper: std::env::current_exe().map_err(failed)?,
        mounts: vec![Mount::write(kept).at(home_at.join(folder))],
        home,
        home_at,
        tmp,
        nested: false,
        network: SandboxNetwork::Host,
        hosts: Vec::new(),
        limits: SandboxLimits::default(),
        terminal: true,
        backend: SandboxBackend::default(),
    })
}

fn forget(place: &WorkLocation, agent: &AgentConfig, kept: &Path) -> Result<CliExit, CliError> {
    // The login itself goes first: an agent can make a folder beside it hard to delete.
    if let Some(AgentLogin { folder: Some(folder), file: Some(file), .. }) = agent.login()
        && login_is_unled(&kept.join(&folder), &folder)
    {
        let _may_not_be_there = std::fs::remove_file(kept.join(file));
    }
    match std::fs::remove_dir_all(kept) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unusable(kept, &error)),
        Ok(()) | Err(_) => tell_done(place, agent, false),
    }
}

fn tell_done(
    place: &WorkLocation,
    agent: &AgentConfig,
    signed_in: bool,
) -> Result<CliExit, CliError> {
    let name = agent.name.as_str();
    match (place.json(), signed_in) {
        (true, _) => {
            out::document(&json!({ "agent": name, "signed_in": signed_in }).to_string())?;
        }
        (false, true) => {
            out::prose(&format!("Agent {name} is signed in. Only its own runs see this login."))?;
        }
        (false, false) => out::prose(&format!("The login of agent {name} is deleted."))?,
    }
    Ok(CliExit::Completed)
}
