//! The one-time code in the address that `serve` prints, which a page exchanges for a token.

use std::sync::{Mutex, PoisonError};

use crate::home::Token;

/// A code that counts once.
#[derive(Debug)]
pub struct Code(Mutex<Option<Token>>);

impl Code {
    pub fn new(code: Token) -> Self {
        Self(Mutex::new(Some(code)))
    }

    /// Uses the code up, if this is it. A wrong one changes nothing, so that nobody can use it up by guessing.
    pub(super) fn redeem(&self, given: &str) -> bool {
        let mut code = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let right = code.as_ref().is_some_and(|code| code.is(given));
        if right {
            *code = None;
        }
        right
    }

    /// Lets a code that was used up count again, because nothing came of it.
    pub(super) fn give_back(&self, code: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Token::given(code));
    }
}
