//! The books that worker agents keep of every call of a model, and whether a bill holds beside them.

use std::collections::BTreeMap;
use std::path::Path;

/// The file in a worker's home.
pub const BOOKS: &str = "books";

/// Input and output.
pub type Tokens = (u64, u64);

/// What the agents have written down, by session and call.
#[derive(Debug, Default)]
pub struct Books(BTreeMap<String, BTreeMap<String, Call>>);

#[derive(Debug, Default, Clone, Copy)]
struct Call {
    /// What was told of it for sure.
    least: Tokens,
    /// What may have been told of it.
    most: Tokens,
}

/// What a session was charged for, over all of its runs.
#[derive(Debug, Default, Clone, Copy)]
pub struct Bill {
    pub tokens: Tokens,
    /// The cost is said to be unknown.
    pub unknown: bool,
    /// Some run of it did not come to a good end.
    pub broken_off: bool,
    /// Some run of it lost its runner, which may not have read all that was told.
    pub lost: bool,
}

/// How a bill holds beside the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balance {
    /// It is stated as known, and nothing is missing or too much.
    Known,
    /// It is said to be unknown, as it may be.
    Unknown,
}

impl Books {
    pub fn read(home: &Path) -> Self {
        let mut books = Self::default();
        for line in std::fs::read_to_string(home.join(BOOKS)).unwrap_or_default().lines() {
            let parts: Vec<&str> = line.split(' ').collect();
            let [step, session, call, input, output] = parts[..] else { continue };
            let (Ok(input), Ok(output)) = (input.parse(), output.parse()) else { continue };
            let calls = books.0.entry(session.to_owned()).or_default();
            let call = calls.entry(call.to_owned()).or_default();
            match step {
                "begins" | "ends" => call.most = (input, output),
                "ended" => call.least = (input, output),
                // What was told of a call without a last word is an estimate at best.
                _ => {}
            }
        }
        books
    }

    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What was told of a session for sure, and what may have been.
    pub fn bounds(&self, session: &str) -> (Tokens, Tokens) {
        let calls = || self.0.get(session).into_iter().flat_map(BTreeMap::values);
        let least = calls().map(|call| call.least).fold((0, 0), sum);
        (least, calls().map(|call| call.most).fold((0, 0), sum))
    }

    /// Whether a bill is as the books say; else what is wrong with it. It is never below what was told, unless a runner
    /// was killed that may not have read it, and then it is said to be unknown. It is never above.
    pub fn judge(&self, session: &str, bill: Bill) -> Result<Balance, String> {
        let (least, most) = self.bounds(session);
        let below = bill.tokens.0 < least.0 || bill.tokens.1 < least.1;
        let above = bill.tokens.0 > most.0 || bill.tokens.1 > most.1;
        let wrong = match (below, above, bill.unknown) {
            (true, _, false) => "is stated as known and is below what was told",
            (true, _, true) if !bill.lost => "is below what was told, and no runner was killed",
            (_, true, _) => "is above what can have been told",
            (_, _, true) if !bill.broken_off => "is unknown although all of it went well",
            (false, false, false) => return Ok(Balance::Known),
            (_, false, true) => return Ok(Balance::Unknown),
        };
        Err(format!(
            "the bill of session {session} {wrong}: {bill:?}, at least {least:?}, at most {most:?}"
        ))
    }
}

pub fn sum(a: Tokens, b: Tokens) -> Tokens {
    (a.0 + b.0, a.1 + b.1)
}
