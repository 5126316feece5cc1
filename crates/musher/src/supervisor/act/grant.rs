//! Saves the rule that an answer grants, before the run has the answer.

use super::Performer;
use crate::config::local::{GrantHolder, LocalError, LocalGrant};
use musher_core::pool::{PoolInput, Refusal};
use musher_core::{AgentName, Answer, CommandId, GrantFor, RunId, StoryId};
use musher_os::fail;
use musher_runtime::now_ms;
use tracing::warn;

impl Performer {
    pub(super) async fn grant(
        &self,
        run: RunId,
        command: CommandId,
        agent: AgentName,
        story: StoryId,
    ) {
        fail::point("before_grant");
        let saved = match self.answer(&command) {
            Ok(Answer::AllowAlways { rule: Some(rule), holds_for }) => {
                let (story, at) = (Some(story), Some(now_ms()));
                let agent = match holds_for {
                    GrantFor::Project => GrantHolder::Everyone,
                    // What holds for a run is never saved, and is no more than its agent's.
                    GrantFor::Agent | GrantFor::Run => GrantHolder::Agent(agent),
                };
                let grant = LocalGrant { agent, rule, story, run: Some(run), at };
                let settings = self.ground.settings.clone();
                let saved =
                    tokio::task::spawn_blocking(move || settings.local().grant(grant)).await;
                match saved {
                    Ok(saved) => saved.map_err(|error| unsaved(&error)),
                    Err(error) => Err(Refusal::LocalFileUnwritten { message: error.to_string() }),
                }
            }
            Ok(_) => Err(Refusal::BadRule { message: "the answer grants no rule".to_owned() }),
            Err(message) => Err(Refusal::BadRule { message }),
        };
        if let Err(refusal) = &saved {
            warn!(cause = %refusal, "rule could not be saved");
        }
        fail::point("after_grant");
        self.tell(PoolInput::Granted { run, command, result: saved }).await;
    }
}

fn unsaved(error: &LocalError) -> Refusal {
    let message = error.to_string();
    match error {
        LocalError::Broken(_) => Refusal::LocalFileBroken { message },
        LocalError::BadRule { .. } => Refusal::BadRule { message },
        LocalError::Full { .. } => Refusal::TooManyGrants { message },
        LocalError::Write { .. } => Refusal::LocalFileUnwritten { message },
    }
}
