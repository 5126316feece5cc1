//! `musher init`: writes the first project file of a repository.

use std::io::Write;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::place::{PlaceArgs, WorkLocation};
use super::{CliError, CliExit, out};
use crate::config::init::{Detected, Means, detect, draft};
use crate::config::{self, AgentConfig, PROJECT_FILE, ProjectConfig, SandboxProfile, trust};
use crate::diagnostics::{usual_key, version_of};
use crate::home::Home;
use crate::runtimes;
use crate::supervisor::git_env;
use musher_git::Git;
use musher_sandbox::probe;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

impl InitArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let (repo, state) = (place.repo()?, place.state()?);
        let path = repo.join(PROJECT_FILE);
        if path.symlink_metadata().is_ok() {
            return Err(already_there(&path));
        }
        let found = agents(&place);
        let branch = default_branch(&place, &repo).await;
        let home = Home::open(&state, &repo)?;
        let confined = profile(&home).await?;
        write(&path, &draft(&found, branch.as_deref(), confined))?;
        // What we wrote ourselves needs nobody's consent.
        let project = config::load(&repo, runtimes::built())?;
        trust::grant(home.path(), &project)?;
        match place.json() {
            true => out::document(&document(&path, &found, confined))?,
            false => out::prose(&text(&path, &found, confined, &logins(&project, &place)))?,
        }
        Ok(CliExit::Completed)
    }
}

/// How far agents are confined on this machine: as far as goes without asking anybody, if it can be done at all.
async fn profile(home: &Home) -> Result<SandboxProfile, CliError> {
    let scratch = home.scratch()?;
    let tried = tokio::task::spawn_blocking(move || {
        let scratch = tempfile::tempdir_in(scratch)?;
        Ok::<_, std::io::Error>(probe(&std::env::current_exe()?, scratch.path()))
    });
    let tried = tried.await.map_err(std::io::Error::other).and_then(|tried| tried);
    let can = tried.is_ok_and(|tried| tried.bubblewrap.is_ok());
    Ok(if can { SandboxProfile::Workspace } else { SandboxProfile::Off })
}

/// The agents that a person has to sign in before they can work: their sandboxes have logins of their own.
fn logins(project: &ProjectConfig, place: &WorkLocation) -> Vec<String> {
    let confined =
        project.agents.iter().filter(|agent| agent.sandbox.profile != SandboxProfile::Off);
    let needs = |agent: &&AgentConfig| {
        agent.login().is_some_and(|login| login.folder.is_some())
            && agent.login_key(&place.environment).is_none()
    };
    confined.filter(needs).map(|agent| agent.name.to_string()).collect()
}

fn already_there(path: &Path) -> CliError {
    CliError::hinted(
        format!("{} is already there, and is left as it is", path.display()),
        "edit it; `musher doctor` says whether it is right",
    )
}

/// What on this machine can play an agent.
fn agents(place: &WorkLocation) -> Vec<Detected> {
    let path = place.environment.get("PATH").unwrap_or_default();
    let mut found = detect(path, runtimes::programs());
    for agent in &mut found {
        if let Means::Program { path, version } = &mut agent.means {
            *version = version_of(path);
        }
    }
    // Whoever has set a key for a model can use it without any program.
    for (runtime, service) in runtimes::MODELS {
        let key = usual_key(service, &place.environment);
        found.extend(key.map(|variable| Detected {
            runtime: (*runtime).to_owned(),
            means: Means::Key { variable: variable.to_owned() },
        }));
    }
    found
}

/// The branch that stories start from, if git can tell.
async fn default_branch(place: &WorkLocation, repo: &Path) -> Option<String> {
    let scratch = tempfile::tempdir().ok()?;
    let git = Git::open(repo, git_env(&place.environment), scratch.path()).await.ok()?;
    Some(git.default_branch().await.ok()?.to_string())
}

/// Puts the file there whole, and never over another.
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: std::io::Error| {
        CliError::hinted(
            format!("{} cannot be written: {error}", path.display()),
            "see that the repository can be written to",
        )
    };
    let folder = path.parent().unwrap_or(path);
    if folder.is_symlink() {
        let message = format!("{} is a link, which could lead anywhere", folder.display());
        return Err(CliError::hinted(message, "replace it with a folder"));
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    // A project file is for everybody who has the repository.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode).map_err(failed)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(already_there(path))
        }
        Err(error) => Err(failed(error.error)),
    }
}

fn document(path: &Path, found: &[Detected], confined: SandboxProfile) -> String {
    let agent = |agent: &Detected| match &agent.means {
        Means::Program { path, version } => {
            json!({ "runtime": agent.runtime, "program": path, "version": version })
        }
        Means::Key { variable } => json!({ "runtime": agent.runtime, "key": variable }),
        Means::Nothing => json!({ "runtime": agent.runtime }),
    };
    let found: Vec<_> = found.iter().map(agent).collect();
    json!({ "project": path, "found": found, "sandbox": confined.name() }).to_string()
}

fn text(path: &Path, found: &[Detected], confined: SandboxProfile, logins: &[String]) -> String {
    let mut text = format!("{} is written and trusted.", path.display());
    if found.is_empty() {
        text += "\n  No program that can play an agent was found on PATH, so the one agent plays a script.";
    }
    for agent in found {
        text += &match &agent.means {
            Means::Program { path, version } => {
                let version = version.as_deref().unwrap_or("version unknown");
                format!("\n  found {} ({version}) at {}", agent.runtime, path.display())
            }
            Means::Key { variable } => {
                format!("\n  found {}, whose key is in {variable}", agent.runtime)
            }
            Means::Nothing => String::new(),
        };
    }
    text += match confined {
        SandboxProfile::Off => {
            "\n  Agents have your own rights: this machine cannot confine them (`musher doctor` says why)."
        }
        SandboxProfile::Landlock | SandboxProfile::Workspace | SandboxProfile::Strict => {
            "\n  Agents are confined: each sees its worktree, a home of its own and the programs of this machine."
        }
    };
    text += "\nLook at the file and commit it. Next:";
    for agent in logins {
        text += &format!("\n  musher login {agent}");
    }
    text + "\n  musher serve\n  musher story add \"What you want\""
}
