//! The newest facts, read once for every feed: each fact, and the headlines of what they touched.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use musher_core::pool::Fact;

use super::Watch;
use super::WatchError;
use super::touched::Touched;
use crate::journal::{JournalError, Views};

/// How many facts are read at once.
const FACTS_PER_READ: u32 = 32;
/// How many bytes are kept for the feeds that come a little later.
const KEPT: usize = 256 * 1024;

/// Some facts that follow each other.
#[derive(Debug)]
pub(crate) struct Bulletin {
    after: u64,
    /// Each with its number, as the data of an event.
    pub(crate) facts: Vec<(u64, String)>,
    /// Framed.
    pub(crate) headlines: Vec<u8>,
    bytes: usize,
}

/// The bulletins that feeds share.
#[derive(Debug, Default)]
pub(crate) struct SharedNews(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    bulletins: VecDeque<Arc<Bulletin>>,
    bytes: usize,
}

impl SharedNews {
    /// What follows a fact, if it can be told without waiting.
    fn at_once(&self, after: u64) -> Option<Arc<Bulletin>> {
        match self.0.try_lock() {
            Ok(kept) => kept.find(after),
            Err(TryLockError::Poisoned(kept)) => kept.into_inner().find(after),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// What follows a fact. This blocks; whoever comes meanwhile waits and finds it read.
    fn read(
        &self,
        after: u64,
        views: &Views,
        headlines: impl FnOnce(Touched, &mut Vec<u8>) -> Result<(), JournalError>,
    ) -> Result<Arc<Bulletin>, JournalError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.find(after) {
            return Ok(found);
        }
        let bulletin = Arc::new(Bulletin::read(after, views, headlines)?);
        if !bulletin.facts.is_empty() {
            kept.keep(&bulletin);
        }
        Ok(bulletin)
    }
}

impl Watch {
    /// What follows a fact. Whoever shows it says how headlines of what was touched are framed, which blocks.
    pub(crate) async fn news(
        &self,
        after: u64,
        headlines: impl FnOnce(Touched, &mut Vec<u8>) -> Result<(), JournalError> + Send + 'static,
    ) -> Result<Arc<Bulletin>, WatchError> {
        if let Some(found) = self.news.at_once(after) {
            return Ok(found);
        }
        let watch = self.clone();
        Ok(self.blocking(move || watch.news.read(after, &watch.views, headlines)).await??)
    }
}

impl Kept {
    fn find(&self, after: u64) -> Option<Arc<Bulletin>> {
        self.bulletins.iter().find(|bulletin| bulletin.after == after).cloned()
    }

    fn keep(&mut self, bulletin: &Arc<Bulletin>) {
        self.bytes += bulletin.bytes;
        self.bulletins.push_back(Arc::clone(bulletin));
        while self.bytes > KEPT {
            let Some(old) = self.bulletins.pop_front() else { break };
            self.bytes -= old.bytes;
        }
    }
}

impl Bulletin {
    fn read(
        after: u64,
        views: &Views,
        headlines: impl FnOnce(Touched, &mut Vec<u8>) -> Result<(), JournalError>,
    ) -> Result<Self, JournalError> {
        let mut touched = Touched::default();
        let mut facts = Vec::new();
        for fact in views.facts_after(after, FACTS_PER_READ)? {
            // A fact that a newer Musher wrote is passed on as it is.
            if let Ok(known) = serde_json::from_str::<Fact>(&fact.body) {
                touched.add(&known);
            }
            let (n, at, body) = (fact.n, fact.at, fact.body);
            let by = fact.by.map(|by| format!(r#","by":{by}"#)).unwrap_or_default();
            facts.push((n, format!(r#"{{"n":{n},"at":{at}{by},"fact":{body}}}"#)));
        }
        let mut framed = Vec::new();
        headlines(touched, &mut framed)?;
        let bytes = framed.len() + facts.iter().map(|(_, data)| data.len()).sum::<usize>();
        Ok(Self { after, facts, headlines: framed, bytes })
    }
}
