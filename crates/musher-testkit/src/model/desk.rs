//! What the server remembers between requests: the ledger and how often each failing scenario has failed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ledger::{Call, Ledger, Usage};

#[derive(Debug, Default)]
pub(super) struct Desk {
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    ledger: Ledger,
    failures: HashMap<String, u64>,
    /// Counts resets, so that an answer begun before a reset cannot write into the ledger that came after it.
    volume: u64,
}

/// Names one line of the ledger.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    volume: u64,
    index: usize,
}

impl Desk {
    pub(super) fn open(&self, call: Call) -> Line {
        let mut books = self.books();
        books.ledger.calls.push(call);
        Line { volume: books.volume, index: books.ledger.calls.len() - 1 }
    }

    pub(super) fn answered(&self, line: Line, status: u16, told: Usage) {
        self.change(line, |call| {
            call.status = status;
            call.usage = told;
        });
    }

    pub(super) fn delivered(&self, line: Line, usage: Usage) {
        self.change(line, |call| {
            call.usage = usage;
            call.counted = true;
        });
    }

    /// Says whether this request is one of the first `times` of its key; 0 means every request.
    pub(super) fn fails(&self, key: &str, times: u64) -> bool {
        let mut books = self.books();
        let seen = books.failures.entry(key.to_owned()).or_default();
        *seen += 1;
        times == 0 || *seen <= times
    }

    pub(super) fn ledger(&self) -> Ledger {
        self.books().ledger.clone()
    }

    pub(super) fn reset(&self) {
        let mut books = self.books();
        let volume = books.volume + 1;
        *books = Books { volume, ..Books::default() };
    }

    fn change(&self, line: Line, edit: impl FnOnce(&mut Call)) {
        let mut books = self.books();
        if books.volume == line.volume
            && let Some(call) = books.ledger.calls.get_mut(line.index)
        {
            edit(call);
        }
    }

    /// A test that panicked while it held the lock must not hide its own message behind a poisoned mutex.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
