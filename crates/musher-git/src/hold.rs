//! A hold on a worktree that lives as long as any git process that works in it.
//!
//! When Musher is killed, the git that it started goes on. The hold is a lock on a file that git has as its input, so a
//! Musher that is started anew waits for that git to end before it touches the same files.

use std::fs::{File, TryLockError};
use std::process::Stdio;
use std::time::Duration;

use musher_os::untrusted;
use rustix::fs::Mode;
use tokio::time::{Instant, sleep};

use super::Git;
use super::error::GitError;

/// How long another's hold is waited for.
const HOLD_WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// How often it is looked at; nothing tells when a lock is let go.
const HOLD_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A hold; dropping it lets go, once every process that has it has ended.
#[derive(Debug)]
pub(crate) struct Hold(File);

impl Hold {
    /// The hold as the input of a process: empty, and held until the process ends.
    pub(super) fn input(&self) -> std::io::Result<Stdio> {
        Ok(Stdio::from(self.0.try_clone()?))
    }
}

impl Git {
    /// Takes the hold of a name, and waits for whoever has it.
    pub(crate) async fn hold(&self, name: &str) -> Result<Hold, GitError> {
        let scratch = &self.inner.scratch;
        std::fs::create_dir_all(scratch).map_err(GitError::io(scratch))?;
        let path = scratch.join(format!("{name}.lock"));
        let file = untrusted::open_or_make(&path, Mode::RUSR | Mode::WUSR)?;
        let end = Instant::now() + HOLD_WAIT_TIMEOUT;
        let mut attempt = 0_u32;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Hold(file)),
                Err(TryLockError::Error(error)) => return Err(GitError::io(path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() > end => {
                    return Err(GitError::Held { path });
                }
                Err(TryLockError::WouldBlock) => {
                    attempt += 1;
                    if attempt.is_power_of_two() {
                        tracing::debug!(attempt, path = %path.display(), "waiting for a lock");
                    }
                    sleep(HOLD_POLL_INTERVAL).await;
                }
            }
        }
    }
}
