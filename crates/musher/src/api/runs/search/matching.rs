//! Whether an event holds the words, judged by what people see of it and not by how it is written.

use std::collections::HashSet;

use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::Value as Json;

use super::Match;
use musher_log::{Kinds, is_damage, line_kind};

/// Letters that are shown before and after the words.
const BEFORE: usize = 50;
const AFTER: usize = 110;
/// Fields of an event that hold ids and fixed words, which nobody looks for.
const FIXED: &[&str] = &[
    "seq",
    "at",
    "type",
    "turn",
    "scope",
    "raw",
    "call",
    "phase",
    "kind",
    "by",
    "ask",
    "item",
    "items",
    "origin",
    "prompt",
    "prompts",
    "trigger",
    "level",
    "of",
    "cost_basis",
    "task",
    "state",
    "stream",
    "edits",
];

/// What is looked for.
#[derive(Debug)]
pub(super) struct Matcher {
    words: String,
    /// Whether the words have only letters that every line can be searched for as it is.
    plain: bool,
    /// The words as they stand in a line of the log, where quotes and line ends are written otherwise.
    written: Finder<'static>,
    kinds: Kinds,
    tool: Option<String>,
    /// Calls of that tool; only the first word on a call names it.
    calls: HashSet<String>,
    errors: bool,
}

/// What of an event decides whether it is looked at.
#[derive(Deserialize)]
struct Outside {
    seq: u64,
    at: i64,
    turn: Option<u32>,
}

impl Matcher {
    pub(super) fn new(words: &str, kinds: Kinds, tool: Option<String>, errors: bool) -> Self {
        let plain = words.is_ascii();
        let words = lower(words);
        let quoted = Json::from(words.as_str()).to_string();
        let written = Finder::new(&quoted.as_bytes()[1..quoted.len() - 1]).into_owned();
        let tool = tool.filter(|tool| !tool.is_empty());
        Self { words, plain, written, kinds, tool, calls: HashSet::new(), errors }
    }

    /// The match in a line, if there is one.
    pub(super) fn find(&mut self, line: &[u8]) -> Option<Match> {
        if !self.kinds.has(line) {
            return None;
        }
        if is_damage(line) {
            // Whatever is looked for may be in what is lost.
            let event: Json = serde_json::from_slice(line).ok()?;
            let Outside { seq, at, turn } = Outside::deserialize(&event).ok()?;
            let excerpt = event["text"].as_str().unwrap_or_default().to_owned();
            return Some(Match { seq, at, kind: "notice".to_owned(), turn, excerpt });
        }
        // Calls are followed even where the words are not, because later words on them name only the call.
        let is_call = self.tool.is_some() && line_kind(line) == Some("tool");
        if !is_call && !self.may_hold(line) {
            return None;
        }
        let event: Json = serde_json::from_slice(line).ok()?;
        if !self.is_of_tool(&event) || (self.errors && !is_error(&event)) {
            return None;
        }
        let excerpt = self.excerpt(&event)?;
        let Outside { seq, at, turn } = Outside::deserialize(&event).ok()?;
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        Some(Match { seq, at, kind, turn, excerpt })
    }

    /// Whether the words can be in a line, found without reading it as JSON.
    fn may_hold(&self, line: &[u8]) -> bool {
        if self.words.is_empty() {
            return true;
        }
        match self.plain {
            true => self.written.find(&line.to_ascii_lowercase()).is_some(),
            false => {
                let line = lower(&String::from_utf8_lossy(line));
                self.written.find(line.as_bytes()).is_some()
            }
        }
    }

    fn is_of_tool(&mut self, event: &Json) -> bool {
        let Some(tool) = &self.tool else { return true };
        let named = |name: &Json| name.as_str().is_some_and(|name| name.eq_ignore_ascii_case(tool));
        match event["type"].as_str() {
            Some("tool") => {
                let call = event["call"].as_str().unwrap_or_default();
                if named(&event["name"]) {
                    self.calls.insert(call.to_owned());
                }
                self.calls.contains(call)
            }
            Some("ask_opened") => named(&event["body"]["tool"]),
            _ => false,
        }
    }

