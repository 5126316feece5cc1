//! The journal: the pool's facts in SQLite, with what is read from them kept beside them in the same transaction.
//!
//! [`Journal`] is the one writer. The pool opens a [`Batch`], looks things up in it, writes a [`Step`] for each input
//! and commits them all at once; after that they are durable. [`Views`] reads what was committed, from any thread.

mod batch;
mod error;
mod file;
mod fold;
mod lookup;
mod project;
mod rows;
mod views;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use musher_core::pool::State;

use crate::ballast::Ballast;

pub use batch::{Batch, KeptReply, Step};
pub use error::JournalError;
pub use lookup::{Kept, PastAsk};
pub use views::*;

/// What is kept for the ends of runs on a full disk, and how much of it is given up at a time: one commit has a dozen
/// pages.
const BALLAST: u64 = 1024 * 1024;
const PIECE: u64 = 64 * 1024;

/// The journal of one state directory, open for writing.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    db: Connection,
    /// The number of the last fact.
    last: u64,
    /// The fact at which the last snapshot stands.
    snapshot: u64,
    ballast: Ballast,
}

impl Journal {
    /// Opens the journal, or makes a new one. What cannot be read is left as it is.
    pub fn open(path: &Path, now: i64) -> Result<Self, JournalError> {
        let db = file::open(path)?;
        let read = || {
            batch::forget(&db, now)?;
            fold::ends(&db)
        };
        let (last, snapshot) = read().map_err(JournalError::database(path, "read"))?;
        let ballast = Ballast::new(path.with_extension("ballast"), BALLAST);
        Ok(Self { path: path.to_owned(), db, last, snapshot, ballast })
    }

    /// The state, and the number of the last fact.
    pub fn load(&mut self) -> Result<(State, u64), JournalError> {
        let folded = fold::fold(&self.db, &self.path)?;
        self.last = folded.last;
        self.snapshot = folded.snapshot;
        Ok((folded.state, folded.last))
    }

    /// Begins a transaction.
    pub fn batch(&mut self) -> Result<Batch<'_>, JournalError> {
        let begin = self.db.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begin.map_err(JournalError::database(&self.path, "write"))?;
        let (committed, snapshot) = (&mut self.last, &mut self.snapshot);
        Ok(Batch { transaction, path: &self.path, last: *committed, committed, snapshot })
    }

    /// Makes a little room on a full disk, for what must be written all the same; `false` if that cannot be done.
    pub fn give_way(&mut self) -> bool {
        self.ballast.give_way(PIECE)
    }

    /// Keeps again the room that was given up, if the disk has plenty of it.
    pub fn keep_room(&mut self) {
        self.ballast.refill();
    }

    /// A handle for reading.
    pub fn views(&self) -> Views {
        Views::new(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
