//! Masks secrets in a stream of bytes that comes in pieces, such as a copy of an agent's output or a recording of a terminal.
//!
//! A mask is as long as what it hides, so that places in the stream stay places in the copy.

use std::sync::Arc;

use super::SecretFinder;

const MASK: u8 = b'*';

/// One stream on its way to its copy.
#[derive(Debug)]
pub(crate) struct MaskedStream {
    finder: Option<Arc<SecretFinder>>,
    /// What was not handed on: what is new, and before it an end in which a secret may have begun.
    held: Vec<u8>,
}

impl MaskedStream {
    pub(crate) fn new(finder: Option<Arc<SecretFinder>>) -> Self {
        Self { finder, held: Vec::new() }
    }

    /// Takes what is new. It is looked at only when it is handed on.
    pub(crate) fn push(&mut self, fresh: &[u8]) {
        self.held.extend_from_slice(fresh);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// All that can be judged: not an end in which a secret may have begun.
    pub(crate) fn ready(&mut self) -> Vec<u8> {
        let open = self.finder.as_ref().map_or(0, |finder| finder.open_end(&self.held));
        self.masked(self.held.len() - open)
    }

    /// All that is left; nothing that was begun can go on.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.masked(self.held.len())
    }

    fn masked(&mut self, mut cut: usize) -> Vec<u8> {
        if let Some(finder) = &self.finder {
            for found in finder.find(&self.held) {
                // What begins behind the cut may go on; what begins before it is here whole.
                if found.range().start >= cut {
                    break;
                }
                cut = cut.max(found.range().end);
                found.pieces.into_iter().for_each(|piece| self.held[piece].fill(MASK));
            }
        }
        let rest = self.held.split_off(cut);
        std::mem::replace(&mut self.held, rest)
    }
}
