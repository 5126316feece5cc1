//! From the facts back to the state.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row};

use musher_core::pool::{Fact, STATE_VERSION, State};

use super::{JournalError, rows};

/// The state after a fact.
pub(super) struct Folded {
    pub(super) state: State,
    /// The last fact.
    pub(super) last: u64,
    /// The fact up to which a snapshot spared the folding.
    pub(super) snapshot: u64,
}

/// Folds everything: the newest snapshot that can be read, and the facts since.
pub(super) fn fold(db: &Connection, path: &Path) -> Result<Folded, JournalError> {
    let read = JournalError::database(path, "read");
    let (mut state, snapshot) = snapshot(db).map_err(read)?.unwrap_or_default();
    let mut last = snapshot;
    let mut facts = || {
        let mut sql = db.prepare("SELECT id, body FROM facts WHERE id > ?1 ORDER BY id")?;
        let mut facts = sql.query([rows::whole(snapshot)])?;
        while let Some(row) = facts.next()? {
            if let Err(error) = one(row, path, &mut last, &mut state)? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    };
    facts().map_err(JournalError::database(path, "read"))??;
    Ok(Folded { state, last, snapshot })
}

fn one(
    row: &Row<'_>,
    path: &Path,
    last: &mut u64,
    state: &mut State,
) -> rusqlite::Result<Result<(), JournalError>> {
    let id = rows::count(row.get("id")?);
    *last += 1;
    if id != *last {
        let why = format!("fact {last} is missing");
        return Ok(Err(JournalError::Damaged { path: path.into(), why }));
    }
    let body = row.get_ref("body")?.as_str()?;
    let fact: Result<Fact, _> = serde_json::from_str(body);
    Ok(match fact {
        Ok(fact) => {
            state.apply(&fact);
            Ok(())
        }
        Err(error) => {
            let why = error.to_string();
            Err(JournalError::UnreadableFact { path: path.into(), fact: id, why })
        }
    })
}

/// The newest snapshot of our version that can be read and that the facts reach.
fn snapshot(db: &Connection) -> rusqlite::Result<Option<(State, u64)>> {
    let last: Option<i64> = db.query_row("SELECT max(id) FROM facts", [], |row| row.get(0))?;
    let mut sql = db.prepare(
        "SELECT fact, state FROM snapshots WHERE version = ?1 AND fact <= ?2 ORDER BY fact DESC",
    )?;
    let mut found = sql.query((STATE_VERSION, last.unwrap_or_default()))?;
    while let Some(row) = found.next()? {
        let fact = rows::count(row.get("fact")?);
        // An unreadable snapshot costs time and nothing else: the facts say the same.
        if let Ok(state) = serde_json::from_str(row.get_ref("state")?.as_str()?) {
            return Ok(Some((state, fact)));
        }
    }
    Ok(None)
}

/// The number of the last fact, and of the fact at which the newest snapshot of our version stands.
pub(super) fn ends(db: &Connection) -> rusqlite::Result<(u64, u64)> {
    let last: Option<i64> = db.query_row("SELECT max(id) FROM facts", [], |row| row.get(0))?;
    let sql = "SELECT max(fact) FROM snapshots WHERE version = ?1";
    let snapshot: Option<Option<i64>> =
        db.query_row(sql, [STATE_VERSION], |row| row.get(0)).optional()?;
    let number = |n: Option<i64>| rows::count(n.unwrap_or_default());
    Ok((number(last), number(snapshot.flatten())))
}
