//! From a run's log to what the pool wants to know of it; the rest is for readers.

use std::collections::BTreeMap;

use musher_core::pool::Heard;
use musher_core::{CommandId, Event, EventKind, Ledger, SessionId, Spend};

use crate::runner::log::Kinds;

/// Listens to one run.
#[derive(Debug)]
pub(super) struct Ear {
    kinds: Kinds,
    /// Reports are often running totals; the pool is told what each adds.
    ledger: Ledger,
    session: Option<SessionId>,
    /// The end was heard.
    pub(super) over: bool,
}

impl Ear {
    /// `totals` are those of the session that the run resumed.
    pub(super) fn new(totals: BTreeMap<String, Spend>) -> Self {
        let kinds = Kinds::new([
            "session_info",
            "notice",
            "ask_opened",
            "ask_closed",
            "user_message",
            "usage",
            "session_ended",
        ]);
        Self { kinds, ledger: Ledger::resuming(totals), session: None, over: false }
    }

    /// What a line of the log means to the pool, with its number.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the pool wants to know of a few kinds")]
    pub(super) fn hear(&mut self, line: &[u8]) -> Option<(u64, Heard)> {
        if !self.kinds.has(line) {
            return None;
        }
        let event: Event = serde_json::from_slice(line).ok()?;
        let heard = match event.kind {
            EventKind::SessionInfo(info) => {
                let session =
                    info.session.filter(|session| self.session.as_ref() != Some(session))?;
                self.session = Some(session.clone());
                Heard::Session { session }
            }
            EventKind::Notice { code: Some(code), .. } if code == "setup_done" => Heard::SetupDone,
            EventKind::AskOpened { ask, settled, .. } => Heard::AskOpened { ask, settled },
            EventKind::AskClosed { ask, by, command, .. } => Heard::AskClosed { ask, by, command },
            EventKind::UserMessage { prompt: Some(prompt), .. } => {
                // A prompt that came through the pool is named by its command.
                Heard::Taken { command: CommandId::parse(prompt.as_str()).ok()? }
            }
            EventKind::Usage(report) => {
                let entry = self.ledger.enter(&report);
                if entry.is_nothing() {
                    return None;
                }
                Heard::Usage { model: report.model, entry }
            }
            EventKind::SessionEnded(end) => {
                self.over = true;
                Heard::Ended { outcome: end.outcome, error: end.error, session: end.session }
            }
            _ => return None,
        };
        Some((event.seq, heard))
    }
}
