//! Ends a runner that does not answer, without its help. An agent has the rights of its runner and may have stopped it.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use musher_runtime::OtherProcess;

use super::launch;
use musher_log::Lock;
use musher_log::wire::RunCommand;

/// How long the kernel gets to take a killed runner's lock away.
const LOCK_RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How long a runner gets that is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndDeadlines {
    /// Until it says that it has heard. It needs no disk and no agent for that.
    pub answer: Duration,
    /// Until it is gone.
    pub gone: Duration,
}

impl EndDeadlines {
    /// The bounds of a command that ends the run.
    pub fn of(command: &RunCommand) -> Option<Self> {
        let seconds = Duration::from_secs;
        match command {
            RunCommand::Kill => Some(Self { answer: seconds(5), gone: seconds(10) }),
            RunCommand::Stop => Some(Self { answer: seconds(10), gone: seconds(20) }),
            RunCommand::Prompt { .. }
            | RunCommand::Steer { .. }
            | RunCommand::TakeBack { .. }
            | RunCommand::Answer { .. }
            | RunCommand::Interrupt
            | RunCommand::Change { .. } => None,
        }
    }
}

/// Whoever holds the lock, ourselves aside: the runner, and a child of it that has not come to its own program yet.
fn holders(folder: &Path) -> Vec<OtherProcess> {
    OtherProcess::holding(&Lock::path(folder))
}

/// Wakes the runner of the run in this folder, if somebody has stopped it; whether somebody had.
///
/// It reads all of `/proc`, so it belongs on a thread that may block.
pub fn wake(folder: &Path) -> bool {
    let stopped = holders(folder).into_iter().filter(|holder| holder.is_stopped());
    stopped.map(OtherProcess::wake).count() > 0
}

/// Kills whoever hosts the run in this folder; why is found in what the runner leaves. It blocks until the run's lock is
/// free, and the error says that it is not.
///
/// All that descends from it is killed too. What was started elsewhere with the run's mark is ended by whoever closes the log.
pub fn kill(folder: &Path, why: &str) -> io::Result<()> {
    let began = Instant::now();
    let mut noted = false;
    while Lock::is_held(folder)? {
        let holders = holders(folder);
        if !holders.is_empty() && !noted {
            launch::note(folder, why);
            noted = true;
        }
        holders.iter().for_each(|holder| holder.kill_tree());
        if began.elapsed() > LOCK_RELEASE_TIMEOUT {
            let pids: Vec<i32> = holders.iter().map(|holder| holder.pid()).collect();
            return Err(io::Error::other(format!("processes {pids:?} do not die")));
        }
        std::thread::sleep(LOCK_POLL_INTERVAL);
    }
    Ok(())
}
