//! What the server remembers between requests: the ledger and how often each failing scenario has failed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::asked::Request;
use super::ledger::{Call, CallEnd, Ledger, Usage};

/// How many requests are kept, and how many bytes of them; an endless conversation must not fill the memory.
const KEPT_REQUESTS: usize = 1000;
const KEPT_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Desk {
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    ledger: Ledger,
    /// The latest requests, oldest first.
    requests: VecDeque<Request>,
    request_bytes: usize,
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
    pub(super) fn open(&self, call: Call, request: Request) -> Line {
        let mut books = self.books();
        let index = books.ledger.calls.len();
        books.ledger.calls.push(call);
        books.keep(Request { call: index, ..request });
        Line { volume: books.volume, index }
    }

    /// The answer is an error and nothing else.
    pub(super) fn refused(&self, line: Line, status: u16) {
        self.change(line, |call| {
            call.status = status;
            call.end = CallEnd::Refused;
        });
    }

    /// An answer begins that will have cost this much when it is whole.
    pub(super) fn begun(&self, line: Line, status: u16, charged: Usage) {
        self.change(line, |call| {
            call.status = status;
            call.charged = charged;
        });
    }

    /// The client was told a usage.
    pub(super) fn told(&self, line: Line, usage: Usage) {
        self.change(line, |call| call.usage = usage);
    }

    /// The answer is over; only the first word on it counts.
    pub(super) fn ended(&self, line: Line, end: CallEnd) {
        self.change(line, |call| {
            if call.end == CallEnd::Open {
                call.end = end;
                call.counted = end == CallEnd::Whole;
            }
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

    pub(super) fn requests(&self) -> Vec<Request> {
        self.books().requests.iter().cloned().collect()
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

impl Books {
    fn keep(&mut self, request: Request) {
        self.request_bytes += request.body.len();
        self.requests.push_back(request);
        while self.requests.len() > KEPT_REQUESTS || self.request_bytes > KEPT_BYTES {
            let Some(oldest) = self.requests.pop_front() else {
                return;
            };
            self.request_bytes -= oldest.body.len();
        }
    }
}
