//! The project: its repository, its file, and whether the file is trusted.

use super::DiagnosticContext;
use super::diagnostic::Diagnostic;
use super::{files, rules};
use crate::config::local::LocalFile;
use crate::config::trust::{self, TrustState};
use crate::config::{self, ConfigErrors, PROJECT_FILE, ProjectConfig};
use crate::runtimes;
use musher_git::{Branch, Git, GitError};

/// Looks at the project, and gives it if it can be used.
pub(super) async fn diagnose(site: &DiagnosticContext) -> (Option<ProjectConfig>, Vec<Diagnostic>) {
    let repo = match &site.repo {
        Ok(repo) => repo,
        Err(trouble) => return (None, vec![Diagnostic::bad("git", &trouble.says, &trouble.fix)]),
    };
    // It is looked into while the project is looked at.
    let scratch = match tempfile::tempdir() {
        Ok(scratch) => scratch,
        Err(error) => {
            let fix = "make the temporary folder writable";
            return (None, vec![Diagnostic::bad("git", error.to_string(), fix)]);
        }
    };
    let opened = Git::open(repo, site.git_env.clone(), scratch.path()).await;
    let mut diagnostics = git(&opened, repo).await;
    if !repo.join(PROJECT_FILE).exists() {
        let says = format!("there is no {PROJECT_FILE}");
        diagnostics.push(Diagnostic::warn("project file", says, "make one with `musher init`"));
        return (None, diagnostics);
    }
    match config::load(repo, runtimes::built()) {
        Ok(project) => {
            diagnostics.push(Diagnostic::ok("project file", team(&project)));
            diagnostics.push(trusted(site, &project));
            if let (Ok(git), Ok(state)) = (&opened, &site.state) {
                diagnostics.push(files::diagnose(git, state, &project).await);
            }
            diagnostics.extend(local(site));
            diagnostics.extend(rules::diagnose(repo, site.state.as_deref().ok(), &project));
            (Some(project), diagnostics)
        }
        Err(errors) => {
            diagnostics.push(wrong("project file", &errors));
            (None, diagnostics)
        }
    }
}

async fn look(git: &Git) -> Result<(Branch, Vec<String>), GitError> {
    Ok((git.default_branch().await?, git.filters_left_out().await?))
}

async fn git(opened: &Result<Git, GitError>, repo: &std::path::Path) -> Vec<Diagnostic> {
    let looked = match opened {
        Ok(git) => look(git).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match looked {
        Ok((branch, filters)) => {
            let found = format!("{}, default branch {branch}", repo.display());
            let mut diagnostics = vec![Diagnostic::ok("git", found)];
            if !filters.is_empty() {
                let says = format!(
                    "filters that stand only in the repository's settings are not run: {}",
                    filters.join(", ")
                );
                let fix = "an agent can write those settings; set them with `git config --global`";
                diagnostics.push(Diagnostic::warn("git filters", says, fix));
            }
            diagnostics
        }
        // What git says about a repository names its own fix.
        Err(says) => {
            let (says, fix) = says.rsplit_once("; ").unwrap_or((&says, "repair the repository"));
            vec![Diagnostic::bad("git", says, fix)]
        }
    }
}

fn team(project: &ProjectConfig) -> String {
    let names: Vec<&str> = project.agents.iter().map(|agent| agent.name.as_str()).collect();
    format!("no mistake in {PROJECT_FILE}; the team is {}", names.join(", "))
}

/// What was granted and capped while working, if there is such a file.
fn local(site: &DiagnosticContext) -> Option<Diagnostic> {
    let file = LocalFile::new(site.state.as_ref().ok()?);
    let name = "local.toml";
    match file.read() {
        Err(errors) => Some(wrong(name, &errors)),
        Ok(_) if !file.path().exists() => None,
        Ok(local) => {
            let cap = local.caps.day_usd.map(|cap| format!(", a cap of {cap} a day"));
            let says = format!("{} grants{}", local.grants.len(), cap.unwrap_or_default());
            Some(Diagnostic::ok(name, says))
        }
    }
}

fn wrong(name: &'static str, errors: &ConfigErrors) -> Diagnostic {
    let first = errors.problems.first();
    let at = first.and_then(|problem| problem.place.as_ref());
    let at = at.map(|place| format!("{}:{}: ", place.line, place.column)).unwrap_or_default();
    let file = first.map(|problem| problem.file.display().to_string()).unwrap_or_default();
    let message = first.map(|problem| problem.message.as_str()).unwrap_or_default();
    let says = match errors.problems.len() + errors.more {
        0 | 1 => format!("{file}:{at}{message}"),
        all => format!("{file}:{at}{message} (and {} more)", all - 1),
    };
    let fix = first.and_then(|problem| problem.fix.clone());
    Diagnostic::bad(name, says, fix.unwrap_or_else(|| "correct the file".into()))
}

fn trusted(site: &DiagnosticContext, project: &ProjectConfig) -> Diagnostic {
    let name = "trust";
    let fix = "read the file, then run `musher trust`";
    let state = match &site.state {
        Ok(state) => state,
        Err(trouble) => return Diagnostic::bad(name, &trouble.says, fix),
    };
    match trust::trusted(state, project) {
        Ok(TrustState::Trusted) => {
            Diagnostic::ok(name, "what the project file may do was agreed to")
        }
        Ok(TrustState::New) => {
            Diagnostic::bad(name, "nobody has agreed to what the project file may do", fix)
        }
        Ok(TrustState::Changed { diff }) => Diagnostic::bad(
            name,
            format!("what the project file may do has changed in {} points", diff.len()),
            fix,
        ),
        Err(error) => Diagnostic::bad(name, error.to_string(), fix),
    }
}
