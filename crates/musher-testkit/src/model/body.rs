//! A response body that is written piece by piece, and that tells the ledger what was taken of it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;
use tokio_util::io::ReaderStream;

use super::desk::{Desk, Line};
use super::ledger::{CallEnd, Usage};
use super::reply::Split;

const SETTLE: Duration = Duration::from_millis(30);

/// Bytes to write after a wait.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) wait: Duration,
    pub(super) bytes: Bytes,
    /// The usage that the client knows of once it has these bytes.
    pub(super) tells: Option<Usage>,
}

impl Piece {
    /// One write without a wait before it.
    pub(super) fn now(bytes: impl Into<Bytes>) -> Self {
        Self::after(Duration::ZERO, bytes)
    }

    pub(super) fn after(wait: Duration, bytes: impl Into<Bytes>) -> Self {
        Self { wait, bytes: bytes.into(), tells: None }
    }

    pub(super) fn telling(self, tells: Option<Usage>) -> Self {
        Self { tells, ..self }
    }
}

/// What happens when the pieces are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Close,
    Silence,
    Abort,
}

/// Where to report what was delivered.
#[derive(Debug)]
pub(super) struct Receipt {
    pub(super) desk: Arc<Desk>,
    pub(super) line: Line,
    /// What the answer is when the last piece was taken.
    pub(super) end: CallEnd,
}

pub(super) fn body(pieces: Vec<Piece>, end: End, receipt: Receipt) -> Body {
    Body::from_stream(ReaderStream::new(Script {
        pieces: pieces.into(),
        sleep: None,
        settled: false,
        end,
        receipt,
    }))
}

/// Cuts pieces further down, as the reply asks.
pub(super) fn split(pieces: Vec<Piece>, split: Split) -> Vec<Piece> {
    match split {
        Split::ByEvent => pieces,
        Split::ByByte => {
            pieces.into_iter().flat_map(|piece| bytewise(piece, Duration::ZERO)).collect()
        }
        Split::Drip(pause) => pieces.into_iter().flat_map(|piece| bytewise(piece, pause)).collect(),
    }
}

/// Cuts the last piece in the middle of its bytes.
pub(super) fn halve(mut pieces: Vec<Piece>) -> Vec<Piece> {
    if let Some(last) = pieces.last_mut() {
        last.bytes.truncate(last.bytes.len() / 2);
        last.tells = None;
    }
    pieces
}

fn bytewise(piece: Piece, pause: Duration) -> Vec<Piece> {
    let first = std::iter::once(piece.wait.max(pause)).chain(std::iter::repeat(pause));
    let bytes = piece.bytes;
    first
        .zip(0..bytes.len())
        .map(|(wait, at)| Piece {
            // A pause after each byte of a long character makes sure that the parts travel in different packets.
            wait: if bytes[at] & 0xc0 == 0x80 { wait + Duration::from_millis(1) } else { wait },
            bytes: bytes.slice(at..=at),
            tells: piece.tells.filter(|_| at + 1 == bytes.len()),
        })
        .collect()
}

struct Script {
    pieces: VecDeque<Piece>,
    sleep: Option<Pin<Box<Sleep>>>,
    settled: bool,
    end: End,
    receipt: Receipt,
}

impl Drop for Script {
    fn drop(&mut self) {
        self.receipt.desk.ended(self.receipt.line, CallEnd::Left);
    }
}

impl Script {
    fn finish(&mut self) -> Poll<io::Result<()>> {
        if self.end != End::Silence {
            self.receipt.desk.ended(self.receipt.line, self.receipt.end);
        }
        match self.end {
            End::Close => Poll::Ready(Ok(())),
            // Nobody wakes this task again; the client gives up, or the server is dropped.
            End::Silence => Poll::Pending,
            End::Abort => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
        }
    }

    /// An abort throws away what is not yet written, so the pieces before it get a moment to leave.
    fn settle(&mut self) -> bool {
        let wait = self.end == End::Abort && !self.settled;
        self.settled = true;
        if wait {
            self.sleep = Some(Box::pin(tokio::time::sleep(SETTLE)));
        }
        wait
    }

    fn hand_over(&mut self, buffer: &mut ReadBuf<'_>) {
        let Some(piece) = self.pieces.front_mut() else {
            return;
        };
        let part = piece.bytes.split_to(piece.bytes.len().min(buffer.remaining()));
        buffer.put_slice(&part);
        // The ledger is written before the client can have read the last byte, so a test needs no wait of its own.
        let receipt = &self.receipt;
        if piece.bytes.is_empty() {
            if let Some(usage) = piece.tells {
                receipt.desk.told(receipt.line, usage);
            }
            self.pieces.pop_front();
        }
        if self.pieces.is_empty() && self.end == End::Close {
            receipt.desk.ended(receipt.line, receipt.end);
        }
    }
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                std::task::ready!(sleep.as_mut().poll(context));
                self.sleep = None;
            }
            if self.pieces.is_empty() && self.settle() {
                continue;
            }
            let Some(piece) = self.pieces.front_mut() else {
                return self.finish();
            };
            let wait = std::mem::take(&mut piece.wait);
            if wait.is_zero() {
                self.hand_over(buffer);
                return Poll::Ready(Ok(()));
            }
            self.sleep = Some(Box::pin(tokio::time::sleep(wait)));
        }
    }
}
