//! A copy of what an agent printed, byte by byte, for a host that keeps it; secrets in it are masked.
//!
//! A mask is as long as what it hides, so that places in the output stay places in the copy.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aho_corasick::AhoCorasick;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::needles::{Needles, automaton};

const MASK: u8 = b'*';

/// Where copies go. It lasts for a session, through all of its processes.
#[derive(Debug, Clone)]
pub(crate) struct Tap {
    copies: mpsc::Sender<Bytes>,
    finder: Option<Arc<Finder>>,
    secrets: Vec<(String, String)>,
    longest: usize,
    /// How much was printed so far.
    printed: Arc<AtomicU64>,
}

/// Finds secrets in what was printed.
#[derive(Debug)]
struct Finder {
    needles: Needles,
    automaton: AhoCorasick,
}

impl Finder {
    fn find(&self, bytes: &[u8], from: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
        if !self.needles.may_be_in(bytes) {
            return Vec::new();
        }
        let found = self.automaton.find_iter(bytes).map(|found| found.range());
        found.take_while(|found| from(found.start)).collect()
    }
}

impl Tap {
    pub(crate) fn new(copies: mpsc::Sender<Bytes>, secrets: &[(String, String)]) -> Self {
        let mut patterns: Vec<String> = Vec::new();
        for (_, secret) in secrets {
            // As it is, inside JSON, and inside JSON that is itself a text in JSON.
            let once = escaped(secret);
            patterns.extend([secret.clone(), escaped(&once), once]);
        }
        patterns.sort();
        patterns.dedup();
        let longest = patterns.iter().map(String::len).max().unwrap_or(0);
        let needles = Needles::new(&patterns);
        let finder = automaton(&patterns).filter(|_| longest > 0);
        let finder = finder.map(|automaton| Arc::new(Finder { needles, automaton }));
        Self { copies, finder, secrets: secrets.to_vec(), longest, printed: Arc::default() }
    }

    /// The same, with one more secret to mask.
    pub(crate) fn hiding(self, name: &str, value: &str) -> Self {
        let mut secrets = self.secrets;
        secrets.push((name.to_owned(), value.to_owned()));
        Self { printed: self.printed, ..Self::new(self.copies, &secrets) }
    }

    /// The copy of one process's output.
    pub(crate) fn open(&self) -> Copying {
        Copying { tap: self.clone(), held: Vec::new(), fresh: false, ended: false }
    }

    /// Where the next process's output begins.
    pub(crate) fn position(&self) -> u64 {
        self.printed.load(Ordering::Relaxed)
    }
}

fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// One process's output on its way to the copy.
#[derive(Debug)]
pub(crate) struct Copying {
    tap: Tap,
    /// What was printed and not handed on: what is new, and before it an end in which a secret may have begun.
    held: Vec<u8>,
    fresh: bool,
    ended: bool,
}

impl Copying {
    /// Takes what was just read. It is looked at only when it is handed on: others wait for what it means. More may be
    /// read only after that.
    pub(crate) fn push(&mut self, fresh: &[u8]) {
        self.tap.printed.fetch_add(fresh.len() as u64, Ordering::Relaxed);
        self.held.extend_from_slice(fresh);
        self.fresh = true;
    }

    /// The output has ended; nothing that was begun can go on.
    pub(crate) fn finish(&mut self) {
        self.ended = true;
        self.fresh = !self.held.is_empty();
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.fresh
    }

    /// Hands on what waits. A host that no longer takes copies gets none.
    pub(crate) async fn hand_on(&mut self) {
        let permit = self.tap.copies.reserve().await;
        self.fresh = false;
        let ready = match &self.tap.finder {
            None => std::mem::take(&mut self.held),
            Some(finder) => masked(finder, &mut self.held, self.tap.longest, self.ended),
        };
        if let Ok(permit) = permit
            && !ready.is_empty()
        {
            permit.send(ready.into());
        }
    }
}

/// Takes out all that can be judged, with its secrets masked. Before the end, that is not where one may have begun.
fn masked(finder: &Finder, held: &mut Vec<u8>, longest: usize, ended: bool) -> Vec<u8> {
    // A secret that begins before this place is here whole.
    let sure = if ended { held.len() } else { (held.len() + 1).saturating_sub(longest) };
    let mut cut = sure;
    for found in finder.find(held, |start| start < sure) {
        cut = cut.max(found.end);
        held[found].fill(MASK);
    }
    let rest = held.split_off(cut);
    std::mem::replace(held, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn copied(secrets: &[&str], chunks: &[&[u8]]) -> Vec<u8> {
        let (sender, mut receiver) = mpsc::channel(64);
        let secrets: Vec<_> = secrets.iter().map(|s| ("KEY".to_owned(), (*s).to_owned())).collect();
        let tap = Tap::new(sender, &secrets);
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
