//! What a service tells of the usage of a call, and how much of it makes sense.

use musher_core::Tokens;
use serde_json::Value as Json;

/// No model can look at so much; a number above is none.
const MAX_REPORTED_TOKENS: u64 = 1_000_000_000;

/// What a service has told of the usage of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Told {
    #[default]
    Nothing,
    /// The least that it can be: the rest was not told yet, or not in a way that makes sense.
    Part(Tokens),
    /// The last word.
    All(Tokens),
}

impl Told {
    /// The tokens, as far as they were told.
    pub(crate) fn tokens(self) -> Tokens {
        match self {
            Self::Nothing => Tokens::default(),
            Self::Part(tokens) | Self::All(tokens) => tokens,
        }
    }

    /// The same, unless it is a last word that cannot be true: a request is never empty, nor is an answer that `said`
    /// something.
    pub(crate) fn believed(self, said: bool) -> Self {
        match self {
            Self::All(tokens) if tokens.context() == 0 && tokens.output == 0 => Self::Nothing,
            Self::All(tokens) if tokens.context() == 0 || (said && tokens.output == 0) => {
                Self::Part(tokens)
            }
            Self::Nothing | Self::Part(_) | Self::All(_) => self,
        }
    }
}

/// Reads the numbers of one usage. It remembers whether any of them makes no sense.
#[derive(Debug, Default)]
pub(crate) struct UsageNumbers {
    doubtful: bool,
}

impl UsageNumbers {
    /// A number, if there is one. Null is none.
    pub(crate) fn given(&mut self, json: &Json) -> Option<u64> {
        if json.is_null() {
            return None;
        }
        // Some services write whole numbers with a point.
        let float = || json.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0);
        let number = json.as_u64().or_else(|| float().map(|float| float as u64));
        let number = number.filter(|number| *number <= MAX_REPORTED_TOKENS);
        self.doubtful |= number.is_none();
        number
    }

    /// A number without which there is no bill.
    pub(crate) fn needed(&mut self, json: &Json) -> u64 {
        let number = self.given(json);
        self.doubtful |= number.is_none();
        number.unwrap_or(0)
    }

    /// A number that is left out where it is nothing.
    pub(crate) fn optional(&mut self, json: &Json) -> u64 {
        self.given(json).unwrap_or(0)
    }

    /// What is left of a number when its parts are taken away.
    pub(crate) fn rest(&mut self, whole: u64, parts: u64) -> u64 {
        self.doubtful |= parts > whole;
        whole.saturating_sub(parts)
    }

    /// The tokens as a last word, unless a number among them made no sense.
    pub(crate) fn all(&self, tokens: Tokens) -> Told {
        if self.doubtful { Told::Part(tokens) } else { Told::All(tokens) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_that_is_no_count_is_noticed() {
        for good in [json!(7), json!(7.0), json!(0)] {
            let mut numbers = UsageNumbers::default();
            numbers.needed(&good);
            assert!(!numbers.doubtful, "{good}");
        }
        for bad in [json!(-1), json!("7"), json!(1.5), json!(1e30), json!(u64::MAX), json!([])] {
            let mut numbers = UsageNumbers::default();
            assert_eq!(numbers.optional(&bad), 0, "{bad}");
            assert!(numbers.doubtful, "{bad}");
        }
        let mut numbers = UsageNumbers::default();
        assert_eq!((numbers.optional(&json!(null)), numbers.doubtful), (0, false));
        assert_eq!((numbers.needed(&json!(null)), numbers.doubtful), (0, true));
    }
}
