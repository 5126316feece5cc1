//! The state directory of one project: where it is, what is in it, and who may use it.

mod binary;
mod notices;
mod place;
mod token;
mod tokens;

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use musher_core::{AgentName, RunId};
use musher_os::untrusted;
use rustix::fs::{FlockOperation, Mode, flock};
use serde::{Deserialize, Serialize};

pub(crate) use binary::build_of;
pub use notices::Notice;
pub(crate) use notices::{acknowledge, notices, notices_file};
pub(crate) use place::network_file_system;
pub use place::{default_for, repository_around};
pub use token::AccessToken;
pub use tokens::{HeldToken, Shown, TokenAccess, TokenStore, TokensError};

/// No announcement is longer.
const MAX_SERVER_FILE_BYTES: u64 = 64 << 10;
/// Where the port of the project is remembered, and how long that file is at most.
const PORT: &str = "port";
const MAX_PORT_FILE_BYTES: u64 = 64;
/// How long the lock of a server that was killed may outlive it.
const HOME_LOCK_RELEASE_TIMEOUT: Duration = Duration::from_millis(500);

/// A state directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("the state directory {path} cannot be used: {source}")]
    Unusable { path: PathBuf, source: io::Error },
    #[error("the state directory {path} is on {kind}, where locks and syncs cannot be relied on")]
    NetworkFileSystem { path: PathBuf, kind: &'static str },
    #[error("the state directory {path} is inside the repository {repo}")]
    InsideRepository { path: PathBuf, repo: PathBuf },
    #[error("another server uses the state directory {path}{}", at(url))]
    InUse { path: PathBuf, url: Option<String> },
    #[error("{path} is not in a git repository")]
    NoRepository { path: PathBuf },
    #[error("{path} is a bare repository, in which nobody can work")]
    BareRepository { path: PathBuf },
    #[error("neither XDG_STATE_HOME nor HOME is set, so there is no place for the state")]
    NoPlace,
}

fn at(url: &Option<String>) -> String {
    url.as_ref().map(|url| format!(": {url}")).unwrap_or_default()
}

impl HomeError {
    /// What the person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unusable { .. } => "make it writable, or name another with --state DIR",
            Self::NetworkFileSystem { .. } => "name a directory on a local disk with --state DIR",
            Self::InsideRepository { .. } => "name a directory outside of it with --state DIR",
            Self::InUse { .. } => "use that server, or end it first",
            Self::NoRepository { .. } => {
                "go to one, name one with -C DIR, or make one with `git init`"
            }
            Self::BareRepository { .. } => "clone it, and name the clone with -C DIR",
            Self::NoPlace => "set HOME, or name a directory with --state DIR",
        }
    }
}

/// How to find the server that runs here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    pub url: String,
    pub pid: u32,
}