    /// The first text of an event that holds the words, around them; without words, its first text.
    fn excerpt(&self, event: &Json) -> Option<String> {
        let fields = event.as_object()?;
        let texts = fields.iter().filter(|(name, _)| !FIXED.contains(&name.as_str()));
        let found = texts.filter_map(|(_, value)| self.in_value(value)).next();
        match self.words.is_empty() {
            true => Some(found.unwrap_or_default()),
            false => found,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "numbers and the like are no text")]
    fn in_value(&self, value: &Json) -> Option<String> {
        match value {
            Json::String(text) => self.in_text(text),
            Json::Array(items) => items.iter().find_map(|item| self.in_value(item)),
            Json::Object(fields) => fields
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "kind" | "tool_kind" | "call"))
                .find_map(|(_, field)| self.in_value(field)),
            _ => None,
        }
    }

    fn in_text(&self, text: &str) -> Option<String> {
        if self.words.is_empty() {
            return Some(around(text, 0, 0)).filter(|text| !text.is_empty());
        }
        let lower = lower(text);
        let at = lower.find(&self.words)?;
        // Letters may change their length with their case, so the place is counted in letters.
        let start = lower[..at].chars().count();
        Some(around(text, start, self.words.chars().count()))
    }
}

/// A text without capitals. Each letter is taken alone, so that a piece of a text looks as it does in the whole.
fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Some letters of a text with those around them, on one line.
fn around(text: &str, start: usize, len: usize) -> String {
    let from = start.saturating_sub(BEFORE);
    let letters = text.chars().skip(from).take(start - from + len + AFTER);
    let piece: String = letters.collect();
    let words: Vec<&str> = piece.split_whitespace().collect();
    let mut shown = words.join(" ");
    if from > 0 {
        shown.insert(0, '…');
    }
    if text.chars().nth(start + len + AFTER).is_some() {
        shown.push('…');
    }
    shown
}

fn is_error(event: &Json) -> bool {
    match event["type"].as_str() {
        Some("error") => true,
        Some("tool") => event["phase"] == "failed",
        Some("notice") => event["level"] == "error",
        Some("turn_ended" | "session_ended") => event["error"].is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn find(words: &str, event: &Json) -> Option<String> {
        let mut matcher = Matcher::new(words, Kinds::default(), None, false);
        matcher.find(line(event).as_bytes()).map(|found| found.excerpt)
    }

    /// The event as it stands in a log.
    fn line(event: &Json) -> String {
        let fields = event.to_string();
        format!(r#"{{"seq":7,"at":1,"type":"item_done",{}"#, &fields[1..])
    }

    #[test]
    fn words_are_found_in_texts_whatever_their_case_and_however_they_are_written() {
        let event =
            json!({"body": {"kind": "text", "text": "He said \"HELLO\\World\"\nand left."}});
        assert!(find("hello\\world\"\nAND", &event).is_some());
        assert_eq!(find("left", &event).as_deref(), Some("He said \"HELLO\\World\" and left."));
        let event = json!({"body": {"kind": "text", "text": "Ünïcode STRASSE"}});
        assert!(find("üNÏ", &event).is_some());
    }

    #[test]
    fn names_of_fields_and_ids_are_not_what_people_look_for() {
        let event = json!({"item": "secret-id", "body": {"kind": "text", "text": "x"}});
        for words in ["item_done", "secret-id", "text", "body", "kind"] {
            assert_eq!(find(words, &event), None, "{words}");
        }
    }

    #[test]
    fn an_excerpt_is_short_and_has_the_words_in_it() {
        let text = format!("{} needle {}", "a ".repeat(5_000), "b ".repeat(5_000));
        let found = find("NEEDLE", &json!({"text": text})).unwrap();
        assert!(
            found.starts_with('…') && found.ends_with('…') && found.contains("needle"),
            "{found}"
        );
        assert!(found.chars().count() < 200);
    }

    proptest! {
        #[test]
        fn whatever_is_looked_for_is_found_where_it_is(text in "\\PC{1,60}", from in 0usize..50, len in 1usize..20) {
            let words: String = text.chars().skip(from).take(len).collect();
            prop_assume!(!words.is_empty());
            let event = json!({ "text": text });
            prop_assert!(find(&words, &event).is_some());
        }

        #[test]
        fn no_line_makes_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..80), words in "\\PC{0,5}") {
            Matcher::new(&words, Kinds::default(), Some("x".into()), true).find(&bytes);
        }
    }
}
