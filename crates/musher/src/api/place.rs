//! Where one follower stands in one run's log, and what comes next for it.

use std::future::pending;
use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::watch;

use super::sse;
use super::tail::{Meeting, PIECE, Pull, Tail};
use crate::runner::log::{Cursor, Kinds, LogError, Read, Reader};

/// A follower's place.
#[derive(Debug)]
pub(super) struct Place {
    tail: Arc<Tail>,
    wakes: watch::Receiver<u64>,
    stand: Stand,
    kinds: Option<Kinds>,
}

#[derive(Debug)]
enum Stand {
    /// The log was not looked at yet, or there is none yet.
    Before(Option<Cursor>),
    /// Behind the others, with a reader of its own.
    Alone(Reader),
    /// At the end, with the others.
    Together(Cursor),
}

/// What a follower gets.
#[derive(Debug)]
pub(super) enum Next {
    /// Framed events; empty if none was of a chosen kind.
    Events(Bytes),
    /// What came after this place is gone.
    Reset(Cursor),
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing will come.
    Over,
    /// There is no log.
    NoLog,
}

impl Place {
    pub(super) fn new(tail: Arc<Tail>, after: Option<Cursor>, kinds: Option<Kinds>) -> Self {
        let wakes = tail.wakes();
        Self { tail, wakes, stand: Stand::Before(after), kinds }
    }

    /// The last event that was given, or passed over.
    pub(super) fn cursor(&self) -> Option<Cursor> {
        match &self.stand {
            Stand::Before(after) => *after,
            Stand::Alone(reader) => Some(reader.cursor()),
            Stand::Together(cursor) => Some(*cursor),
        }
    }

    /// Whether no log was found so far.
    pub(super) fn has_no_log(&self) -> bool {
        match self.stand {
            Stand::Before(_) => true,
            Stand::Alone(_) | Stand::Together(_) => false,
        }
    }

    /// Waits until the log has grown since it was looked at; for ever, if nobody looks after it any more.
    pub(super) async fn grown(&mut self) {
        if self.wakes.changed().await.is_err() {
            pending::<()>().await;
        }
    }

    /// Reads on, without waiting for anything but the disk.
    pub(super) fn next(&mut self) -> Result<Next, LogError> {
        // Seen before the log is looked at, so that what grows in between wakes us again.
        let wake = *self.wakes.borrow_and_update();
        let mut passed = false;
        loop {
            match &mut self.stand {
                Stand::Before(after) => match self.tail.reader(*after) {
                    Ok(reader) => self.stand = Stand::Alone(reader),
                    Err(LogError::Missing { .. }) => return Ok(Next::NoLog),
                    Err(error) => return Err(error),
                },
                Stand::Alone(reader) => {
                    let mut lines = Vec::new();
                    match reader.read(&mut lines, PIECE)? {
                        Read::Lines(batch) => {
                            let lines = &lines[batch.lines];
                            let mut framed = Vec::with_capacity(lines.len() + lines.len() / 4);
                            let kinds = self.kinds.as_ref();
                            sse::frame(&mut framed, batch.epoch, batch.first, lines, kinds);
                            return Ok(Next::Events(framed.into()));
                        }
                        Read::Reset { to } => return Ok(Next::Reset(to)),
                        Read::End => match self.tail.meet(reader, wake)? {
                            Meeting::Met => self.stand = Stand::Together(reader.cursor()),
                            Meeting::Passed if !passed => passed = true,
                            // The next wake will find it still alone.
                            Meeting::Passed | Meeting::Apart => return Ok(Next::Nothing),
                        },
                    }
                }
                Stand::Together(cursor) => match self.tail.pull(*cursor, wake)? {
                    Pull::Piece(piece) => {
                        *cursor = piece.to;
                        return Ok(Next::Events(sse::chosen(&piece.framed, self.kinds.as_ref())));
                    }
                    Pull::Nothing => return Ok(Next::Nothing),
                    Pull::Over => return Ok(Next::Over),
                    Pull::Behind => self.stand = Stand::Alone(self.tail.reader(Some(*cursor))?),
                },
            }
        }
    }
}
