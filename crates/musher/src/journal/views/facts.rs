//! Facts as the feed sends them: already JSON.

use crate::journal::{JournalError, Views, rows};

/// A fact as it stands in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFact {
    /// Its number; facts are numbered 1, 2, 3 … without gaps.
    pub n: u64,
    /// Unix milliseconds.
    pub at: i64,
    /// The fact as JSON, on one line.
    pub body: String,
    /// Who caused it, as JSON; facts of older builds do not say.
    pub by: Option<String>,
}

impl Views {
    /// The facts after a number, the oldest first.
    pub fn facts_after(&self, n: u64, limit: u32) -> Result<Vec<RawFact>, JournalError> {
        self.read(|db| {
            let sql = "SELECT id, at, body, actor FROM facts WHERE id > ?1 ORDER BY id LIMIT ?2";
            let mut sql = db.prepare_cached(sql)?;
            let facts = sql.query_map((rows::whole(n), limit), |row| {
                let (n, at) = (rows::count(row.get(0)?), row.get(1)?);
                Ok(RawFact { n, at, body: row.get(2)?, by: row.get(3)? })
            })?;
            facts.collect()
        })
    }
}
