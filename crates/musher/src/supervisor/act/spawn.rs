//! Starts the runner of a run, and attends it from then on.

use super::Performer;
use crate::supervisor::place::RunPlace;
use musher_core::pool::{Assignment, PoolInput};
use musher_os::fail;
use tracing::error;

impl Performer {
    pub(super) async fn spawn(&self, to: Assignment) {
        let run = to.run;
        let begun = match &self.place {
            RunPlace::Here(here) => match here.begin(&to).await {
                Ok(()) => Ok(()),
                Err(error) => {
                    here.forget(run);
                    here.undo(to.slot, &to.branch, to.condition).await;
                    Err(error)
                }
            },
        };
        match begun {
            Ok(()) => {
                fail::point("after_spawn");
                self.attendants.attend(run);
                self.tell(PoolInput::RunnerUp { run }).await;
            }
            Err(error) => {
                error!(cause = error.message, "runner could not be started");
                self.tell(PoolInput::SpawnFailed { run, error }).await;
            }
        }
    }
}
