//! A copy of what an agent printed, byte by byte, for a host that keeps it; secrets in it are masked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::secret_finder::{MaskedStream, SecretFinder};

/// Where copies go. It lasts for a session, through all of its processes.
#[derive(Debug, Clone)]
pub(crate) struct Tap {
    copies: mpsc::Sender<Bytes>,
    finder: Option<Arc<SecretFinder>>,
    secrets: Vec<(String, String)>,
    /// How much was printed so far.
    printed: Arc<AtomicU64>,
}

impl Tap {
    /// `secrets` are names with values.
    pub(crate) fn new(copies: mpsc::Sender<Bytes>, secrets: Vec<(String, String)>) -> Self {
        let finder = SecretFinder::new(&secrets);
        Self::with_finder(copies, secrets, finder)
    }

    /// The same, with what already finds them.
    pub(crate) fn with_finder(
        copies: mpsc::Sender<Bytes>,
        secrets: Vec<(String, String)>,
        finder: Option<Arc<SecretFinder>>,
    ) -> Self {
        Self { copies, finder, secrets, printed: Arc::default() }
    }

    /// The same, with one more secret to mask.
    pub(crate) fn hiding(mut self, name: &str, value: &str) -> Self {
        self.secrets.push((name.to_owned(), value.to_owned()));
        self.finder = SecretFinder::new(&self.secrets);
        self
    }

    /// The copy of one process's output.
    pub(crate) fn open(&self) -> Copying {
        let stream = MaskedStream::new(self.finder.clone());
        Copying { tap: self.clone(), stream, fresh: false, ended: false }
    }

    /// Where the next process's output begins.
    pub(crate) fn position(&self) -> u64 {
        self.printed.load(Ordering::Relaxed)
    }
}

/// One process's output on its way to the copy.
#[derive(Debug)]
pub(crate) struct Copying {
    tap: Tap,
    stream: MaskedStream,
    fresh: bool,
    ended: bool,
}

impl Copying {
    /// Takes what was just read. It is looked at only when it is handed on: others wait for what it means. More may be
    /// read only after that.
    pub(crate) fn push(&mut self, fresh: &[u8]) {
        self.tap.printed.fetch_add(fresh.len() as u64, Ordering::Relaxed);
        self.stream.push(fresh);
        self.fresh = true;
    }

    /// The output has ended; nothing that was begun can go on.
    pub(crate) fn finish(&mut self) {
        self.ended = true;
        self.fresh = !self.stream.is_empty();
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.fresh
    }

    /// Hands on what waits. A host that no longer takes copies gets none.
    pub(crate) async fn hand_on(&mut self) {
        let permit = self.tap.copies.reserve().await;
        self.fresh = false;
        let ready = if self.ended { self.stream.rest() } else { self.stream.ready() };
        if let Ok(permit) = permit
            && !ready.is_empty()
        {
            permit.send(ready.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn copied(secrets: &[&str], chunks: &[&[u8]]) -> Vec<u8> {
        let (sender, mut receiver) = mpsc::channel(64);
        let secrets: Vec<_> = secrets.iter().map(|s| ("KEY".to_owned(), (*s).to_owned())).collect();
        let tap = Tap::new(sender, secrets);
        let mut copying = tap.open();
        for chunk in chunks {
            copying.push(chunk);
            if copying.is_waiting() {
                copying.hand_on().await;
            }
        }
        copying.finish();
        if copying.is_waiting() {
            copying.hand_on().await;
        }
        drop((tap, copying));
        let mut all = Vec::new();
        while let Some(part) = receiver.recv().await {
            all.extend_from_slice(&part);
        }
        all
    }

    #[tokio::test]
    async fn a_secret_is_masked_wherever_the_output_is_split() {
        let text = b"before s3cret-value\nand \"s3cret-value\" after";
        for at in 0..text.len() {
            let (left, right) = text.split_at(at);
            let copy = copied(&["s3cret-value"], &[left, right]).await;
            assert_eq!(copy.len(), text.len(), "places stay places");
            assert_eq!(copy, b"before ************\nand \"************\" after", "split at {at}");
        }
    }

    #[tokio::test]
    async fn of_two_secrets_that_begin_alike_the_longer_is_masked_whole() {
        let copy = copied(&["abcdef", "abcdefghij"], &[b"x abcdef", b"ghij abcdef y"]).await;
        assert_eq!(copy, b"x ********** ****** y");
    }

    #[tokio::test]
    async fn a_secret_inside_json_is_masked_in_its_escaped_form() {
        let copy = copied(&["a\"b\\cdef"], &[br#"{"text":"a\"b\\cdef"}"#]).await;
        assert_eq!(copy, br#"{"text":"**********"}"#);
    }

    #[tokio::test]
    async fn without_secrets_every_byte_is_copied() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(copied(&[], &[&bytes[..100], &bytes[100..]]).await, bytes);
    }
}
