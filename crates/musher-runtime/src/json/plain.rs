//! JSON as programs print it: no spaces, names without escapes. A line that is written so can be read in a fraction of the
//! time. Whoever meets anything else gets nothing, and reads the line in the ordinary way.

use super::{JsonText, read};

/// Where a reader stands in a line.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    rest: &'a str,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(line: &'a str) -> Option<Self> {
        // To look at all of them is quicker than to stop at the first.
        let least = line.bytes().fold(u8::MAX, u8::min);
        (least >= b' ').then_some(Self { rest: line })
    }

    /// The text under a name, if it is among texts at the beginning. What follows is not looked at.
    pub(super) fn leading_text(line: &'a str, name: &str) -> Option<&'a str> {
        let mut plain = Self { rest: line };
        plain.step('{')?;
        loop {
            let found = plain.name()?;
            plain.step(':')?;
            let text = plain.name()?;
            if found == name {
                return Some(text);
            }
            plain.step(',')?;
        }
    }

    /// Reads an object. What stands under a name must be read whole.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        self.step('{')?;
        self.list('}', |plain| {
            let name = plain.name()?;
            plain.step(':')?;
            member(plain, name)
        })
    }

    /// What is between commas, up to the end.
    fn list(&mut self, end: char, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.step(end).is_some() {
            return Some(());
        }
        loop {
            one(self)?;
            if self.step(',').is_none() {
                return self.step(end);
            }
        }
    }

    /// A text in which nothing is escaped.
    pub(crate) fn text(&mut self) -> Option<JsonText<'a>> {
        self.name().map(|text| JsonText(text.into()))
    }

    /// The same, or that there is none.
    pub(crate) fn optional_text(&mut self) -> Option<Option<JsonText<'a>>> {
        if self.word("null").is_some() { Some(None) } else { self.text().map(Some) }
    }

    /// A text of whatever is written.
    pub(crate) fn string(&mut self) -> Option<String> {
        let inside = self.rest.strip_prefix('"')?;
        let (mut end, mut escaped) = (0, false);
        loop {
            end += memchr::memchr2(b'"', b'\\', inside.as_bytes().get(end..)?)?;
            if inside.as_bytes()[end] == b'"' {
                break;
            }
            escaped = true;
            end += 2;
        }
        let (quoted, rest) = self.rest.split_at(end + 2);
        self.rest = rest;
        if escaped { read(quoted) } else { Some(inside[..end].to_owned()) }
    }

    pub(crate) fn count(&mut self) -> Option<u64> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        // A zero in front, a fraction and an exponent are the business of others.
        if (number.len() > 1 && number.starts_with('0')) || rest.starts_with(['.', 'e', 'E']) {
            return None;
        }
        self.rest = rest;
        number.parse().ok()
    }

    /// The same, or that there is none.
    pub(crate) fn optional_count(&mut self) -> Option<Option<u64>> {
        if self.word("null").is_some() { Some(None) } else { self.count().map(Some) }
    }

    /// Passes over whatever there is. How deep it is nested was looked at before.
    pub(crate) fn skip(&mut self) -> Option<()> {
        match self.rest.as_bytes().first()? {
            b'"' => self.name().map(|_| ()),
            b'0'..=b'9' => self.count().map(|_| ()),
            b'{' => self.object(|plain, _| plain.skip()),
            b'[' => {
                self.step('[')?;
                self.list(']', Self::skip)
            }
            _ => ["null", "true", "false"].into_iter().find_map(|word| self.word(word)),
        }
    }

    pub(crate) fn end(&self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }

    fn name(&mut self) -> Option<&'a str> {
        let inside = self.rest.strip_prefix('"')?;
        let end = memchr::memchr2(b'"', b'\\', inside.as_bytes())?;
        let (name, rest) = inside.split_at(end);
        self.rest = rest.strip_prefix('"')?;
        Some(name)
    }

    fn step(&mut self, over: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(over)?;
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }
}

/// Keeps what was read, unless something of that name was read before.
pub(crate) fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text, a count, and whatever else.
    fn found(line: &str) -> Option<(String, u64)> {
        let (mut text, mut count) = (None, None);
        let mut plain = Plain::new(line)?;
        plain.object(|plain, name| match name {
            "text" => once(&mut text, plain.string()?),
            "count" => once(&mut count, plain.count()?),
            _ => plain.skip(),
        })?;
        plain.end()?;
        Some((text?, count?))
    }

    #[test]
    fn a_line_as_programs_print_it_is_read() {
        let line = r#"{"a":null,"text":"x\"y\\\u00e9\n","b":[],"count":17,"d":[false,{}],"e":{"f":{"g":"h"}}}"#;
        assert_eq!(found(line), Some(("x\"y\\é\n".to_owned(), 17)));
        assert_eq!(found(r#"{"count":0,"text":""}"#), Some((String::new(), 0)));
    }

    #[test]
    fn whatever_is_written_otherwise_is_left_to_others() {
        for line in [
            r#"{"text": "x","count":1}"#,
            r#"{"text":"x","count":1} "#,
            r#"{"text":"x","count":1}}"#,
            r#"{"text":"x","count":1"#,
            r#"{"text":"x","count":1,}"#,
            r#"{"text":"x","count":01}"#,
            r#"{"text":"x","count":1.5}"#,
            r#"{"text":"x","count":1e3}"#,
            r#"{"text":"x","count":-1}"#,
            r#"{"text":"x","count":99999999999999999999}"#,
            r#"{"text":"x","count":}"#,
            r#"{"text":"x","count":1,"count":2}"#,
            r#"{"text":"x","count":1,"b":{"c"}}"#,
            r#"{"text":"x","count":1,"b":{"c":1]}"#,
            r#"{"text":"x","count":1,"b":[1,]}"#,
            r#"{"text":"x","count":1,"b":[1 2]}"#,
            r#"{"text":"x","count":1,"b":nul}"#,
            r#"{"text":"x","count":1,"b":"\u0041"}"#,
            r#"{"text":"x","count":1,"\u0041":2}"#,
            r#"{"text":"\x","count":1}"#,
            r#"{"text":"x\"#,
            r#"{"text":"x\""#,
            "{\"text\":\"\u{1}\",\"count\":1}",
            "{}",
            "",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
