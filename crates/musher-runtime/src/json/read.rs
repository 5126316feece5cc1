//! Reads the JSON of one line.
//!
//! What is nested too deep must be turned away first: the fast reader follows it to the end of the stack. Lines are
//! texts here, because it looks only afterwards whether bytes are UTF-8.

use std::borrow::Cow;

use memchr::memchr2;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::{DEEPEST, Plain};

/// A value that was found and not read yet.
pub(crate) type RawJson<'a> = sonic_rs::LazyValue<'a>;

/// A text as it stands in the line; a copy only where something in it is escaped.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl std::ops::Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Whether a line is nested deeper than it may be to be read.
pub(crate) fn is_too_deep(line: &str) -> bool {
    // Few lines have so many brackets that their order matters. Both kinds differ in one bit, and a byte is wide enough
    // to count them in a short stretch, so that many are counted at once.
    let count =
        |stretch: &[u8]| stretch.iter().map(|byte| u8::from(byte | 0x20 == b'{')).sum::<u8>();
    let opens: usize = line.as_bytes().chunks(128).map(|stretch| usize::from(count(stretch))).sum();
    opens > DEEPEST && depth(line) > DEEPEST
}

/// How deep a line is nested, whether or not it is JSON; it is not looked at any further than it may be read.
fn depth(line: &str) -> usize {
    let bytes = line.as_bytes();
    let (mut depth, mut deepest, mut at) = (0_usize, 0, 0);
    while at < bytes.len() && deepest <= DEEPEST {
        match bytes[at] {
            b'"' => at = text_end(bytes, at + 1),
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Where a text ends that begins here.
fn text_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

/// A line as the shape that is expected of it. Half a character, as is left where a text was cut, becomes a mark.
pub(crate) fn read<'a, T: Deserialize<'a>>(line: &'a str) -> Option<T> {
    let mut reader = sonic_rs::Deserializer::from_str(line).utf8_lossy();
    let value = T::deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// A part of a line as the shape that is expected of it.
pub(crate) fn read_piece<T: DeserializeOwned>(piece: &RawJson<'_>) -> Option<T> {
    read(piece.as_raw_str())
}

/// The text under a name of an object. What follows it is not looked at, and may not even be JSON.
pub(crate) fn text_in<'a>(line: &'a str, name: &str) -> Option<JsonText<'a>> {
    // What tells frames apart nearly always stands there.
    if let Some(text) = Plain::leading_text(line, name) {
        return Some(JsonText(text.into()));
    }
    let found = sonic_rs::get(line, [name]).ok()?;
    match found.as_raw_cow() {
        Cow::Borrowed(raw) => read(raw),
        Cow::Owned(raw) => read::<String>(&raw).map(|text| JsonText(text.into())),
    }
}

/// Whether all of a line is JSON.
pub(crate) fn is_whole(line: &str) -> bool {
    sonic_rs::from_str::<IgnoredAny>(line).is_ok()
}

/// A value of the expected shape, or nothing: new versions change fields without a word.
pub(crate) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let piece = RawJson::deserialize(deserializer)?;
    Ok(read_piece(&piece).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn what_is_read_can_be_read_again_by_everybody_inside_an_event() {
        let line = nested(DEEPEST);
        assert!(!is_too_deep(&line));
        assert!(read::<RawJson<'_>>(&line).is_some() && is_whole(&line));
        let value: Json = read(&line).unwrap();
        let inside = serde_json::json!({ "a": { "b": value } }).to_string();
        assert!(serde_json::from_str::<Json>(&inside).is_ok());
    }

    #[test]
    fn only_real_nesting_counts_as_depth() {
        assert!(is_too_deep(&nested(DEEPEST + 1)));
        assert!(is_too_deep(&"[{".repeat(1_000_000)));
        assert!(!is_too_deep(&"[]{}".repeat(1_000)));
        let text = format!(r#"{{"a":"{}\"{}"}}"#, "[".repeat(500), "{".repeat(500));
        assert!(!is_too_deep(&text));
    }

    #[test]
    fn the_digits_of_a_number_survive() {
        let text = r#"{"cost":0.09401200000000001,"count":18446744073709551615,"less":-3}"#;
        assert_eq!(read::<Json>(text).unwrap().to_string(), text);
    }

    #[test]
    fn a_text_is_found_wherever_it_stands_and_however_it_is_written() {
        for line in [
            r#"{"type":"a b","x":1}"#,
            r#"{"x":{"type":"no"},"type":"a b"}"#,
            r#"{ "\u0074ype" : "a\u0020b" }"#,
            r#"{"type":"a b", and then nothing that is JSON"#,
        ] {
            assert_eq!(text_in(line, "type").as_deref(), Some("a b"), "{line}");
        }
        for line in [r#"{"type":7}"#, r#"{"x":1}"#, "[1]", "7", "", "{", "\0"] {
            assert!(text_in(line, "type").is_none(), "{line}");
        }
    }

    #[test]
    fn what_is_not_json_to_its_end_is_not_whole() {
        for line in [r#"{"a":[1,{"b":"\u00e9"}]}"#, "7", " null "] {
            assert!(is_whole(line), "{line}");
        }
        for line in [r#"{"a":1"#, r#"{"a":1}}"#, r#"{"a" 1}"#, "", "nul", r#"{"a":"\x"}"#] {
            assert!(!is_whole(line), "{line}");
        }
    }
}
