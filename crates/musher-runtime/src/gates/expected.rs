//! Looks for what a gate must print if it is to pass.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkMatch};
use tracing::warn;

use crate::process::LineBody;

/// How much memory a compiled expression may take.
const MAX_COMPILED_BYTES: usize = 1024 * 1024;

/// An expression and whether a line has matched it.
#[derive(Debug)]
pub(super) struct ExpectedOutput {
    search: Option<(RegexMatcher, Searcher)>,
}

impl ExpectedOutput {
    /// Looks for nothing, or for a match of this expression in one line.
    pub(super) fn of(pattern: Option<&str>) -> Result<Self, String> {
        let Some(pattern) = pattern else { return Ok(Self { search: None }) };
        let refused = |why: &str| {
            format!("expects `{pattern}`, which is not a regular expression: {why}; correct it")
        };
        if pattern.is_empty() {
            return Err(refused("it is empty"));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES);
        let matcher = builder.build(pattern).map_err(|error| {
            // The last line says why; those before it draw the pattern again.
            let why = error.to_string();
            refused(why.lines().last().unwrap_or_default().trim_start_matches("error: "))
        })?;
        Ok(Self { search: Some((matcher, SearcherBuilder::new().line_number(false).build())) })
    }

    /// Looks at one more line; once it is found there is nothing to look for any more.
    pub(super) fn look_at(&mut self, line: &LineBody) {
        let found = match line {
            LineBody::Whole(text) | LineBody::Shortened(text) => self.is_in(text),
            LineBody::Cut { head, tail } => self.is_in(head) || self.is_in(tail),
        };
        if found {
            self.search = None;
        }
    }

    fn is_in(&mut self, text: &[u8]) -> bool {
        let Some((matcher, searcher)) = &mut self.search else { return false };
        let mut found = FirstMatch(false);
        if let Err(cause) = searcher.search_slice(&*matcher, text, &mut found) {
            warn!(%cause, "a line of a gate could not be searched");
        }
        found.0
    }

    /// Whether nothing is missing.
    pub(super) fn is_met(&self) -> bool {
        self.search.is_none()
    }
}

/// Whether anything has matched; the first match is enough.
struct FirstMatch(bool);

impl Sink for FirstMatch {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.0 = true;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(pattern: Option<&str>, lines: &[&str]) -> bool {
        let mut expected = ExpectedOutput::of(pattern).unwrap();
        for line in lines {
            expected.look_at(&LineBody::Whole(line.as_bytes().to_vec().into()));
        }
        expected.is_met()
    }

    #[test]
    fn a_match_in_any_line_is_enough_and_nothing_expected_is_always_met() {
        let tests = Some("^ *[1-9][0-9]* tests? run$");
        assert!(met(tests, &["building", "  12 tests run", "done"]));
        assert!(met(None, &[]));
        assert!(!met(tests, &["0 tests run", ""]));
        assert!(!met(tests, &["12 tests", "run"]), "a match is in one line");
    }

    #[test]
    fn a_line_that_was_cut_is_searched_at_both_ends() {
        for found in ["head", "tail"] {
            let mut expected = ExpectedOutput::of(Some(found)).unwrap();
            let (head, tail) = (b"the head".to_vec().into(), b"the tail".to_vec().into());
            expected.look_at(&LineBody::Cut { head, tail });
            assert!(expected.is_met(), "{found}");
        }
    }
}
