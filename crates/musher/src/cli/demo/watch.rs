//! Follows the runs of the demonstration: one line for each thing that an agent did.

use std::collections::HashMap;

use anstyle::AnsiColor;
use musher_core::{
    Ask, AskId, CallId, Event, EventKind, ItemBody, Outcome, RunId, ToolPhase, ToolUpdate,
};

use super::super::text::{one_line, plain};
use super::super::{CliError, out, terminal};
use crate::bus::Bus;
use musher_log::{LogError, LogRead, LogReader, lines};

/// The room that an agent's name takes.
const NAME: usize = 8;
/// How much of a log is read at a time.
const PIECE: usize = 64 * 1024;

/// One run as the audience sees it.
pub(super) struct DemoRun {
    pub(super) run: RunId,
    pub(super) agent: &'static str,
    pub(super) colour: AnsiColor,
    reader: Option<LogReader>,
    /// What each call is about, as its first words told.
    calls: HashMap<CallId, (String, String)>,
    pub(super) outcome: Option<Outcome>,
}

/// Something that a person must answer.
pub(super) struct DemoAsk {
    pub(super) run: RunId,
    pub(super) ask: AskId,
    pub(super) body: Ask,
}

impl DemoRun {
    pub(super) fn new(run: RunId, agent: &'static str, colour: AnsiColor) -> Self {
        Self { run, agent, colour, reader: None, calls: HashMap::new(), outcome: None }
    }

    /// Shows what is new, and gives what must be answered.
    pub(super) fn look(&mut self, bus: &Bus) -> Result<Vec<DemoAsk>, CliError> {
        let events = self.read(bus).map_err(|error| CliError::Unavailable(error.to_string()))?;
        let mut asked = Vec::new();
        for event in events {
            if let Some(text) = self.told(&event) {
                self.say(&text)?;
            }
            if let EventKind::AskOpened { ask, body, settled: false, .. } = event.kind {
                asked.push(DemoAsk { run: self.run, ask, body });
            }
        }
        Ok(asked)
    }

    pub(super) fn say(&self, text: &str) -> Result<(), CliError> {
        let style = self.colour.on_default();
        let room = terminal::width().saturating_sub(NAME + 3);
        for line in text.lines() {
            out::line(&format!(
                "{style}{:>NAME$} │{style:#} {}",
                self.agent,
                one_line(line, room)
            ))?;
        }
        Ok(())
    }

    fn read(&mut self, bus: &Bus) -> Result<Vec<Event>, LogError> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => match bus.logs().open(self.run, None) {
                Ok(reader) => self.reader.insert(reader),
                // It has not begun.
                Err(LogError::Missing { .. }) => return Ok(Vec::new()),
                Err(error) => return Err(error),
            },
        };
        let (mut events, mut buffer) = (Vec::new(), Vec::new());
        loop {
            buffer.clear();
            match reader.read(&mut buffer, PIECE)? {
                LogRead::Lines(batch) => events.extend(
                    lines(&buffer[batch.lines])
                        .filter_map(|line| serde_json::from_slice(line).ok()),
                ),
                LogRead::Reset { .. } => {}
                LogRead::End => return Ok(events),
            }
        }
    }

    /// An event in a line, if it is worth one.
    #[expect(clippy::wildcard_enum_match_arm, reason = "an audience wants to see a few things")]
    fn told(&mut self, event: &Event) -> Option<String> {
        match &event.kind {
            EventKind::ItemDone { body: ItemBody::Text { text }, .. } => Some(plain(text)),
            EventKind::Tool(update) => self.tool(update),
            EventKind::SessionEnded(end) => {
                self.outcome = Some(end.outcome);
                let why = end.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
                Some(format!("● {}{}", end.outcome.as_str(), plain(&why)))
            }
            _ => None,
        }
    }

    fn tool(&mut self, update: &ToolUpdate) -> Option<String> {
        let known = self.calls.entry(update.call.clone()).or_default();
        // What a person has changed of a call comes without its name.
        known.0.clone_from(update.name.as_ref().unwrap_or(&known.0.clone()));
        known.1.clone_from(update.subject.as_ref().unwrap_or(&known.1.clone()));
        let mark = match update.phase {
            ToolPhase::Completed => "✓",
            ToolPhase::Failed => "✗",
            ToolPhase::Denied | ToolPhase::Cancelled => "−",
            ToolPhase::Proposed | ToolPhase::Running | ToolPhase::Progress => return None,
        };
        let (name, subject) = self.calls.remove(&update.call).unwrap_or_default();
        let about = format!("{} {}", plain(&name), plain(&subject));
        let said = update.output.as_ref().map(|output| output.text.trim()).unwrap_or_default();
        let last = said.lines().next_back().map(|last| format!("  → {}", plain(last)));
        Some(format!("{mark} {about}{}", last.unwrap_or_default()))
    }
}
