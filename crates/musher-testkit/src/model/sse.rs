//! Server-sent events as they are written, with the liberties that the format gives a server.

use std::time::Duration;

use serde_json::Value;

use super::body::Piece;
use super::ledger::Usage;
use super::quirk::{Quirk, Quirks};

pub(super) const KIND: &str = "text/event-stream; charset=utf-8";

/// Writes events one after the other.
#[derive(Debug)]
pub(super) struct Events<'a> {
    quirks: &'a Quirks,
    line_end: &'static str,
    pieces: Vec<Piece>,
}

impl<'a> Events<'a> {
    pub(super) fn new(quirks: &'a Quirks) -> Self {
        let line_end = if quirks.has(Quirk::Crlf) { "\r\n" } else { "\n" };
        Self { quirks, line_end, pieces: Vec::new() }
    }

    /// Events whose lines end as those of some vendors always do.
    pub(super) fn crlf(quirks: &'a Quirks) -> Self {
        Self { line_end: "\r\n", ..Self::new(quirks) }
    }

    pub(super) fn push(&mut self, name: Option<&str>, data: &Value) {
        self.push_after(Duration::ZERO, name, data);
    }

    /// An event after a wait.
    pub(super) fn push_after(&mut self, wait: Duration, name: Option<&str>, data: &Value) {
        let data =
            if self.quirks.has(Quirk::Multiline) { format!("{data:#}") } else { data.to_string() };
        self.push_text(wait, name, &data);
    }

    /// What was pushed last tells the client this usage.
    pub(super) fn telling(&mut self, usage: Usage) {
        if let Some(last) = self.pieces.last_mut() {
            last.tells = Some(usage);
        }
    }

    pub(super) fn push_text(&mut self, wait: Duration, name: Option<&str>, data: &str) {
        let end = self.line_end;
        let colon = if self.quirks.has(Quirk::Tight) { ":" } else { ": " };
        let mut text = String::new();
        if self.pieces.is_empty() && self.quirks.has(Quirk::Bom) {
            text.push('\u{feff}');
        }
        if self.quirks.has(Quirk::Comments) {
            text.push_str(&format!(": still at work{end}{end}"));
        }
        if let Some(name) = name {
            text.push_str(&format!("event{colon}{name}{end}"));
        }
        for line in data.lines() {
            text.push_str(&format!("data{colon}{line}{end}"));
        }
        text.push_str(end);
        self.pieces.push(Piece::after(wait, text));
    }

    pub(super) fn finish(self) -> Vec<Piece> {
        self.pieces
    }
}
