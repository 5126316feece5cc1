//! The journal: the pool's facts in SQLite, with what is read from them kept beside them in the same transaction.
//!
//! [`Journal`] is the one writer. The pool opens a [`JournalBatch`], looks things up in it, writes a [`DecidedStep`] for each input
//! and commits them all at once; after that they are durable. [`Views`] reads what was committed, from any thread.

mod batch;
mod error;
mod file;
mod fold;
mod folder;
mod format;
mod identity;
mod lookup;
mod mark;
mod place;
mod project;
mod rows;
mod views;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use musher_core::pool::State;

use identity::JournalIdentity;
use musher_os::reserved_space::ReservedSpace;
use place::JournalFiles;

pub use batch::{DecidedStep, JournalBatch, KeptReply};
pub use error::JournalError;
pub use identity::{Claim, JournalFindings, Owner};
pub use lookup::{KeptCommand, PastAsk};
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
    /// The format that a reader must know.
    format: u32,
    ballast: ReservedSpace,
    identity: JournalIdentity,
    place: JournalFiles,
    /// The last run that anybody has given a number, also one that this journal does not know.
    last_run: u64,
}

impl Journal {
    /// Opens the journal, or makes a new one. What cannot be read is left as it is.
    pub fn open(path: &Path, now: i64) -> Result<Self, JournalError> {
        Self::open_as(path, now, Claim::Same)
    }

    /// The same; what the person claims decides about one that is in another folder than it was.
    pub fn open_as(path: &Path, now: i64, claim: Claim) -> Result<Self, JournalError> {
        let db = file::open(path)?;
        let read = || JournalError::database(path, "read");
        let (last, snapshot) = fold::ends(&db).map_err(read())?;
        let identity = JournalIdentity::establish(&db, path, last, claim)?;
        let format = format::needed(&db).map_err(read())?.map_or(1, |needed| needed.format);
        batch::forget(&db, now).map_err(read())?;
        let place =
            JournalFiles::of(path, file::log(path)).map_err(JournalError::file(path, "look at"))?;
        let ballast = ReservedSpace::new(path.with_extension("ballast"), BALLAST);
        let (path, last_run) = (path.to_owned(), identity.given.run);
        Ok(Self { path, db, last, snapshot, format, ballast, identity, place, last_run })
    }

    /// Whose runs are this journal's.
    pub fn owner(&self) -> &Owner {
        &self.identity.owner
    }

    /// What did not fit together when it was opened.
    pub fn findings(&self) -> &JournalFindings {
        &self.identity.findings
    }

    /// The last run that it knows.
    pub fn newest_run(&self) -> Result<u64, JournalError> {
        let sql = "SELECT coalesce(max(id), 0) FROM runs";
        let found = self.db.query_row(sql, [], |row| row.get(0));
        found.map(rows::count).map_err(JournalError::database(&self.path, "read"))
    }

    /// Gives no number up to this one to a new run: something in the world has it.
    pub fn skip_runs(&mut self, up_to: u64) {
        self.last_run = self.last_run.max(up_to);
    }

    /// The state, and the number of the last fact.
    pub fn load(&mut self) -> Result<(State, u64), JournalError> {
        let folded = fold::fold(&self.db, &self.path)?;
        self.last = folded.last;
        self.snapshot = folded.snapshot;
        let mut state = folded.state;
        // A journal that lost its end would give numbers again that folders, branches and people still have.
        state.last_run = state.last_run.max(self.last_run);
        state.last_story = state.last_story.max(self.identity.given.story);
        Ok((state, folded.last))
    }

    /// Begins a transaction.
    pub fn batch(&mut self) -> Result<JournalBatch<'_>, JournalError> {
        let begin = self.db.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begin.map_err(JournalError::database(&self.path, "write"))?;
        let (committed, snapshot) = (&mut self.last, &mut self.snapshot);
        let (identity, place, last) = (&self.identity, &self.place, *committed);
        let needed = &mut self.format;
        Ok(JournalBatch {
            transaction,
            path: &self.path,
            last,
            committed,
            snapshot,
            format: *needed,
            needed,
            identity,
            place,
        })
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
