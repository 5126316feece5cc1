//! How a session comes to its end: the stop ladder's first step, and the outcome.

use std::time::Duration;

use musher_core::{ErrorClass, ErrorInfo, Outcome, TurnEnded, TurnOutcome};
use tokio::time::Instant;

use super::port::BackendEnd;
use crate::process::Graces;

/// How long an interrupted turn may take to end.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(5);
/// The steps after it. All together stay under the 20 seconds within which a stop is promised to be true.
pub const LADDER: Graces = Graces { close: Duration::from_secs(5), term: Duration::from_secs(4) };

/// A decision to end the session.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) outcome: Outcome,
    pub(super) error: Option<ErrorInfo>,
    /// While the turn is given time to end by itself.
    pub(super) interrupting_until: Option<Instant>,
}

impl Ending {
    pub(super) fn new(outcome: Outcome, error: Option<ErrorInfo>) -> Self {
        Self { outcome, error, interrupting_until: None }
    }

    pub(super) fn interrupting(&mut self) {
        self.interrupting_until = Some(Instant::now() + INTERRUPT_TIMEOUT);
    }
}

/// How a turn must have ended when its process did.
pub(super) fn turn_cut_short(ended: &BackendEnd, decided: Option<&Ending>) -> TurnEnded {
    match decided {
        Some(Ending { outcome: Outcome::Failed, error, .. }) => {
            return TurnEnded::synthesised(TurnOutcome::Failed, error.clone());
        }
        Some(_) => return TurnEnded::synthesised(TurnOutcome::Interrupted, None),
        None => {}
    }
    match ended.signal.filter(|_| ended.error.is_none()) {
        Some(signal) => {
            let message =
                format!("the agent was killed by signal {signal} in the middle of its turn");
            let error = ErrorInfo::new(ErrorClass::ProcessExit, message);
            TurnEnded::synthesised(TurnOutcome::Lost, Some(error))
        }
        None => {
            let error = ended.error.clone().unwrap_or_else(|| {
                exited_early(ended, ErrorClass::ProcessExit, "in the middle of its turn")
            });
            TurnEnded::synthesised(TurnOutcome::Failed, Some(error))
        }
    }
}

/// The outcome of a session, from all the evidence. One that still `owes` a turn has not done its work, however well its
/// last turn went.
pub(super) fn conclude(
    ended: &BackendEnd,
    decided: Option<Ending>,
    last_turn: Option<&TurnEnded>,
    owes: bool,
) -> (Outcome, Option<ErrorInfo>) {
    if let Some(ending) = decided {
        return (ending.outcome, ending.error);
    }
    if let Some(error) = &ended.error {
        return (Outcome::Failed, Some(error.clone()));
    }
    let Some(turn) = last_turn else {
        return (
            Outcome::Failed,
            Some(exited_early(ended, ErrorClass::Startup, "before it did anything")),
        );
    };
    let outcome = match turn.outcome {
        TurnOutcome::Completed | TurnOutcome::Interrupted if owes => {
            let error =
                exited_early(ended, ErrorClass::ProcessExit, "before it began its next turn");
            let lost = ended.signal.is_some();
            return (if lost { Outcome::Lost } else { Outcome::Failed }, Some(error));
        }
        TurnOutcome::Completed => Outcome::Completed,
        TurnOutcome::Interrupted => Outcome::Interrupted,
        TurnOutcome::Failed | TurnOutcome::Refused => Outcome::Failed,
        TurnOutcome::OutOfTurns => Outcome::OutOfTurns,
        TurnOutcome::OutOfBudget => Outcome::OutOfBudget,
        TurnOutcome::Lost => Outcome::Lost,
    };
    (outcome, turn.error.clone())
}

fn exited_early(ended: &BackendEnd, class: ErrorClass, when: &str) -> ErrorInfo {
    let how = match (ended.exit_code, ended.signal) {
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(code), None) => format!("exited with code {code}"),
        (None, None) => "ended".to_owned(),
    };
    let last_words = ended.stderr_tail.as_deref().and_then(|tail| tail.lines().last());
    let message = match last_words {
        Some(words) => format!("the agent {how} {when}: {words}"),
        None => format!("the agent {how} {when}"),
    };
    ErrorInfo::new(class, message)
}
