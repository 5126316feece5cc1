//! Ends what a dead runner left and closes its log.

use super::{ACTION_RETRY_DELAY, Performer};
use crate::runner::closing::Unclosed;
use crate::supervisor::place::RunPlace;
use musher_core::pool::PoolInput;
use musher_core::{ErrorClass, ErrorInfo, RunId};
use musher_os::fail;
use tracing::{error, warn};

/// How often a log is tried that looks broken. A runner whose folder was deleted has ended by then.
pub(in crate::supervisor) const TRIES: u32 = 5;

impl Performer {
    /// A log that cannot be closed is given up, for the run must end.
    pub(super) async fn close(&self, run: RunId) {
        self.attendants.attend(run);
        let (mut tries, mut attempt) = (0, 0_u32);
        loop {
            fail::point("before_close");
            let ended = match &self.place {
                RunPlace::Here(here) => here.end(run).await,
            };
            let why = match ended {
                Ok(()) => return,
                // What can be done is done later.
                Err(Unclosed::NotYet(why)) => why,
                Err(Unclosed::Broken(why)) => {
                    tries += 1;
                    why
                }
            };
            if tries == TRIES {
                error!(attempt = tries, cause = why, "run log could not be closed, given up");
                return self.tell(PoolInput::LogLost { run, error: log_lost(&why) }).await;
            }
            attempt += 1;
            if attempt.is_power_of_two() {
                warn!(attempt, cause = why, "run log could not be closed, trying again");
            }
            self.ground.bus.set_note(run, Some(why));
            tokio::time::sleep(ACTION_RETRY_DELAY).await;
        }
    }
}

/// That a run has ended and its log does not say so.
pub(in crate::supervisor) fn log_lost(why: &str) -> ErrorInfo {
    let message = format!("the runner died before the run ended, and its log is lost: {why}");
    ErrorInfo::new(ErrorClass::Internal, message)
}
