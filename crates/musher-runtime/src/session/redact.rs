//! Keeps the secrets that an agent was given out of everything it says.

mod known;
mod scan;

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use musher_core::{Channel, Delta, Event, EventScope, ItemId};
use serde_json::Value as Json;
use tracing::error;

use crate::needles::{Needles, automaton};

pub use known::Secrets;

/// Fields of an event that hold ids and fixed words. What is matched by them must stay what it is.
const FIXED: &[&str] = &[
    "ask",
    "by",
    "call",
    "forked_from",
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
    finder: Option<Finder>,
    /// The ends of deltas that might be the start of a secret.
    held: HashMap<(ItemId, Channel), String>,
    secrets: Vec<(String, String)>,
}

#[derive(Debug)]
struct Finder {
    /// Secrets as they stand in a text: plain, and escaped, because a text may hold JSON.
    plain: AhoCorasick,
    /// The same, for a quick look.
    needles: Needles,
    patterns: Vec<String>,
    replacements: Vec<String>,
}

/// How a text looks inside a JSON string.
fn escape(text: &str) -> String {
    let quoted = Json::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

impl Finder {
    /// `secrets` are names with values.
    fn new(secrets: &[(String, String)]) -> Option<Self> {
        let mut patterns = Vec::new();
        let mut replacements = Vec::new();
        for (name, secret) in secrets {
            let escaped = escape(secret);
            let variants = [Some(secret.clone()), Some(escaped).filter(|text| text != secret)];
            for variant in variants.into_iter().flatten() {
                patterns.push(variant);
                replacements.push(format!("[redacted {name}]"));
            }
        }
        if patterns.is_empty() {
            return None;
        }
        let plain = automaton(&patterns)?;
        Some(Self { plain, needles: Needles::new(&patterns), patterns, replacements })
    }

    fn is_in(&self, text: &str) -> bool {
        self.needles.may_be_in(text.as_bytes()) && self.plain.is_match(text)
    }

    fn text(&self, text: &mut String) {
        if self.is_in(text) {
            *text = self.plain.replace_all(text, &self.replacements);
        }
    }

    /// Cleans every text in a value, names included: the answers to questions are kept under their texts.
    fn value(&self, value: &mut Json) {
        match value {
            Json::String(text) => self.text(text),
            Json::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Json::Object(fields) => {
                fields.values_mut().for_each(|field| self.value(field));
                if fields.keys().any(|name| self.is_in(name)) {
                    let renamed = std::mem::take(fields).into_iter().map(|(mut name, value)| {
                        self.text(&mut name);
                        (name, value)
                    });
                    *fields = renamed.collect();
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn event(&self, event: &mut Json) {
        for (name, field) in event.as_object_mut().into_iter().flatten() {
            if FIXED.contains(&name.as_str()) {
                continue;
            }
            let nested = matches!(name.as_str(), "answer" | "body" | "cause" | "error");
            match field.as_object_mut().filter(|_| nested) {
                Some(inner) => {
                    let words =
                        inner.iter_mut().filter(|(key, _)| !FIXED_INSIDE.contains(&key.as_str()));
                    words.for_each(|(_, value)| self.value(value));
                }
                None => self.value(field),
            }
        }
    }

    /// The length of the longest end of `text` with which a secret begins, short of all of it.
    fn open_end(&self, text: &str) -> usize {
        let begins = |secret: &String| {
            let longest = secret.len().saturating_sub(1).min(text.len());
            let end = &text.as_bytes()[text.len() - longest..];
            let starts = memchr::memchr_iter(*secret.as_bytes().first()?, end);
            starts.map(|at| longest - at).find(|&len| {
                text.is_char_boundary(text.len() - len) && end.ends_with(&secret.as_bytes()[..len])
            })
        };
        self.patterns.iter().filter_map(begins).max().unwrap_or(0)
    }
}

impl Redactor {
    /// `secrets` are names with values.
    pub(super) fn new(secrets: &[(String, String)]) -> Self {
        let secrets = secrets.to_vec();
        Self { finder: Finder::new(&secrets), held: HashMap::new(), secrets }
    }

    /// Hides one more secret from now on.
    pub(super) fn hide(&mut self, name: String, value: String) {
        self.secrets.push((name, value));
        self.finder = Finder::new(&self.secrets);
    }

    pub(super) fn text(&self, mut text: String) -> String {
        if let Some(finder) = &self.finder {
            finder.text(&mut text);
        }
        text
    }

    /// The event without secrets; unchanged, and cheap, when it holds none.
    pub(super) fn event(&self, event: Event) -> Event {
        let Some(finder) = &self.finder else { return event };
        if !scan::holds(&event, &|text| finder.is_in(text)) {
            return event;
        }
        let clean = serde_json::to_value(&event).ok().and_then(|mut value| {
            finder.event(&mut value);
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
        let begun = finder.open_end(&delta.text) > 0;
        if self.held.is_empty() && !begun && !finder.is_in(&delta.text) {
            return (!delta.text.is_empty()).then_some(delta);
        }
        let key = (delta.item.clone(), delta.channel);
        let mut text = self.held.remove(&key).unwrap_or_default();
        text.push_str(&delta.text);
        // What may go on must be judged whole: of two secrets one may begin with the other.
        let cut = text.len() - finder.open_end(&text);
        let straddles = finder.plain.find_iter(&text).find(|m| m.start() < cut && cut < m.end());
        let rest = text.split_off(straddles.map_or(cut, |whole| whole.end()));
        finder.text(&mut text);
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
