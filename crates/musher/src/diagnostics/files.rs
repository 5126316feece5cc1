//! What the project's branch has of the files that agents' programs would execute, and whether that is trusted.

use std::path::{Path, PathBuf};

use musher_runtime::{ProjectFile, Snapshot};

use super::diagnostic::Diagnostic;
use super::executed::{executed_files, obeyed_files};
use crate::config::ProjectConfig;
use crate::config::trust::AcceptedFiles;
use crate::runtimes;
use musher_git::{Branch, Commit, Git, GitError};

/// The files that the programs of a project's agents would execute, as a commit has them. What is copied into a worktree
/// comes from the checkout.
pub(crate) async fn executed(
    git: &Git,
    commit: &Commit,
    files: &[ProjectFile],
    copied: &[PathBuf],
) -> Result<Snapshot, GitError> {
    let mut snapshot = executed_files(git, commit, files).await?;
    if !files.is_empty() && !copied.is_empty() {
        let (root, copied) = (git.root().to_owned(), copied.to_vec());
        let files = files.to_vec();
        let looked = tokio::task::spawn_blocking(move || Snapshot::of_folder(&root, &files));
        // A checkout that cannot be read has nothing to be copied from.
        if let Ok(Ok(checkout)) = looked.await {
            snapshot.overlay(&checkout, |path| {
                copied.iter().any(|copied| Path::new(path).starts_with(copied))
            });
        }
    }
    Ok(snapshot)
}

/// The same for the branch that stories start from; a repository without a commit has nothing.
pub(crate) async fn executed_in_base(
    git: &Git,
    project: &ProjectConfig,
) -> Result<Snapshot, GitError> {
    match base(git, project).await? {
        Some(commit) => {
            let files = runtimes::project_files(&project.runtimes);
            executed(git, &commit, &files, &project.worktree.copy).await
        }
        None => Ok(Snapshot::default()),
    }
}

/// The files that agents' programs take for instructions, as that branch has them.
pub(crate) async fn obeyed_in_base(
    git: &Git,
    project: &ProjectConfig,
) -> Result<Vec<String>, GitError> {
    match base(git, project).await? {
        Some(commit) => {
            obeyed_files(git, &commit, &runtimes::project_files(&project.runtimes)).await
        }
        None => Ok(Vec::new()),
    }
}

async fn base(git: &Git, project: &ProjectConfig) -> Result<Option<Commit>, GitError> {
    let named = project.base_branch.clone().and_then(|name| Branch::new(name).ok());
    let branch = match named {
        Some(branch) => branch,
        None => git.default_branch().await?,
    };
    git.tip(&branch).await
}

/// Whether what would be executed is trusted.
pub(super) async fn diagnose(git: &Git, state: &Path, project: &ProjectConfig) -> Diagnostic {
    let name = "project files";
    let fix = "read them, then run `musher trust`";
    let now = match executed_in_base(git, project).await {
        Ok(now) => now,
        Err(error) => return Diagnostic::bad(name, error.to_string(), "repair the repository"),
    };
    let names: Vec<&str> = now.files().map(|(path, _)| path).collect();
    let names = names.join(", ");
    if now.is_empty() {
        return Diagnostic::ok(
            name,
            "the project's branch has none that an agent's program would run",
        );
    }
    if let Some((path, what)) = now.odd().next() {
        let says = format!("{names} are left out by agents' programs, because {path} is {what}");
        return Diagnostic::warn(name, says, "put plain files there, and run `musher trust`");
    }
    match AcceptedFiles::read(state) {
        Ok(accepted) if accepted.covers(&now) => Diagnostic::ok(
            name,
            format!("agents' programs run what these name, as was agreed: {names}"),
        ),
        Ok(_) => {
            let says =
                format!("agents' programs leave these out, for nobody has agreed to them: {names}");
            Diagnostic::warn(name, says, fix)
        }
        Err(error) => Diagnostic::bad(name, error.to_string(), fix),
    }
}
