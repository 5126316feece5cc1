//! Reads `[[scn:NAME key=value …]]` markers out of what the user said.

use std::collections::BTreeMap;

const OPEN: &str = "[[scn:";
const CLOSE: &str = "]]";

/// Keys whose values are names or JSON, in which an underscore means an underscore.
const LITERAL: [&str; 10] =
    ["args", "as", "event", "file", "path", "reason", "served", "status", "tool", "usage"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) name: String,
    /// The marker as it was written; it is the key of "fail n times" counters.
    pub(super) raw: String,
    values: BTreeMap<String, String>,
}

impl Marker {
    /// The last complete marker in a text.
    pub(super) fn last_in(text: &str) -> Option<Self> {
        text.rmatch_indices(OPEN).find_map(|(start, _)| Self::parse(&text[start..]))
    }

    pub(super) fn plain() -> Self {
        Self { name: "text".to_owned(), ..Self::default() }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    pub(super) fn text(&self, key: &str, default: &str) -> String {
        self.get(key).unwrap_or(default).to_owned()
    }

    pub(super) fn number(&self, key: &str, default: u64) -> u64 {
        self.get(key).and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| value == "true")
    }

    fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(OPEN)?;
        let mut rest = body;
        let name = take_word(&mut rest);
        let mut values = BTreeMap::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix(CLOSE) {
                let raw = text[..text.len() - after.len()].to_owned();
                return Some(Self { name, raw, values });
            }
            let end = rest.find(|c: char| c == '=' || c.is_whitespace())?;
            let key = rest[..end].to_owned();
            rest = rest[end..].strip_prefix('=')?;
            let value = match rest.strip_prefix('"') {
                Some(quoted) => {
                    let (value, after) = take_quoted(quoted)?;
                    rest = after;
                    value
                }
                None if LITERAL.contains(&key.as_str()) => take_word(&mut rest),
                None => take_word(&mut rest).replace('_', " "),
            };
            values.insert(key, value);
        }
    }
}

/// Takes what stands before the next blank or the end of the marker.
fn take_word(rest: &mut &str) -> String {
    let blank = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let close = rest.find(CLOSE).unwrap_or(rest.len());
    let (word, after) = rest.split_at(blank.min(close));
    *rest = after;
    word.to_owned()
}

/// Takes a quoted value, whose opening quote is already gone; a backslash keeps the next character, `\n` is a new line.
fn take_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_quotes_and_file_names() {
        let text = r#"hello [[scn:bash cmd="echo a_b ]] \"x\"" say=I_am path=a_b.txt n=3]] go"#;
        let marker = Marker::last_in(text).unwrap();
        assert_eq!(marker.name, "bash");
        assert_eq!(marker.get("cmd"), Some(r#"echo a_b ]] "x""#));
        assert_eq!(marker.get("say"), Some("I am"));
        assert_eq!(marker.get("path"), Some("a_b.txt"));
        assert_eq!(marker.number("n", 0), 3);
        assert!(marker.raw.starts_with("[[scn:bash") && marker.raw.ends_with("n=3]]"));
    }

    #[test]
    fn the_last_complete_marker_wins() {
        let marker = Marker::last_in("[[scn:text]] [[scn:echo]] [[scn:bash cmd").unwrap();
        assert_eq!(marker.name, "echo");
        assert_eq!(Marker::last_in("no marker [[scn"), None);
    }
}
