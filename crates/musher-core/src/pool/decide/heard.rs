//! What was read in a run's log.

use super::draft::Draft;
use super::ending::{EndedRun, end};
use super::{answers, phases, talk};
use crate::pool::{Fact, RunReport};
use crate::{LedgerEntry, RunId, RunPhase};

pub(super) fn heard(draft: &mut Draft<'_>, id: RunId, seq: u64, what: RunReport) {
    let Some(run) = draft.base.runs.get(&id) else { return };
    let again = seq <= run.cursor;
    // An end counts whatever its number is: a loss of power may take events that became facts, and the end that is
    // written afterwards takes the number of one of them.
    if again && !matches!(what, RunReport::Ended { .. }) {
        return;
    }
    match run.phase {
        // There is no log yet, or nothing may follow in it.
        RunPhase::Queued | RunPhase::Preparing { .. } | RunPhase::Finishing { .. } => return,
        // Whoever writes a log is up.
        RunPhase::Starting { .. } => match what {
            RunReport::Ended { .. } => draft.put(Fact::RunStarted { run: id }),
            RunReport::Session { .. }
            | RunReport::SetupDone
            | RunReport::AskOpened { .. }
            | RunReport::AskClosed { .. }
            | RunReport::Taken { .. }
            | RunReport::Usage { .. } => phases::go_live(draft, id),
        },
        RunPhase::Live { .. } | RunPhase::Closing { .. } => {}
    }
    match what {
        RunReport::Session { session } => {
            if run.session.as_ref() != Some(&session) {
                draft.put(Fact::SessionSeen { run: id, seq, session });
            }
        }
        RunReport::SetupDone => draft.put(Fact::SetupDone { run: id, seq }),
        RunReport::AskOpened { settled: true, .. } => {}
        RunReport::AskOpened { ask, settled: false } => {
            if !run.asks.contains_key(&ask) {
                draft.put(Fact::AskOpened { run: id, seq, ask });
            }
        }
        RunReport::AskClosed { ask, by, command } => {
            answers::closed(draft, id, seq, ask, by, command.as_ref());
        }
        RunReport::Taken { command } => {
            talk::delivered(draft, id, &command, Ok(()));
        }
        RunReport::Usage { model, entry } => {
            let at = Some(draft.now);
            let LedgerEntry { spend, earlier, cut, settles } = entry;
            let run = id;
            draft.put(Fact::UsageCounted { run, seq, model, spend, at, earlier, cut, settles });
        }
        RunReport::Ended { outcome, error, session } => {
            let session = session.filter(|session| run.session.as_ref() != Some(session));
            if let Some(session) = session.filter(|_| !again) {
                draft.put(Fact::SessionSeen { run: id, seq, session });
            }
            end(draft, id, EndedRun { outcome, error, seq: Some(seq) });
        }
    }
}
