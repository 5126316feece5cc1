//! Keeps the secrets that an agent was given out of everything it says.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};
use musher_core::{Channel, Delta, Event, ItemId, Scope};

/// Replaces secrets by their names.
#[derive(Debug)]
pub(super) struct Redactor {
    /// Finds secrets in JSON text, as they look once escaped.
    escaped: Option<Finder>,
    /// Finds secrets in plain text.
    plain: Option<Finder>,
    /// The plain secrets; a delta may end in the middle of one.
    secrets: Vec<String>,
    /// The ends of deltas that might be the start of a secret.
    held: HashMap<(ItemId, Channel), String>,
}

#[derive(Debug)]
struct Finder {
    patterns: AhoCorasick,
    replacements: Vec<String>,
}

impl Finder {
    fn new(pairs: &[(String, String)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let patterns = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(pairs.iter().map(|(_, secret)| secret))
            .ok()?;
        let replacements = pairs.iter().map(|(name, _)| format!("[redacted {name}]")).collect();
        Some(Self { patterns, replacements })
    }

    fn replace(&self, text: &str) -> Option<String> {
        self.patterns.is_match(text).then(|| self.patterns.replace_all(text, &self.replacements))
    }
}

/// How a text looks inside a JSON string.
fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

impl Redactor {
    /// `secrets` are names with values.
    pub(super) fn new(secrets: Vec<(String, String)>) -> Self {
        let mut escaped = Vec::new();
        for (name, secret) in &secrets {
            // A tool that prints JSON puts an escaped secret inside a string that is escaped again.
            let once = escape(secret);
            let twice = escape(&once);
            if twice != once {
                escaped.push((name.clone(), twice));
            }
            escaped.push((name.clone(), once));
        }
        Self {
            escaped: Finder::new(&escaped),
            plain: Finder::new(&secrets),
            secrets: secrets.into_iter().map(|(_, secret)| secret).collect(),
            held: HashMap::new(),
        }
    }

    pub(super) fn text(&self, text: String) -> String {
        self.plain.as_ref().and_then(|plain| plain.replace(&text)).unwrap_or(text)
    }

    /// The event without secrets; unchanged, and cheap, when it holds none.
    pub(super) fn event(&mut self, event: Event) -> Event {
        let Some(finder) = &self.escaped else {
            return event;
        };
        let clean = serde_json::to_string(&event).ok().and_then(|json| finder.replace(&json));
        match clean {
            None => event,
            // Replacing inside JSON strings keeps the JSON whole.
            Some(json) => serde_json::from_str(&json).unwrap_or(Event {
                kind: musher_core::EventKind::Native { name: "redacted".into(), frame: None },
                ..event
            }),
        }
    }

    /// The delta without secrets. An end that might be the start of one is held back until more is known; the whole
    /// text comes with its event in any case.
    pub(super) fn delta(&mut self, mut delta: Delta) -> Option<Delta> {
        let Some(plain) = &self.plain else {
            return Some(delta);
        };
        let key = (delta.item.clone(), delta.channel);
        let mut text = self.held.remove(&key).unwrap_or_default();
        text.push_str(&delta.text);
        if let Some(clean) = plain.replace(&text) {
            text = clean;
        }
        let keep = self.secrets.iter().map(|secret| overlap(&text, secret)).max().unwrap_or(0);
        if keep > 0 {
            self.held.insert(key, text.split_off(text.len() - keep));
        }
        delta.text = text;
        (!delta.text.is_empty()).then_some(delta)
    }

    /// What was held back of a content that is now whole.
    pub(super) fn item_done(&mut self, item: &ItemId, scope: &Scope) -> Vec<Delta> {
        let done: Vec<(ItemId, Channel)> =
            self.held.keys().filter(|(held, _)| held == item).cloned().collect();
        done.into_iter()
            .filter_map(|key| {
                let text = self.held.remove(&key)?;
                Some(Delta { item: key.0, channel: key.1, text, scope: scope.clone() })
            })
            .collect()
    }
}

/// The length of the longest end of `text` that `secret` begins with, short of all of it.
fn overlap(text: &str, secret: &str) -> usize {
    let longest = secret.len().saturating_sub(1).min(text.len());
    (1..=longest)
        .rev()
        .find(|&len| {
            text.as_bytes().ends_with(&secret.as_bytes()[..len])
                && text.is_char_boundary(text.len() - len)
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use musher_core::{EventKind, Level};

    fn redactor() -> Redactor {
        Redactor::new(vec![
            ("API_KEY".into(), "sk-live-1234".into()),
            ("ODD_TOKEN".into(), "a\"b\\c\nd-secret".into()),
        ])
    }

    fn notice(text: &str) -> Event {
        let kind = EventKind::Notice { level: Level::Info, code: None, text: text.into() };
        Event { seq: 1, at: 0, kind, turn: None, scope: Scope::Main, raw: None }
    }

    #[test]
    fn a_secret_never_reaches_an_event_plain_or_escaped_or_escaped_twice() {
        let odd = "a\"b\\c\nd-secret";
        let nested = serde_json::json!({ "out": odd }).to_string();
        for text in ["key sk-live-1234.", odd, &nested] {
            let line = serde_json::to_string(&redactor().event(notice(text))).unwrap();
            assert!(!line.contains("sk-live") && !line.contains("d-secret"), "{line}");
            assert!(line.contains("[redacted "), "{line}");
        }
    }

    #[test]
    fn a_secret_split_over_deltas_is_caught_and_innocent_text_is_not_lost() {
        let text = "the key is sk-live-1234, and sk-li is innocent";
        for size in 1..12 {
            let mut redactor = redactor();
            let mut shown = String::new();
            for piece in text.as_bytes().chunks(size) {
                let delta = Delta {
                    item: "i".into(),
                    channel: Channel::Text,
                    text: String::from_utf8(piece.to_vec()).unwrap(),
                    scope: Scope::Main,
                };
                shown.extend(redactor.delta(delta).map(|delta| delta.text));
            }
            assert_eq!(shown, "the key is [redacted API_KEY], and sk-li is innocent", "by {size}");
        }
    }

    #[test]
    fn what_was_held_back_is_said_when_the_content_is_whole() {
        let mut redactor = redactor();
        let text = "it begins with sk-li".to_owned();
        let delta = Delta { item: "i".into(), channel: Channel::Text, text, scope: Scope::Main };
        let first = redactor.delta(delta).unwrap().text;
        assert_eq!(first, "it begins with ");
        let rest = redactor.item_done(&"i".into(), &Scope::Main);
        assert_eq!(rest[0].text, "sk-li");
        assert!(redactor.item_done(&"i".into(), &Scope::Main).is_empty());
    }
}
