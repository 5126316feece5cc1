//! A promise that was broken, and what was seen of it.

use std::fmt;

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// Every viewer sees the log: gapless, without doubles, byte for byte.
    Numbers,
    /// What was acknowledged is found afterwards.
    Acknowledged,
    /// Every ask is answered exactly once.
    Asks,
    /// No process outlives its run.
    Orphans,
    /// No bill is below the books of its agent.
    Bill,
    /// Memory stays flat.
    Memory,
    /// The server serves: it starts, answers, and never fails at a request.
    Server,
    /// What was begun comes to its end.
    Progress,
}

/// So much of what was seen is shown.
const MOST: usize = 2_000;

/// A broken promise. Everything else that goes wrong is the soak's own trouble.
#[derive(Debug)]
pub(super) struct Broken {
    promise: Promise,
    seen: String,
}

impl Broken {
    pub(super) fn error(promise: Promise, seen: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self { promise, seen: seen.into() })
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let promise = match self.promise {
            Promise::Numbers => "what a viewer sees is the log",
            Promise::Acknowledged => "nothing acknowledged is lost",
            Promise::Asks => "every ask is answered once",
            Promise::Orphans => "no process outlives its run",
            Promise::Bill => "the bill is never below the agent's own books",
            Promise::Memory => "memory stays flat",
            Promise::Server => "the server serves",
            Promise::Progress => "what was begun comes to its end",
        };
        let seen: String = self.seen.chars().take(MOST).collect();
        write!(f, "{promise}: {seen}")
    }
}

impl std::error::Error for Broken {}
