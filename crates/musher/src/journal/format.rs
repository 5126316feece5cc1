//! Which format a journal needs, so that an older Musher refuses it before it changes anything.

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::rows;

/// The version of this Musher.
pub(super) const OURS: &str = env!("CARGO_PKG_VERSION");

/// What must be known to read a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NeededFormat {
    pub(super) format: u32,
    /// The version of the Musher that first wrote it.
    pub(super) by: String,
}

/// What the journal needs; `None` if every Musher can read it.
pub(super) fn needed(db: &Connection) -> rusqlite::Result<Option<NeededFormat>> {
    let there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'identity'";
    if !db.prepare(there)?.exists([])? {
        return Ok(None);
    }
    let sql = "SELECT body FROM identity WHERE key = 'format'";
    let found: Option<String> = db.query_row(sql, [], |row| row.get(0)).optional()?;
    found.map(|text| rows::parsed(&text)).transpose()
}

/// Says in the journal that it needs this format from now on, in the transaction that makes it so.
pub(super) fn raise(db: &Connection, format: u32) -> rusqlite::Result<()> {
    let needed = NeededFormat { format, by: OURS.to_owned() };
    let sql = "INSERT OR REPLACE INTO identity (key, body) VALUES ('format', ?1)";
    db.execute(sql, params![rows::json(&needed)?]).map(|_| ())
}