/// The state directory.
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Opens the directory and makes what is missing. Nobody else can look into it.
    pub fn open(path: &Path, repo: &Path) -> Result<Self, HomeError> {
        let unusable = |source| HomeError::Unusable { path: path.to_owned(), source };
        // Nothing is made in a place that cannot be used.
        let (there, path_then) = place::resolved(path).map_err(unusable)?;
        if path_then.starts_with(repo) {
            return Err(HomeError::InsideRepository { path: path_then, repo: repo.to_owned() });
        }
        if let Some(kind) = network_file_system(&there) {
            return Err(HomeError::NetworkFileSystem { path: path_then, kind });
        }
        make_private(path).map_err(unusable)?;
        let path = path.canonicalize().map_err(unusable)?;
        let home = Self { path };
        for folder in [home.runs(), home.worktrees()] {
            let unusable = |source| HomeError::Unusable { path: folder.clone(), source };
            make_private(&folder).map_err(unusable)?;
        }
        Ok(home)
    }

    /// The directory as it is, without making anything; `None` when there is none.
    pub fn existing(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok().filter(|path| path.is_dir())?;
        Some(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.db")
    }

    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    pub fn run(&self, run: RunId) -> PathBuf {
        self.runs().join(run.to_string())
    }

    /// What sandboxes are made of, a folder for each slot.
    pub fn sandboxes(&self) -> PathBuf {
        self.path.join("sandboxes")
    }

    pub fn worktrees(&self) -> PathBuf {
        self.path.join("worktrees")
    }

    /// A folder for files that live for a moment.
    pub fn scratch(&self) -> Result<PathBuf, HomeError> {
        let path = self.path.join("scratch");
        make_private(&path).map_err(|source| HomeError::Unusable { path: path.clone(), source })?;
        Ok(path)
    }

    /// The home in which an agent was signed in; of it only the folder of the login is shown to its runs.
    pub fn login(&self, agent: &AgentName) -> PathBuf {
        login_home(&self.path, agent)
    }

    /// Makes the folder of a run.
    pub fn make_run(&self, run: RunId) -> io::Result<PathBuf> {
        let folder = self.run(run);
        make_private(&folder)?;
        // What is synced inside of it can be found only if its name is on the disk too.
        untrusted::sync_folder(&self.runs())?;
        Ok(folder)
    }

    /// The token that every request needs; the first call makes it.
    pub fn token(&self) -> Result<AccessToken, HomeError> {
        let path = self.path.join("token");
        AccessToken::keep(&path).map_err(|source| HomeError::Unusable { path, source })
    }

    /// Keeps what a person must be told, for `doctor` and the API, and gives what was not told before.
    pub fn tell(&self, at: i64, texts: &[String]) -> Result<Vec<String>, HomeError> {
        let unusable = |source| HomeError::Unusable { path: notices_file(&self.path), source };
        notices::add(&self.path, at, texts).map_err(unusable)
    }

    /// The copy of this program that runners start from; replacing the installed one breaks no run.
    pub fn binary(&self, program: &Path) -> Result<PathBuf, HomeError> {
        let path = self.path.join("bin");
        binary::keep(program, &path).map_err(|source| HomeError::Unusable { path, source })
    }

    /// Takes the directory for one server.
    pub fn lock(&self) -> Result<HomeLock, HomeError> {
        let path = self.path.join("lock");
        let unusable = |source| HomeError::Unusable { path: path.clone(), source };
        let file = untrusted::open_or_make(&path, Mode::from_raw_mode(0o666));
        let file = file.map_err(|unfit| unusable(unfit.into_io()))?;
        let began = Instant::now();
        let locked = loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // What a server that was killed had just forked may hold its lock for a moment longer.
                Err(rustix::io::Errno::WOULDBLOCK)
                    if began.elapsed() < HOME_LOCK_RELEASE_TIMEOUT =>
                {
                    std::thread::sleep(HOME_LOCK_RELEASE_TIMEOUT / 20);
                }
                locked => break locked,
            }
        };
        match locked {
            Ok(()) => Ok(HomeLock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let url = self.server_file().map(|server| server.url);
                Err(HomeError::InUse { path: self.path.clone(), url })
            }
            Err(error) => Err(unusable(error.into())),
        }
    }

    /// The server that runs here now.
    pub fn server(&self) -> Option<ServerFile> {
        // A file that a dead server left says nothing; the lock does.
        let lock = untrusted::open(&self.path.join("lock")).ok()?;
        match flock(&lock, FlockOperation::NonBlockingLockShared) {
            Ok(()) => None,
            Err(_) => self.server_file(),
        }
    }

    fn server_file(&self) -> Option<ServerFile> {
        let text = untrusted::read(&self.path.join("server.json"), MAX_SERVER_FILE_BYTES).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Tells others where the server listens.
    pub fn announce(&self, server: &ServerFile) -> Result<(), HomeError> {
        let path = self.path.join("server.json");
        let text = serde_json::to_vec(server).unwrap_or_default();
        write_whole(&path, &text).map_err(|source| HomeError::Unusable { path, source })
    }

    /// The port on which the server of this project listened last, in the file `port`.
    pub fn port(&self) -> Option<u16> {
        let text = untrusted::read(&self.path.join(PORT), MAX_PORT_FILE_BYTES).ok()?;
        String::from_utf8(text).ok()?.trim().parse().ok().filter(|port| *port > 0)
    }

    /// Remembers a port, so that the next server listens where browsers look for this project.
    pub fn remember_port(&self, port: u16) -> Result<(), HomeError> {
        if self.port() == Some(port) {
            return Ok(());
        }
        let path = self.path.join(PORT);
        let text = format!("{port}\n");
        write_whole(&path, text.as_bytes()).map_err(|source| HomeError::Unusable { path, source })
    }

    /// Takes the announcement back.
    pub fn retract(&self) {
        if let Err(error) = std::fs::remove_file(self.path.join("server.json")) {
            tracing::debug!(cause = %error, "server.json is gone already");
        }
    }
}

