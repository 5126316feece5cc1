//! Looks at the end of one run's log for the last thing that its agent did.

use musher_core::{Ask, Event, EventKind, ItemBody, RunId, SlotId, ToolUpdate};
use tokio::sync::watch;

use crate::runner::RunLogs;
use crate::watch::ReadModels;
use musher_log::{Cursor, Kinds, LogError, LogRead, LogReader, lines};

/// Events that are looked at when a log is looked at for the first time; more of them if those tell nothing.
const FIRST_PROBE_EVENTS: [u64; 2] = [64, 1024];
/// Whoever is further behind than this goes to the end at once.
const FAR_BEHIND: u64 = 512;
/// How many bytes are read at once.
const PIECE: usize = 64 * 1024;
/// The longest line that is told.
const MAX_ACTIVITY_CHARS: usize = 160;
/// The kinds of events that tell what an agent does.
const TELLING: [&str; 4] = ["tool", "item_done", "ask_opened", "error"];

/// Looks at one run.
#[derive(Debug)]
pub(super) struct ActivityProbe {
    logs: RunLogs,
    run: RunId,
    /// Paths of tools are told as they look from here.
    worktree: String,
    grown: watch::Receiver<u64>,
    /// The last event that was looked at. No file is held open for a run that says little.
    at: Option<Cursor>,
    kinds: Kinds,
    /// Whether anything has happened since its lines were last wanted.
    pub(super) news: bool,
    /// When the last thing was done, and what it was.
    pub(super) last: Option<(i64, String)>,
}

impl ActivityProbe {
    pub(super) fn new(watch: &ReadModels, run: RunId, slot: SlotId) -> Self {
        let mut grown = watch.bus.wakes(run);
        grown.mark_changed();
        Self {
            logs: watch.bus.logs().clone(),
            run,
            worktree: format!("{}/", watch.slots.path(slot).to_string_lossy()),
            grown,
            at: None,
            kinds: Kinds::new(TELLING),
            news: false,
            last: None,
        }
    }

    /// Looks at what is new. This blocks for a moment.
    pub(super) fn look(&mut self) {
        if !self.grown.has_changed().unwrap_or(true) {
            return;
        }
        self.grown.borrow_and_update();
        // A log that cannot be read is told of elsewhere; here it says nothing.
        if self.read().is_err() {
            self.at = None;
        }
    }

    fn read(&mut self) -> Result<(), LogError> {
        let reader = self.logs.open(self.run, self.at)?.past_damage();
        if self.at.is_some() && !is_far_behind(&reader)? {
            return self.read_on(reader);
        }
        self.last = None;
        for count in FIRST_PROBE_EVENTS {
            self.read_on(self.logs.open_last(self.run, count)?.past_damage())?;
            if self.last.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn read_on(&mut self, mut reader: LogReader) -> Result<(), LogError> {
        let mut piece = Vec::new();
        loop {
            piece.clear();
            match reader.read(&mut piece, PIECE)? {
                LogRead::Lines(batch) => {
                    self.news = true;
                    let lines: Vec<&[u8]> =
                        lines(&piece[batch.lines]).filter(|line| self.kinds.has(line)).collect();
                    let told = lines.iter().rev().find_map(|line| self.tell(line));
                    self.last = told.or(self.last.take());
                }
                LogRead::Reset { .. } => {}
                LogRead::End => break,
            }
        }
        self.at = Some(reader.cursor());
        Ok(())
    }

    fn tell(&self, line: &[u8]) -> Option<(i64, String)> {
        let event: Event = serde_json::from_slice(line).ok()?;
        let text = told(&event.kind, &self.worktree)?;
        (!text.is_empty()).then_some((event.at, text))
    }
}

fn is_far_behind(reader: &LogReader) -> Result<bool, LogError> {
    let last = reader.last()?.map_or(0, |cursor| cursor.seq);
    Ok(last.saturating_sub(reader.cursor().seq) > FAR_BEHIND)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most events tell nothing of what an agent does at the moment"
)]
fn told(kind: &EventKind, worktree: &str) -> Option<String> {
    match kind {
        EventKind::Tool(update) => tool(update, worktree),
        EventKind::ItemDone { body: ItemBody::Text { text }, .. } => Some(head(text)),
        EventKind::AskOpened { body, settled: false, .. } => Some(head(&match body {
            Ask::Approval(approval) => {
                let subject = approval.subject.as_deref().unwrap_or_default();
                format!("Asks for {} {}", approval.tool, plain(subject, worktree))
            }
            Ask::Question { questions } => {
                format!("Asks: {}", questions.first().map_or("", |question| &question.text))
            }
            Ask::Plan { .. } => "Asks about its plan".to_owned(),
            Ask::Form { message, .. } => format!("Asks: {message}"),
        })),
        EventKind::Error { error } => Some(head(&format!("Error: {}", error.message))),
        _ => None,
    }
}

/// Only the first word on a call says what it is.
fn tool(update: &ToolUpdate, worktree: &str) -> Option<String> {
    let name = update.name.as_deref()?;
    let subject = update.subject.as_deref().unwrap_or_default();
    Some(head(&format!("{name} {}", plain(subject, worktree))))
}

/// A path as it looks from the worktree.
fn plain<'a>(subject: &'a str, worktree: &str) -> &'a str {
    subject.strip_prefix(worktree).unwrap_or(subject)
}

/// The first line that says something, and not too much of it.
fn head(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_ACTIVITY_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
