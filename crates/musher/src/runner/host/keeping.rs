//! The record of one run as its host keeps it: what is written at once, what is made durable when, what is packed.

use std::time::Duration;

use musher_core::{ErrorClass, ErrorInfo, Event, EventKind, EventScope, SessionEnded};
use musher_os::tuning::{give_back_memory, keep_memory};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{FULL_DISK_RETRY_DELAY, HostError};
use musher_log::raw::RawWriter;
use musher_log::{LogError, Urgency, Writer, close_short};

/// What is not pressing is made durable after this long.
const LAZY_SYNC_DELAY: Duration = Duration::from_secs(1);
/// What is pressing is made durable at once; but when one thing presses after another, they share a sync.
const URGENT_SYNC_DELAY: Duration = Duration::from_millis(5);
/// Syncs that press one after another take at most one part in so many of the time: the agent must be heard, too.
const SHARE: u32 = 4;
/// A copy of the output that is so old is packed with the next sync: packing every few bytes would cost much.
const RAW_COPY_MAX_AGE: Duration = Duration::from_millis(100);
/// An agent that says so much without a rest needs the same memory again and again; to give it back and take it anew would
/// cost more than the words.
const MUCH: usize = 256 * 1024;

/// The run's record.
pub(super) struct Keeping {
    pub(super) writer: Writer,
    raw: RawWriter,
    pub(super) durable: watch::Sender<u64>,
    /// Events that are not written yet.
    pub(super) batch: Vec<Event>,
    /// By when what is written must be durable.
    pub(super) unsynced: Option<Instant>,
    /// Before then nothing is synced that can wait for so long.
    rested: Instant,
    /// Since when there is a copy of output that is not packed.
    unpacked: Option<Instant>,
    /// How much was copied since the last rest.
    copied: usize,
    end: Option<SessionEnded>,
    /// The run is being ended on a full disk: events are no longer written.
    pub(super) short: bool,
    now: fn() -> i64,
}

impl Keeping {
    pub(super) fn new(
        writer: Writer,
        raw: RawWriter,
        durable: watch::Sender<u64>,
        now: fn() -> i64,
    ) -> Self {
        Self {
            writer,
            raw,
            durable,
            batch: Vec::new(),
            unsynced: None,
            rested: Instant::now(),
            unpacked: None,
            copied: 0,
            end: None,
            short: false,
            now,
        }
    }

    /// Writes what is waiting. A full disk takes nothing, and nothing is lost.
    pub(super) fn write(&mut self) -> Result<(), LogError> {
        if let Some(EventKind::SessionEnded(end)) = self.batch.last().map(|event| &event.kind) {
            self.end = Some((**end).clone());
        }
        if self.short {
            // What was spent is in the end, whatever else is lost.
            self.batch.clear();
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        let appended = match self.end {
            // The last words have a place of their own on a full disk.
            Some(_) => self.writer.append_last(&self.batch)?,
            None => self.writer.append(&self.batch)?,
        };
        let by = match appended.urgency {
            Urgency::Now => self.rested.max(Instant::now()),
            Urgency::Soon => Instant::now() + LAZY_SYNC_DELAY,
        };
        self.unsynced = Some(self.unsynced.map_or(by, |earlier| earlier.min(by)));
        self.batch.clear();
        Ok(())
    }

    /// Makes what was written durable, if it is time.
    pub(super) fn sync_if_due(&mut self) -> Result<(), LogError> {
        match self.unsynced {
            Some(by) if by <= Instant::now() => self.sync(),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn sync(&mut self) -> Result<(), LogError> {
        let began = Instant::now();
        self.writer.sync()?;
        self.unsynced = None;
        self.durable.send_replace(self.writer.synced_seq());
        let now = Instant::now();
        self.rested = now + URGENT_SYNC_DELAY.max((now - began) * (SHARE - 1));
        if self.unpacked.is_some_and(|since| now - since >= RAW_COPY_MAX_AGE) {
            self.pack()
        } else {
            Ok(())
        }
    }

    /// Takes a copy of what the agent printed.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        self.unpacked.get_or_insert_with(Instant::now);
        let before = self.copied;
        self.copied += bytes.len();
        if before < MUCH && self.copied >= MUCH {
            keep_memory();
        }
        self.keep_raw(|raw| raw.push(bytes))
    }

    /// When the copy is packed though nothing presses.
    pub(super) fn pack_at(&self) -> Option<Instant> {
        self.unpacked.map(|since| since + LAZY_SYNC_DELAY)
    }

    /// Lets readers find all of the copy.
    pub(super) fn pack(&mut self) -> Result<(), LogError> {
        self.keep_raw(RawWriter::flush)?;
        self.unpacked = None;
        Ok(())
    }

    /// Does what can wait until the agent is silent.
    pub(super) fn rest(&mut self) -> Result<(), LogError> {
        self.pack()?;
        if std::mem::take(&mut self.copied) >= MUCH {
            give_back_memory();
        }
        Ok(())
    }

    /// The raw copy is worth a pause when the disk is full, and no more than that: a run goes on without it.
    fn keep_raw(
        &mut self,
        keep: impl FnOnce(&mut RawWriter) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        match keep(&mut self.raw) {
            Err(error) if error.is_full() => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// A run that cannot even begin still has a log, and its end is in it.
    pub(super) async fn refuse(mut self, why: String, at: i64) -> Result<(), HostError> {
        let end = SessionEnded::unbegun(ErrorInfo::new(ErrorClass::Config, why));
        let kind = EventKind::SessionEnded(Box::new(end));
        let scope = EventScope::Main;
        self.batch.push(Event { seq: 1, at, kind, turn: None, scope, raw: None });
        self.write()?;
        self.finish().await
    }

    /// Records the outcome. On a disk that is full in spite of the room that was kept, it waits for more.
    pub(super) async fn finish(mut self) -> Result<(), HostError> {
        let unsaid = || ErrorInfo::new(ErrorClass::Internal, "the session gave no end");
        let end = self.end.take().unwrap_or_else(|| SessionEnded::unbegun(unsaid()));
        let mut attempt = 0_u32;
        loop {
            let closed = match self.short {
                true => close_short(&mut self.writer, &end, (self.now)()),
                false => Ok(()),
            };
            match closed.and_then(|()| self.writer.finish(&end)) {
                Err(error) if error.is_full() => {
                    attempt += 1;
                    if attempt.is_power_of_two() {
                        tracing::warn!(attempt, cause = %error, "outcome cannot be written, trying again");
                    }
                    tokio::time::sleep(FULL_DISK_RETRY_DELAY).await;
                }
                done => return Ok(done?),
            }
        }
    }
}
