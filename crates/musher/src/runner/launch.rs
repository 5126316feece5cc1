//! Starts a runner so that it outlives the server that wants it.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use musher_os::untrusted;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use tracing::{debug, warn};

/// What a runner prints once its run is begun.
pub const READY: &str = "ready\n";

/// Where a runner writes what goes wrong with itself.
const LOG: &str = "runner.log";

/// How much of that is told.
const LAST_WORDS: usize = 2048;

/// Makes the C library give memory back, and keep one store for all threads: by itself it keeps more, the larger the
/// blocks are that it has seen. There may be a thousand runners, and most of them wait.
const THRIFT: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=131072:glibc.malloc.arena_max=1");

/// How long a runner may take to begin.
pub const RUNNER_START_TIMEOUT: Duration = Duration::from_secs(20);

/// The runners that this process has started and not yet waited for.
static STARTED: Mutex<Vec<Started>> = Mutex::new(Vec::new());

/// A runner of ours and the folder of its run.
struct Started {
    runner: Child,
    folder: PathBuf,
}

impl Started {
    /// Whether it is still at work. How it left is told, for one that was killed cannot say so itself.
    fn is_at_work(&mut self) -> bool {
        let run = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let pid = self.runner.id();
        match self.runner.try_wait() {
            Ok(None) => return true,
            Ok(Some(status)) if status.success() => {
                debug!(run.id = %run, runner.pid = pid, "runner exited");
            }
            Ok(Some(status)) => {
                warn!(run.id = %run, runner.pid = pid, cause = %status, "runner exited");
            }
            Err(error) => {
                debug!(run.id = %run, runner.pid = pid, cause = %error, "runner was waited for before");
            }
        }
        false
    }
}

/// How many files this process might open before it took leave to open more.
static OPEN_FILES: OnceLock<Rlimit> = OnceLock::new();

/// Lets this process open as many files as the system permits: each subscriber and each run takes some, and the usual
/// limit is made for programs that have few. Runners get the usual one back, for agents may rely on it.
pub fn open_many_files() {
    let usual = OPEN_FILES.get_or_init(|| getrlimit(Resource::Nofile));
    let most = Rlimit { current: usual.maximum, maximum: usual.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, most) {
        warn!(cause = %error, "no more files may be opened, so fewer connections are taken");
    }
}

/// Takes in the runners that have ended; call it whenever a child may have.
pub fn reap() {
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    started.retain_mut(Started::is_at_work);
}

/// A runner that did not begin its run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("{0} could not be started: {1}")]
    Spawn(PathBuf, io::Error),
    #[error("the runner ended before its run began: {0}")]
    Ended(String),
    #[error("the runner did not begin its run within {0:?}")]
    Silent(Duration),
}

/// Starts the runner of the run in this folder, with these variables beside our own, and waits until the run is begun, for
/// as long as `patience` lasts. It blocks.
///
/// The runner is a child of this process only in name: it makes a session of its own, and when this process dies it
/// goes on.
#[expect(
    clippy::disallowed_methods,
    reason = "a runner must outlive us, so it cannot be a contained process of the runtime library"
)]
pub fn launch(
    patience: Duration,
    program: &Path,
    folder: &Path,
    vars: &[(OsString, OsString)],
) -> Result<(), LaunchError> {
    let failed = |error| LaunchError::Spawn(program.to_owned(), error);
    let errors = folder.join(LOG);
    let log = untrusted::append(&errors).map_err(|unfit| failed(unfit.into_io()))?;
    let mut runner = std::process::Command::new(program)
        .arg0("musher")
        .arg("runner")
        .arg(folder)
        .current_dir("/")
        .env(THRIFT.0, THRIFT.1)
        .envs(vars.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(failed)?;
    if let Some(usual) = OPEN_FILES.get() {
        // A runner that is dead already needs no limit.
        let _dead = prlimit(Some(Pid::from_child(&runner)), Resource::Nofile, *usual);
    }
    match begins(&mut runner, patience) {
        Ok(true) => {
            let started = Started { runner, folder: folder.to_owned() };
            STARTED.lock().unwrap_or_else(PoisonError::into_inner).push(started);
            Ok(())
        }
        begun => {
            // It must not begin after all when it was given up already; if it has, its log tells.
            let _dead = runner.kill();
            // Reap the child so it leaves no zombie; an error means it was already reaped.
            let _taken = runner.wait();
            match begun {
                Ok(_) => {
                    let last = last_words(folder).unwrap_or_else(|| "it said nothing".to_owned());
                    Err(LaunchError::Ended(last))
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    Err(LaunchError::Silent(patience))
                }
                Err(error) => Err(failed(error)),
            }
        }
    }
}

/// Waits until a runner says that its run is begun; `false` if it ends before that.
fn begins(runner: &mut Child, patience: Duration) -> io::Result<bool> {
    let mut words = runner.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let flags = fcntl_getfl(&words)?;
    fcntl_setfl(&words, flags | OFlags::NONBLOCK)?;
    let mut said = Vec::new();
    let began = std::time::Instant::now();
    loop {
        let left = patience.saturating_sub(began.elapsed());
        let timeout = rustix::event::Timespec::try_from(left).ok();
        let mut polled = [PollFd::new(&words, PollFlags::IN)];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [0; 64];
        match words.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(count) => said.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if said == READY.as_bytes() {
            return Ok(true);
        }
    }
}

/// Adds a word to what a runner leaves, for whoever closes its log.
pub(super) fn note(folder: &Path, what: &str) {
    let log = untrusted::append(&folder.join(LOG)).map_err(untrusted::Unfit::into_io);
    // The runner is ended all the same, and its end is said without a reason.
    if let Err(error) = log.and_then(|mut log| writeln!(log, "{what}")) {
        warn!(path = %folder.display(), cause = %error, note = what, "note for a run's end cannot be kept");
    }
}

/// The end of what a runner wrote to its own log, if it wrote anything.
pub fn last_words(folder: &Path) -> Option<String> {
    let log = untrusted::open(&folder.join(LOG)).ok()?;
    let end = log.metadata().ok()?.len();
    let mut tail = [0; LAST_WORDS];
    let count = log.read_at(&mut tail, end.saturating_sub(LAST_WORDS as u64)).ok()?;
    let text = String::from_utf8_lossy(&tail[..count]);
    Some(text.trim()).filter(|words| !words.is_empty()).map(str::to_owned)
}
