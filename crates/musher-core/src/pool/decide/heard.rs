//! What was read in a run's log.

use super::draft::{Draft, Rule};
use super::ending::{End, end};
use super::{answers, flow, talk};
use crate::pool::{Fact, Heard};
use crate::{Entry, RunId, RunPhase};

pub(super) fn heard(draft: &mut Draft<'_>, id: RunId, seq: u64, what: Heard) {
    let Some(run) = draft.base.runs.get(&id) else { return };
    let again = seq <= run.cursor && draft.keeps(Rule::OneHearing);
    // An end counts whatever its number is: a loss of power may take events that became facts, and the end that is
    // written afterwards takes the number of one of them.
    if again && !matches!(what, Heard::Ended { .. }) {
        return;
    }
    match run.phase {
        // There is no log yet, or nothing may follow in it.
        RunPhase::Queued | RunPhase::Preparing { .. } | RunPhase::Finishing { .. } => return,
        // Whoever writes a log is up.
        RunPhase::Starting { .. } => match what {
            Heard::Ended { .. } => draft.put(Fact::RunStarted { run: id }),
            Heard::Session { .. }
            | Heard::SetupDone
            | Heard::AskOpened { .. }
            | Heard::AskClosed { .. }
            | Heard::Taken { .. }
            | Heard::Usage { .. } => flow::go_live(draft, id),
        },
        RunPhase::Live { .. } | RunPhase::Closing { .. } => {}
    }
    match what {
        Heard::Session { session } => {
            if run.session.as_ref() != Some(&session) {
                draft.put(Fact::SessionSeen { run: id, seq, session });
            }
        }
        Heard::SetupDone => draft.put(Fact::SetupDone { run: id, seq }),
        Heard::AskOpened { settled: true, .. } => {}
        Heard::AskOpened { ask, settled: false } => {
            if !run.asks.contains_key(&ask) {
                draft.put(Fact::AskOpened { run: id, seq, ask });
            }
        }
        Heard::AskClosed { ask, by, command } => {
            answers::closed(draft, id, seq, ask, by, command.as_ref());
        }
        Heard::Taken { command } => {
            if draft.keeps(Rule::TakenCounts) {
                talk::delivered(draft, id, &command, Ok(()));
            }
        }
        Heard::Usage { model, entry } => {
            let at = Some(draft.now);
            let Entry { spend, earlier, cut, settles } = entry;
            let run = id;
            draft.put(Fact::UsageCounted { run, seq, model, spend, at, earlier, cut, settles });
        }
        Heard::Ended { outcome, error, session } => {
            let session = session.filter(|session| run.session.as_ref() != Some(session));
            if let Some(session) = session.filter(|_| !again) {
                draft.put(Fact::SessionSeen { run: id, seq, session });
            }
            end(draft, id, End { outcome, error, seq: Some(seq) });
        }
    }
}
