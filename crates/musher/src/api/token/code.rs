//! One-time codes in the addresses that `serve` and `open` give out, which a page exchanges for a token.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::home::AccessToken;

/// How many codes may wait to be used; the oldest makes room.
const WAITING: usize = 16;

/// Codes of which each counts once.
#[derive(Debug)]
pub struct Code(Mutex<VecDeque<AccessToken>>);

impl Code {
    pub fn new(code: AccessToken) -> Self {
        Self(Mutex::new(VecDeque::from([code])))
    }

    fn codes(&self) -> MutexGuard<'_, VecDeque<AccessToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one more code count.
    pub(in crate::api) fn add(&self, code: AccessToken) {
        let mut codes = self.codes();
        if codes.len() >= WAITING {
            codes.pop_front();
        }
        codes.push_back(code);
    }

    /// Uses the code up, if there is such a one. A wrong one changes nothing, so that nobody can use one up by guessing.
    pub(in crate::api) fn redeem(&self, given: &str) -> bool {
        let mut codes = self.codes();
        // All are compared, so that the time tells nothing.
        let mut found = None;
        for (at, code) in codes.iter().enumerate() {
            if code.is(given) {
                found = Some(at);
            }
        }
        found.is_some_and(|at| codes.remove(at).is_some())
    }

    /// Lets a code that was used up count again, because nothing came of it.
    pub(in crate::api) fn give_back(&self, code: String) {
        self.add(AccessToken::given(code));
    }
}
