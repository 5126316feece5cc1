//! The views: what people and programs may see of stories, runs, asks and usage. They only read.

mod asks;
mod facts;
mod runs;
mod spent;
mod stories;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, Params, Transaction, params_from_iter};

use musher_core::pool::TextKey;

use super::{JournalError, file, lookup};

pub use asks::{AskPhase, AskView, AsksQuery, WhichAsks};
pub use facts::RawFact;
pub use runs::{Busy, RunView, RunWait, RunsPage, RunsQuery, WhichRuns};
pub(crate) use spent::DAY_MS;
pub use spent::{SpentView, UsageBy, UsageRowView};
pub use stories::{
    LatestRun, StoriesPage, StoriesQuery, StoryPhase, StoryRunsView, StoryView, StoryWhole,
    WhichStories,
};

/// How many views are read at the same time; who comes later waits.
const READERS: usize = 4;
/// How many things a page has when nobody says, and at most.
const PAGE: u32 = 100;
const MAX_VIEW_PAGE_ROWS: u32 = 1000;

/// Reads the journal. Its methods block, so that an async caller must send them to a thread that may.
#[derive(Debug, Clone)]
pub struct Views {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    readers: Mutex<Readers>,
    returned: Condvar,
}

/// The connections for reading. Each view has one for itself.
#[derive(Debug, Default)]
struct Readers {
    idle: Vec<Connection>,
    lent: usize,
}

impl Views {
    pub(super) fn new(path: &Path) -> Self {
        let readers = Mutex::default();
        let shared = Shared { path: path.to_owned(), readers, returned: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// A text of a person; none if it was never there or was erased.
    pub fn text(&self, key: &TextKey) -> Result<Option<String>, JournalError> {
        self.read(|db| lookup::text(db, key))
    }

    /// Reads everything that one view needs at one moment.
    fn read<T>(
        &self,
        view: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        let mut reader = Reader::borrow(&self.shared)?;
        let read = || {
            let transaction = reader.db()?.transaction()?;
            view(&transaction)
        };
        read().map_err(JournalError::database(&self.shared.path, "read"))
    }
}

/// A connection on loan; it goes back when it is dropped.
struct Reader<'views> {
    shared: &'views Shared,
    db: Option<Connection>,
}

impl<'views> Reader<'views> {
    fn borrow(shared: &'views Shared) -> Result<Self, JournalError> {
        let readers = shared.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |readers: &mut Readers| readers.lent >= READERS;
        let waited = shared.returned.wait_while(readers, full);
        let mut readers = waited.unwrap_or_else(PoisonError::into_inner);
        readers.lent += 1;
        let idle = readers.idle.pop();
        drop(readers);
        // From here on the place is given back by `drop`, whatever happens.
        let mut reader = Self { shared, db: idle };
        if reader.db.is_none() {
            reader.db = Some(file::open_for_reading(&shared.path)?);
        }
        Ok(reader)
    }

    fn db(&mut self) -> rusqlite::Result<&mut Connection> {
        self.db.as_mut().ok_or(rusqlite::Error::InvalidQuery)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut readers = self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.lent -= 1;
        readers.idle.extend(self.db.take());
        drop(readers);
        self.shared.returned.notify_one();
    }
}

/// The conditions of a query: only those that are wanted, so that an index can serve them.
#[derive(Default)]
struct Filter {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Filter {
    fn only(&mut self, condition: &str) {
        self.conditions.push(condition.to_owned());
    }

    /// Compares with a value if there is one; the condition ends with its operator.
    fn compare(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.values.push(value.into());
            self.conditions.push(format!("{condition} ?{}", self.values.len()));
        }
    }

    fn sql(&self) -> String {
        match self.conditions.as_slice() {
            [] => String::new(),
            conditions => format!("WHERE {}", conditions.join(" AND ")),
        }
    }

    fn values(&self) -> impl Params + '_ {
        params_from_iter(&self.values)
    }
}

/// How many rows a page has.
fn page(limit: Option<u32>) -> u32 {
    limit.unwrap_or(PAGE).clamp(1, MAX_VIEW_PAGE_ROWS)
}
