//! Opens a repository, and says clearly why one cannot be used.
//!
//! Git is not asked where the repository is: it would read the settings in it, and whatever those include.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use musher_os::untrusted;
use tokio::sync::Semaphore;

use super::call::Call;
use super::config::{self, Setting};
use super::env::GitEnv;
use super::error::GitError;
use super::shadow::SHADOW_PREFIX;
use super::standin::{self, DiskTraits, StandIn};
use super::{Git, Inner};

/// The first git that merges without a checkout (`merge-tree --write-tree`).
const OLDEST: (u32, u32) = (2, 38);
/// The first git that can be told whose attributes count, whatever lies in the folder.
const OLDEST_FOR_QUEUE: (u32, u32) = (2, 41);
/// No file of settings is longer, and none that holds one path.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;
const MAX_PATH_FILE_BYTES: u64 = 16 << 10;
/// How long git may take to say whether it takes a folder of somebody else's.
const OWNERSHIP_CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the parts of a repository are.
struct Found {
    root: PathBuf,
    git_dir: PathBuf,
    common: PathBuf,
}

impl Git {
    /// Opens the repository around a folder. `scratch` is a private folder for short-lived files.
    pub async fn open(path: &Path, env: GitEnv, scratch: &Path) -> Result<Self, GitError> {
        let program = env.program()?;
        let given = || GitError::NoSuchFolder { path: path.to_owned() };
        let path = path.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(given)?;
        let version = check_version(Call::new(&program, &env, Path::new("/"))).await?;
        let Found { root, git_dir, common } = find(&path)?;
        if ![&root, &git_dir, &common].into_iter().all(|place| is_ours(place)) {
            let ask = Call::new(&program, &env, &path).args(["rev-parse", "--git-dir"]);
            ask.limit(OWNERSHIP_CHECK_TIMEOUT)
                .run()
                .await
                .map_err(|error| refused(error, &path))?;
        }
        let stand_in = StandIn::make(scratch).map_err(unwritable(scratch))?;
        let mut inner = Inner {
            disk: DiskTraits::of(&common),
            program,
            version,
            env,
            root,
            git_dir,
            common,
            scratch: scratch.to_owned(),
            settings: Vec::new(),
            stand_in,
            ends: tokio::sync::Mutex::new(None),
            registry: Semaphore::new(1),
            merging: Semaphore::new(1),
        };
        inner.settings = inner.read_settings().await?;
        if inner.settings.iter().any(|setting| setting.says(b"core.bare", b"true"))
            && inner.git_dir == inner.common
        {
            return Err(GitError::Bare { path: inner.root });
        }
        inner.stand_in.set(inner.disk, &inner.common, &inner.settings)?;
        let git = Self { inner: Arc::new(inner) };
        git.refresh_ends().await?;
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

    /// The filters that stand in the repository's own settings alone. They are not used: an agent can write them.
    pub async fn filters_left_out(&self) -> Result<Vec<String>, GitError> {
        let list = ["config", "--list", "-z"];
        let own = config::parse(&self.plain(&self.main()).args(list).run().await?.stdout)?;
        let own: Vec<&[u8]> = own.iter().filter_map(Setting::of_filter).collect();
        let named = self.inner.settings.iter().filter_map(Setting::of_filter);
        let named = named.filter(|name| !own.contains(name));
        let mut names: Vec<String> =
            named.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Removes what a death left in the private folder. The caller knows that nobody else uses it now.
    pub fn clear_scratch(&self) -> Result<(), GitError> {
        let Inner { scratch, stand_in, .. } = &*self.inner;
        for entry in fs::read_dir(scratch).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let left = [SHADOW_PREFIX, standin::PREFIX];
            let left = left.iter().any(|start| name.to_string_lossy().starts_with(start));
            if left && path != stand_in.path() {
                fs::remove_dir_all(&path).map_err(GitError::io(path))?;
            }
        }
        Ok(())
    }

    /// Refuses a repository in which the merge queue cannot work: without all of its history a merge may take a wrong
    /// start and still be clean.
    pub async fn check_queue(&self) -> Result<(), GitError> {
        let Inner { version: (major, minor), root, stand_in, settings, .. } = &*self.inner;
        if (*major, *minor) < OLDEST_FOR_QUEUE {
            return Err(GitError::TooOldForQueue { found: format!("{major}.{minor}") });
        }
        if settings.iter().any(Setting::is_partial_clone) {
            return Err(GitError::PartialClone { path: root.clone() });
        }
        self.refresh_ends().await?;
        match stand_in.path().join("shallow").exists() {
            true => Err(GitError::Shallow { path: root.clone() }),
            false => Ok(()),
        }
    }

    /// Refuses a repository that cannot be written to, before work is begun that would be lost.
    pub fn check_writable(&self) -> Result<(), GitError> {
        let Inner { common, scratch, .. } = &*self.inner;
        fs::create_dir_all(scratch).map_err(unwritable(scratch))?;
        for folder in [common, scratch] {
            tempfile::Builder::new()
                .prefix("musher-probe-")
                .tempfile_in(folder)
                .map_err(unwritable(folder))?;
        }
        Ok(())
    }
}

impl Inner {
    /// The settings that stand in the repository's own files.
    async fn read_settings(&self) -> Result<Vec<Setting>, GitError> {
        let mut settings = Vec::new();
        for file in [self.common.join("config"), self.git_dir.join("config.worktree")] {
            let Some(text) = untrusted::read_if_there(&file, MAX_SETTINGS_BYTES)? else {
                continue;
            };
            let call = Call::new(&self.program, &self.env, self.stand_in.path())
                .env("GIT_DIR", self.stand_in.path());
            settings.extend(config::of_file(call, text).await?);
        }
        Ok(settings)
    }
}

/// Finds the repository around a folder, as git does.
fn find(path: &Path) -> Result<Found, GitError> {
    for root in path.ancestors() {
        let own = root.join(".git");
        let (root, git_dir) = match fs::metadata(&own) {
            Ok(about) if about.is_dir() => (root.to_owned(), own),
            Ok(_) => {
                let named = untrusted::read(&own, MAX_PATH_FILE_BYTES)?;
                let place = named
                    .strip_prefix(b"gitdir: ")
                    .ok_or_else(|| GitError::NotARepository { path: root.to_owned() })?;
                (root.to_owned(), root.join(line(place)))
            }
            Err(_) if is_bare(root) => return Err(GitError::Bare { path: root.to_owned() }),
            Err(_) => continue,
        };
        let git_dir = git_dir.canonicalize().map_err(GitError::io(&git_dir))?;
        let common =
            match untrusted::read_if_there(&git_dir.join("commondir"), MAX_PATH_FILE_BYTES)? {
                Some(named) => git_dir.join(line(&named)),
                None => git_dir.clone(),
            };
        let common = common.canonicalize().map_err(GitError::io(&common))?;
        // Without these git would look further up.
        if common.join("objects").is_dir() {
            return Ok(Found { root, git_dir, common });
        }
    }
    Err(GitError::NotARepository { path: path.to_owned() })
}

/// Whether a folder is a repository without files.
fn is_bare(folder: &Path) -> bool {
    let all = ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).exists());
    all && folder.join("objects").is_dir()
}

/// A path that stands on a line of its own.
fn line(text: &[u8]) -> &Path {
    let end = text.iter().position(|b| *b == b'\n').unwrap_or(text.len());
    Path::new(std::ffi::OsStr::from_bytes(&text[..end]))
}

/// Whether a place belongs to this user. Git asks nobody about those.
fn is_ours(place: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(place).is_ok_and(|about| about.uid() == own)
}

fn unwritable(path: &Path) -> impl FnOnce(std::io::Error) -> GitError {
    move |error| GitError::ReadOnly { path: path.to_owned(), why: error.to_string() }
}

async fn check_version(call: Call) -> Result<(u32, u32), GitError> {
    let said = call.arg("version").line().await?;
    match version(&said) {
        Some(found) if found >= OLDEST => Ok(found),
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
