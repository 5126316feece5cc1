//! Where a feed stands: the last fact, and a place in each run's log. Clients send it back and need not read it.

use std::fmt;
use std::str::FromStr;

use musher_core::RunId;

use musher_log::Cursor;

/// How many runs one feed follows at most.
pub(in crate::api) const MAX_FOLLOWED_RUNS: usize = 32;

/// The id of an event in a feed, written `f7_r1-1.5_r2-1.9`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::api) struct Vector {
    pub(in crate::api) facts: u64,
    pub(in crate::api) runs: Vec<(RunId, Cursor)>,
}

/// A text that is not the id of an event in a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the Last-Event-ID is none that a feed has given")]
pub(in crate::api) struct NoVector;

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.facts)?;
        self.runs.iter().try_for_each(|(run, cursor)| write!(f, "_{run}-{cursor}"))
    }
}

impl FromStr for Vector {
    type Err = NoVector;

    fn from_str(text: &str) -> Result<Self, NoVector> {
        let mut parts = text.split('_');
        let facts = parts.next().and_then(|part| part.strip_prefix('f')).ok_or(NoVector)?;
        let digits = !facts.is_empty() && facts.bytes().all(|byte| byte.is_ascii_digit());
        let facts = facts.parse().ok().filter(|_| digits).ok_or(NoVector)?;
        let run = |part: &str| {
            let (run, cursor) = part.split_once('-')?;
            Some((RunId::parse(run).ok()?, cursor.parse().ok()?))
        };
        let runs = parts.map(run).collect::<Option<Vec<_>>>().ok_or(NoVector)?;
        match runs.len() <= MAX_FOLLOWED_RUNS {
            true => Ok(Self { facts, runs }),
            false => Err(NoVector),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_vector_is_read_back_as_it_was_written() {
        let runs = vec![
            (RunId::minted(1), Cursor { epoch: 1, seq: 5 }),
            (RunId::minted(20), Cursor { epoch: 3, seq: 0 }),
        ];
        let vector = Vector { facts: 7, runs };
        assert_eq!(vector.to_string(), "f7_r1-1.5_r20-3.0");
        assert_eq!(vector.to_string().parse(), Ok(vector));
    }

    proptest! {
        #[test]
        fn no_text_from_outside_makes_it_fail_in_another_way_than_by_refusing(text in "\\PC{0,64}") {
            if let Ok(vector) = text.parse::<Vector>() {
                prop_assert_eq!(vector.to_string().parse(), Ok(vector));
            }
        }
    }
}
