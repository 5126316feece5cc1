//! Keeps the secrets that an agent was given out of everything it says.

mod known;
mod scan;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use musher_core::{Channel, Delta, Event, EventScope, ItemId};
use serde_json::Value as Json;
use tracing::error;

use crate::secret_finder::{FoundSecret, SecretFinder};

pub use known::Secrets;

/// Fields of an event that hold ids and fixed words. What is matched by them must stay what it is.
const FIXED: &[&str] = &[
    "ask",
    "by",
    "call",
    "fault",
    "forked_from",
    "gate",
    "item",
    "items",
    "kind",
    "level",
    "models",
    "of",
    "origin",
    "outcome",
    "phase",
    "prompt",
    "prompts",
    "result",
    "resumed_from",
    "scope",
    "session",
    "state",
    "stream",
    "task",
    "trigger",
    "type",
    "usage",
];
/// The same, one level further in.
const FIXED_INSIDE: &[&str] = &["call", "class", "decision", "kind", "tool_kind"];

/// Replaces secrets by their names.
#[derive(Debug)]
pub(super) struct Redactor {
    finder: Option<Arc<SecretFinder>>,
    /// The ends of deltas that might be the start of a secret.
    held: HashMap<(ItemId, Channel), String>,
    secrets: Vec<(String, String)>,
}

/// The text with names in place of secrets.
fn hidden(text: &str, found: &[FoundSecret<'_>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for FoundSecret { name, pieces } in found {
        for piece in pieces {
            out.push_str(&text[from..piece.start]);
            let _infallible = write!(out, "[redacted {name}]");
            from = piece.end;
        }
    }
    out.push_str(&text[from..]);
    out
}

impl SecretFinder {
    fn hide_in(&self, text: &mut String) {
        let found = self.find(text.as_bytes());
        if !found.is_empty() {
            *text = hidden(text, &found);
        }
    }

    /// Cleans every text in a value, names included: the answers to questions are kept under their texts.
    fn hide_in_value(&self, value: &mut Json) {
        match value {
            Json::String(text) => self.hide_in(text),
            Json::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Json::Object(fields) => {
                fields.values_mut().for_each(|field| self.hide_in_value(field));
                if fields.keys().any(|name| self.is_in(name.as_bytes())) {
                    let renamed = std::mem::take(fields).into_iter().map(|(mut name, value)| {
                        self.hide_in(&mut name);
                        (name, value)
                    });
                    *fields = renamed.collect();
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn hide_in_event(&self, event: &mut Json) {
        for (name, field) in event.as_object_mut().into_iter().flatten() {
            if FIXED.contains(&name.as_str()) {
                continue;
            }
            let nested = matches!(name.as_str(), "answer" | "body" | "cause" | "error");
            match field.as_object_mut().filter(|_| nested) {
                Some(inner) => {
                    let words =
                        inner.iter_mut().filter(|(key, _)| !FIXED_INSIDE.contains(&key.as_str()));
                    words.for_each(|(_, value)| self.hide_in_value(value));
                }
                None => self.hide_in_value(field),
            }
        }
    }
}

impl Redactor {
    /// `secrets` are names with values; `finder` finds them.
    pub(super) fn new(secrets: Vec<(String, String)>, finder: Option<Arc<SecretFinder>>) -> Self {
        Self { finder, held: HashMap::new(), secrets }
    }

    /// Hides one more secret from now on.
    pub(super) fn hide(&mut self, name: String, value: String) {
        self.secrets.push((name, value));
        self.finder = SecretFinder::new(&self.secrets);
    }

    pub(super) fn text(&self, mut text: String) -> String {
        if let Some(finder) = &self.finder {
            finder.hide_in(&mut text);
        }
        text
    }

    /// The event without secrets; unchanged, and cheap, when it holds none.
    pub(super) fn event(&self, event: Event) -> Event {
        let Some(finder) = &self.finder else { return event };
        if !scan::holds(&event, &|text| finder.is_in(text.as_bytes())) {
            return event;
        }
        let clean = serde_json::to_value(&event).ok().and_then(|mut value| {
            finder.hide_in_event(&mut value);
            serde_json::from_value(value).ok()
        });
        // Only texts were changed, so what was an event still is one.
        clean.unwrap_or_else(|| {
            error!(
                seq = event.seq,
                "event with a secret could not be cleaned, its content is left out"
            );
            let kind = musher_core::EventKind::Native { name: "redacted".into(), frame: None };
            Event { kind, ..event }
        })
    }

    /// The delta without secrets. An end that might be the start of one is held back until more is known; the whole
    /// text comes with its event in any case.
    pub(super) fn delta(&mut self, mut delta: Delta) -> Option<Delta> {
        let Some(finder) = &self.finder else { return Some(delta) };
        if self.held.is_empty() && finder.is_clear(delta.text.as_bytes()) {
            return (!delta.text.is_empty()).then_some(delta);
        }
        let key = (delta.item.clone(), delta.channel);
        let mut text = self.held.remove(&key).unwrap_or_default();
        text.push_str(&delta.text);
        // What may go on must be judged whole: of two secrets one may begin with the other.
        let cut = text.len() - finder.open_end(text.as_bytes());
        let mut found = finder.find(text.as_bytes());
        found.retain(|found| found.range().start < cut);
        let cut = found.last().map_or(cut, |last| last.range().end.max(cut));
        let rest = text.split_off(cut);
        if !found.is_empty() {
            text = hidden(&text, &found);
        }
        if !rest.is_empty() {
            self.held.insert(key, rest);
        }
        delta.text = text;
        (!delta.text.is_empty()).then_some(delta)
    }

    /// What was held back of a content that is now whole.
    pub(super) fn done(&mut self, item: &str, scope: &EventScope) -> Vec<Delta> {
        let keys: Vec<(ItemId, Channel)> =
            self.held.keys().filter(|(held, _)| held.as_str() == item).cloned().collect();
        keys.into_iter()
            .filter_map(|key| {
                let held = self.held.remove(&key)?;
                let text = self.text(held);
                Some(Delta { item: key.0, channel: key.1, text, scope: scope.clone() })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