/// Held by the one server of a state directory; the kernel lets go of it when the server dies.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
}

/// Writes a private file: after a crash all of it is there, or what was there before.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    untrusted::sync_folder(folder)
}

/// Makes a folder that only its owner can enter.
fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether no part of the way to the folder of a login is a link: agents write in there. `folder` is the end of the path.
pub fn login_is_unled(kept: &Path, folder: &Path) -> bool {
    let parts = folder.components().count() + 1;
    kept.ancestors()
        .take(parts)
        .all(|path| matches!(untrusted::kind(path), Ok(Some(untrusted::Kind::Folder))))
}

/// Where the login of an agent is in a state directory.
pub fn login_home(state: &Path, agent: &AgentName) -> PathBuf {
    state.join("logins").join(agent.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(folder: &Path) -> Home {
        Home::open(&folder.join("state"), Path::new("/no/repository")).unwrap()
    }

    #[test]
    fn one_server_at_a_time_uses_a_state_directory_and_the_next_is_told_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let lock = home.lock().unwrap();
        let server = ServerFile { url: "http://127.0.0.1:1".into(), pid: 1 };
        home.announce(&server).unwrap();
        assert_eq!(home.server(), Some(server));
        let refused = home.lock().unwrap_err().to_string();
        assert!(refused.contains("http://127.0.0.1:1"), "{refused}");
        drop(lock);
        assert_eq!(home.server(), None, "a dead server's announcement says nothing");
        home.lock().unwrap();
    }

    #[test]
    fn the_state_is_never_kept_inside_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().canonicalize().unwrap();
        let refused = Home::open(&repo.join("state"), &repo).unwrap_err();
        assert!(matches!(refused, HomeError::InsideRepository { .. }), "{refused}");
        assert!(!repo.join("state").exists(), "nothing is made where it may not be");
        std::os::unix::fs::symlink(&repo, repo.join("link")).unwrap();
        let refused = Home::open(&repo.join("link/deep/state"), &repo).unwrap_err();
        assert!(matches!(refused, HomeError::InsideRepository { .. }), "{refused}");
    }

    #[test]
    fn the_token_is_made_once_and_only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let token = home.token().unwrap();
        assert_eq!(token.as_str().len(), 64);
        assert_eq!(home.token().unwrap(), token);
        let mode = home.path().join("token").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let shown = format!("{token:?}");
        assert!(!shown.contains(token.as_str()), "{shown}");
    }

    #[test]
    fn runners_start_from_a_copy_that_a_replaced_program_does_not_touch() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let program = folder.path().join("musher");
        std::fs::write(&program, "one").unwrap();
        let copy = home.binary(&program).unwrap();
        assert_eq!(home.binary(&program).unwrap(), copy);
        std::fs::remove_file(&program).unwrap();
        std::fs::write(&program, "two").unwrap();
        let other = home.binary(&program).unwrap();
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "one");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "two");
    }
}
