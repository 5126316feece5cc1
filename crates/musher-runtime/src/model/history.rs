//! The conversation of a session, kept in a file that only grows, so that it can be gone on with from any turn.

mod file;

use std::path::Path;

use musher_core::{ErrorClass, ErrorInfo, HintCode, SessionId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::wire::{CallResult, HistoryEntry};
use crate::session::Attempt;
use file::{HistoryError, SessionFile};

/// What a model is told of a call whose end nobody knows.
pub(super) const CANCELLED: &str = "cancelled: it was broken off before it was done";

/// One line of the file. Lines are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Record {
    Session {
        version: u32,
        session: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<SessionId>,
    },
    Model {
        model: String,
    },
    Entry {
        entry: HistoryEntry,
    },
    /// The turn of this number is over.
    Turn {
        turn: u32,
    },
    /// All before it is told by these entries.
    Compacted {
        entries: Vec<HistoryEntry>,
    },
    /// All after the end of this turn counts no more.
    Rewound {
        turn: u32,
    },
}

const VERSION: u32 = 1;

/// A conversation and the file that it is kept in.
#[derive(Debug)]
pub(super) struct History {
    pub(super) session: SessionId,
    pub(super) entries: Vec<HistoryEntry>,
    /// The model that was spoken to last.
    pub(super) model: Option<String>,
    turn: u32,
    file: Option<SessionFile>,
}

/// What the records of a session amount to.
#[derive(Debug, Default)]
struct Story {
    entries: Vec<HistoryEntry>,
    model: Option<String>,
    turn: u32,
    /// Entries came after the last turn had ended.
    unended: bool,
}

impl History {
    /// The history of a new session, or of the one that is resumed or forked.
    pub(super) fn open(attempt: &Attempt) -> Result<Self, ErrorInfo> {
        let refuse = |class, message: String| ErrorInfo::new(class, message);
        let kept = attempt.spec.session_dir.as_deref();
        let Some(earlier) = &attempt.resume else {
            let session = SessionId::new(Uuid::new_v4().to_string());
            let first = Record::Session { version: VERSION, session: session.clone(), from: None };
            let file = kept
                .map(|folder| SessionFile::create(folder, &session, &[first]))
                .transpose()
                .map_err(|why| refuse(ErrorClass::Unavailable, why))?;
            return Ok(Self { session, entries: Vec::new(), model: None, turn: 0, file });
        };
        let resume = attempt.spec.resume.as_ref();
        let other = resume.and_then(|resume| resume.session_dir.as_deref());
        let places: Vec<_> = other.into_iter().chain(kept).collect();
        let (found, mut records, sound) = match file::find(&places, earlier) {
            Ok(found) => found,
            Err(HistoryError::Unknown) => {
                let message = format!("session {earlier} is not known");
                let error = ErrorInfo::new(ErrorClass::SessionNotFound, message)
                    .hinting(HintCode::StartFresh);
                return Err(error);
            }
            Err(HistoryError::Damaged(why)) => return Err(refuse(ErrorClass::Config, why)),
        };
        let turn = resume.and_then(|resume| resume.turn);
        if let Some(turn) = turn {
            let has = matches!(turn, 0) || records.iter().any(|record| record.ends(turn));
            if !has {
                let message = format!("session {earlier} has no turn {turn}");
                return Err(refuse(ErrorClass::Config, message));
            }
            rewind(&mut records, turn);
        }
        let story = tell(&records);
        let same_place = kept == Some(found) && !attempt.fork;
        let session = match attempt.fork {
            true => SessionId::new(Uuid::new_v4().to_string()),
            false => earlier.clone(),
        };
        let file = match kept {
            None => Ok(None),
            Some(folder) if same_place => SessionFile::go_on(folder, &session, sound).map(Some),
            Some(folder) => {
                // The earlier folder stays as it is; this one holds all that it needs.
                let from = Some(earlier.clone());
                let first = Record::Session { version: VERSION, session: session.clone(), from };
                let rest = records.iter().filter(|r| !matches!(r, Record::Session { .. }));
                let all: Vec<Record> = std::iter::once(first).chain(rest.cloned()).collect();
                SessionFile::create(folder, &session, &all).map(Some)
            }
        };
        let file = file.map_err(|why| refuse(ErrorClass::Unavailable, why))?;
        let Story { entries, model, turn: last, unended } = story;
        let mut history = Self { session, entries, model, turn: last, file };
        history.mend(turn.filter(|_| same_place), unended)?;
        Ok(history)
    }

