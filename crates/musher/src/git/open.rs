//! Opens a repository, and says clearly why one cannot be used.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::call::Call;
use super::config;
use super::env::GitEnv;
use super::error::GitError;
use super::shadow::SHADOW_PREFIX;
use super::{Git, Inner};

/// The first git that merges without a checkout (`merge-tree --write-tree`).
const OLDEST: (u32, u32) = (2, 38);

impl Git {
    /// Opens the repository around a folder. `scratch` is a private folder for short-lived files.
    pub async fn open(path: &Path, env: GitEnv, scratch: &Path) -> Result<Self, GitError> {
        let program = env.program()?;
        let given = || GitError::NoSuchFolder { path: path.to_owned() };
        let path = path.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(given)?;
        check_version(Call::new(&program, &env, &path)).await?;
        let ask = |question: &'static [&'static str]| {
            let call = Call::new(&program, &env, &path).arg("rev-parse").args(question);
            async { call.run().await.map_err(|error| refused(error, &path)) }
        };
        if ask(&["--is-bare-repository"]).await?.stdout.trim_ascii() == b"true" {
            return Err(GitError::Bare { path });
        }
        let root = folder(ask(&["--show-toplevel"]).await?.stdout);
        let git_dir = folder(ask(&["--absolute-git-dir"]).await?.stdout);
        let common = folder(ask(&["--path-format=absolute", "--git-common-dir"]).await?.stdout);
        let mut inner = Inner {
            program,
            env,
            root,
            git_dir,
            common,
            scratch: scratch.to_owned(),
            settings: Vec::new(),
            registry: Semaphore::new(1),
            merging: Semaphore::new(1),
        };
        let call =
            Call::new(&inner.program, &inner.env, &inner.root).env("GIT_DIR", &inner.git_dir);
        inner.settings = config::of_repository(call).await?;
        let git = Self { inner: Arc::new(inner) };
        if git.branches().await?.is_empty() && git.head(&git.main()).await?.commit().is_none() {
            return Err(GitError::Empty { path: git.inner.root.clone() });
        }
        Ok(git)
    }

    /// Makes a repository of a folder, with everything in it as the first commit on `main`.
    pub async fn init(path: &Path, env: &GitEnv, message: &str) -> Result<(), GitError> {
        let program = env.program()?;
        let call = |args: &[&str]| {
            Call::new(&program, env, path)
                .setting("user.name=Musher")
                .setting("user.email=musher@localhost")
                .setting("commit.gpgsign=false")
                .setting("core.hooksPath=/dev/null")
                .args(args)
        };
        call(&["init", "-q", "-b", "main"]).run().await?;
        call(&["add", "-A"]).run().await?;
        call(&["commit", "-q", "-m", message]).run().await?;
        Ok(())
    }

    /// Removes what a death left in the private folder. The caller knows that nobody else uses it now.
    pub fn clear_scratch(&self) -> Result<(), GitError> {
        let scratch = &self.inner.scratch;
        for entry in std::fs::read_dir(scratch).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with(SHADOW_PREFIX) {
                std::fs::remove_dir_all(&path).map_err(GitError::io(path))?;
            }
        }
        Ok(())
    }

    /// Refuses a repository that cannot be written to, before work is begun that would be lost.
    pub fn check_writable(&self) -> Result<(), GitError> {
        let Inner { common, scratch, .. } = &*self.inner;
        std::fs::create_dir_all(scratch).map_err(unwritable(scratch))?;
        for folder in [common, scratch] {
            tempfile::Builder::new()
                .prefix("musher-probe-")
                .tempfile_in(folder)
                .map_err(unwritable(folder))?;
        }
        Ok(())
    }
}

fn unwritable(path: &Path) -> impl FnOnce(std::io::Error) -> GitError {
    move |error| GitError::ReadOnly { path: path.to_owned(), why: error.to_string() }
}

async fn check_version(call: Call) -> Result<(), GitError> {
    let said = call.arg("version").line().await?;
    match version(&said) {
        Some(found) if found >= OLDEST => Ok(()),
        Some((major, minor)) => Err(GitError::TooOld { found: format!("{major}.{minor}") }),
        None => Err(GitError::TooOld { found: said }),
    }
}

fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Says in our words why git does not take a folder.
fn refused(error: GitError, path: &Path) -> GitError {
    let path = path.to_owned();
    if let GitError::Failed { said, .. } = &error {
        if said.contains("not a git repository") {
            return GitError::NotARepository { path };
        }
        if said.contains("dubious ownership") {
            return GitError::NotOurs { path };
        }
        if said.contains("must be run in a work tree") {
            return GitError::Bare { path };
        }
    }
    error
}

/// A path that git printed on a line of its own.
fn folder(mut line: Vec<u8>) -> PathBuf {
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    PathBuf::from(OsString::from_vec(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_git_says() {
        assert_eq!(version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version("git version 2.38.1.windows.1"), Some((2, 38)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("got version 3"), None);
    }
}
