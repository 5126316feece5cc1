//! A quick look whether a text holds any of a few others, before one looks closely.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::memmem::Finder;
use tracing::error;

/// With more of them than this one closer look is quicker than many quick ones.
const MAX_SINGLE_SEARCHES: usize = 12;

/// What finds and names them, after the quick look. While there are few it is seldom asked, so that it is small rather than
/// fast: there may be a thousand runners, and each has two.
pub(crate) fn automaton(patterns: &[String]) -> Option<AhoCorasick> {
    let kind = (patterns.len() <= MAX_SINGLE_SEARCHES).then_some(AhoCorasickKind::ContiguousNFA);
    let built =
        AhoCorasick::builder().kind(kind).match_kind(MatchKind::LeftmostLongest).build(patterns);
    if let Err(cause) = &built {
        error!(patterns = patterns.len(), %cause, "secrets cannot be looked for");
    }
    built.ok()
}

/// What is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Needles(Vec<Finder<'static>>);

impl Needles {
    pub(crate) fn new(patterns: &[String]) -> Self {
        let few = patterns.iter().filter(|_| patterns.len() <= MAX_SINGLE_SEARCHES);
        Self(few.map(|pattern| Finder::new(pattern).into_owned()).collect())
    }

    /// `false` only if none of them is there.
    pub(crate) fn may_be_in(&self, text: &[u8]) -> bool {
        self.0.is_empty() || self.0.iter().any(|needle| needle.find(text).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_never_overlooked() {
        for count in 1..30 {
            let patterns: Vec<String> = (0..count).map(|n| format!("secret-{n}-value")).collect();
            let needles = Needles::new(&patterns);
            for pattern in &patterns {
                assert!(needles.may_be_in(format!("before {pattern} after").as_bytes()));
            }
            assert_eq!(needles.may_be_in(b"secret-x-value"), count > MAX_SINGLE_SEARCHES);
        }
    }
}