    /// Makes an earlier conversation one that can be gone on with.
    fn mend(&mut self, rewound: Option<u32>, unended: bool) -> Result<(), ErrorInfo> {
        if let Some(turn) = rewound {
            self.write(&Record::Rewound { turn })?;
        }
        if let Some(results) = unanswered(&self.entries) {
            self.push(HistoryEntry::Results { results })?;
        }
        if unended {
            // The turn was broken off together with its run.
            self.end_turn()?;
        }
        Ok(())
    }

    /// Whether it can be gone on with later.
    pub(super) fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn push(&mut self, entry: HistoryEntry) -> Result<(), ErrorInfo> {
        let record = Record::Entry { entry };
        self.write(&record)?;
        if let Record::Entry { entry } = record {
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Remembers which model is spoken to from now on.
    pub(super) fn speak_to(&mut self, model: &str) -> Result<(), ErrorInfo> {
        if self.model.as_deref() != Some(model) {
            self.write(&Record::Model { model: model.to_owned() })?;
            self.model = Some(model.to_owned());
        }
        Ok(())
    }

    /// Tells all that was said by these entries from now on.
    pub(super) fn compact(&mut self, entries: Vec<HistoryEntry>) -> Result<(), ErrorInfo> {
        self.write(&Record::Compacted { entries: entries.clone() })?;
        self.entries = entries;
        Ok(())
    }

    /// Ends the turn. What was said in it survives anything from now on.
    pub(super) fn end_turn(&mut self) -> Result<(), ErrorInfo> {
        self.turn += 1;
        self.write(&Record::Turn { turn: self.turn })?;
        self.file.as_mut().map_or(Ok(()), SessionFile::sync).map_err(|why| lost(&why))
    }

    fn write(&mut self, record: &Record) -> Result<(), ErrorInfo> {
        self.file.as_mut().map_or(Ok(()), |file| file.append(record)).map_err(|why| lost(&why))
    }
}

/// Whether the file of a session is in this folder.
pub(super) fn is_in(folder: &Path, session: &SessionId) -> bool {
    file::path(folder, session).is_some_and(|path| path.is_file())
}

fn lost(why: &str) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Unavailable, format!("the session could not be kept: {why}"))
        .with_hint("make room on the disk, and resume the session")
}

impl Record {
    fn ends(&self, number: u32) -> bool {
        matches!(self, Self::Turn { turn } if *turn == number)
    }
}

/// Leaves out what came after the end of a turn; 0 is the beginning.
fn rewind(records: &mut Vec<Record>, turn: u32) {
    let kept = match turn {
        0 => records.iter().position(|r| !matches!(r, Record::Session { .. })),
        turn => records.iter().rposition(|record| record.ends(turn)).map(|at| at + 1),
    };
    records.truncate(kept.unwrap_or(records.len()));
}

fn tell(records: &[Record]) -> Story {
    let mut story = Story::default();
    for record in records {
        match record {
            Record::Session { .. } | Record::Rewound { .. } => {}
            Record::Model { model } => story.model = Some(model.clone()),
            Record::Entry { entry } => {
                story.entries.push(entry.clone());
                story.unended = true;
            }
            Record::Turn { turn } => {
                story.turn = *turn;
                story.unended = false;
            }
            Record::Compacted { entries } => story.entries.clone_from(entries),
        }
    }
    story
}

/// Results for calls that have none, without which no vendor goes on.
pub(super) fn unanswered(entries: &[HistoryEntry]) -> Option<Vec<CallResult>> {
    let Some(HistoryEntry::Model { calls, .. }) = entries.last() else { return None };
    let cancelled = |call: &super::wire::ToolRequest| CallResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: CANCELLED.into(),
        failed: true,
        minted: call.minted,
    };
    (!calls.is_empty()).then(|| calls.iter().map(cancelled).collect())
}
