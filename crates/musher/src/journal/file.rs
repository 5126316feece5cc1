//! The journal's file: made whole or not at all, opened with care, never overwritten.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use musher_core::pool::JOURNAL_FORMAT;
use musher_os::untrusted::{self, Kind};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{JournalError, format};

/// "MUSH": how a journal is told from other databases.
const APPLICATION: i64 = 0x4d55_5348;
/// The version of the tables.
const VERSION: i64 = 1;
/// Older libraries can lose a commit when a WAL file is begun anew.
const MIN_SQLITE_VERSION: i32 = 3_051_003;
const PRIVATE: u32 = 0o600;
/// How long another connection may hold the file before it is called in use.
const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the journal for its one writer; one that does not exist is made.
pub(super) fn open(path: &Path) -> Result<Connection, JournalError> {
    let found = rusqlite::version_number();
    if found < MIN_SQLITE_VERSION {
        return Err(JournalError::OldLibrary { found, least: MIN_SQLITE_VERSION });
    }
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => {
            let why = "it is not a file".into();
            return Err(JournalError::NotAJournal { path: path.into(), why });
        }
        Ok(about) if about.len() == 0 => {
            // A journal gets its name only when it is whole, so this one has lost everything.
            return Err(JournalError::Damaged { path: path.into(), why: "it is empty".into() });
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => create(path)?,
        Err(error) => return Err(JournalError::file(path, "look at")(error)),
    }
    for beside in [log(path), beside(path, "-shm")] {
        plain_or_absent(&beside)?;
    }
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    check(&db, path)?;
    let db = protect(db, path)?;
    set_up(&db, path)?;
    Ok(db)
}

/// SQLite opens what stands beside the journal as it is. What is no plain file there was put there by somebody else.
fn plain_or_absent(path: &Path) -> Result<(), JournalError> {
    match untrusted::kind(path) {
        Ok(None | Some(Kind::File)) => Ok(()),
        Ok(Some(kind)) => {
            let why = format!("it is {kind}, where a plain file belongs; remove it");
            Err(JournalError::NotAJournal { path: path.into(), why })
        }
        Err(error) => Err(JournalError::file(path, "look at")(error.into_io())),
    }
}

/// Opens the journal for reading.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, JournalError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, JournalError> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let open = || {
        let db = Connection::open_with_flags(path, flags)?;
        db.busy_timeout(SQLITE_BUSY_TIMEOUT)?;
        db.set_prepared_statement_cache_capacity(64);
        // Else a query that was kept may be planned anew each time, for the value that is put into it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        db.pragma_update(None, "mmap_size", 0)?;
        Ok(db)
    };
    open().map_err(JournalError::database(path, "open"))
}

/// That this is a journal, and one that we know.
fn check(db: &Connection, path: &Path) -> Result<(), JournalError> {
    let number = |name| {
        let read = db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        read.map_err(JournalError::database(path, "read"))
    };
    if number("application_id")? != APPLICATION {
        let why = "it is the database of another program".into();
        return Err(JournalError::NotAJournal { path: path.into(), why });
    }
    let newer = |found, known, by| Err(JournalError::Newer { path: path.into(), found, known, by });
    match number("user_version")? {
        VERSION => {
            let needed = format::needed(db).map_err(JournalError::database(path, "read"))?;
            match needed {
                Some(needed) if needed.format > JOURNAL_FORMAT => newer(
                    needed.format.into(),
                    JOURNAL_FORMAT.into(),
                    format!("Musher {}", needed.by),
                ),
                Some(_) | None => Ok(()),
            }
        }
        // Nothing is known of its tables, so nobody is looked up in them.
        found if found > VERSION => newer(found, VERSION, "another Musher".to_owned()),
        found => {
            let why = format!("there is no version {found} of the journal");
            Err(JournalError::NotAJournal { path: path.into(), why })
        }
    }
}

/// Only its owner may read a journal. Its log gets the mode that the file has when it is opened.
fn protect(db: Connection, path: &Path) -> Result<Connection, JournalError> {
    let about = fs::metadata(path).map_err(JournalError::file(path, "look at"))?;
    if about.permissions().mode() & 0o777 == PRIVATE {
        return Ok(db);
    }
    drop(db);
    let mode = Permissions::from_mode(PRIVATE);
    fs::set_permissions(path, mode).map_err(JournalError::file(path, "protect"))?;
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

fn set_up(db: &Connection, path: &Path) -> Result<(), JournalError> {
    let set = |name: &'static str, value: &'static str| {
        db.pragma_update(None, name, value).map_err(JournalError::database(path, "set up"))
    };
    set("synchronous", "FULL")?;
    set("foreign_keys", "ON")?;
    set("cell_size_check", "ON")?;
    // A long reader can make the log large; it is cut when it begins anew.
    set("journal_size_limit", "67108864")?;
    let mode = db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
    let mode: String = mode.map_err(JournalError::database(path, "set up"))?;
    match mode.as_str() {
        "wal" => {
            let add = db.execute_batch(include_str!("marks.sql")).and_then(|()| add_actor(db));
            add.and_then(|()| move_in(db)).map_err(JournalError::database(path, "set up"))
        }
        // The mode is refused without an error.
        _ => Err(JournalError::NoSharedMemory { path: path.into() }),
    }
}

/// Gives facts room for who caused them, as JSON. An older Musher neither reads nor writes the column, so the version of
/// the tables is the same.
fn add_actor(db: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT count(*) FROM pragma_table_xinfo('facts') WHERE name = 'actor'";
    match db.query_row(sql, [], |row| row.get::<_, u32>(0))? {
        0 => db.execute_batch("ALTER TABLE facts ADD COLUMN actor TEXT"),
        _ => Ok(()),
    }
}

/// Moves what is in the log into the database. A server before us may have ended because it could not sync the log; what
/// we read of it then is in memory and perhaps not on the disk, so nothing may be built on it before it is written anew.
fn move_in(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Makes a new journal beside its place and then moves it there, so that half a journal never has the name of one.
fn create(path: &Path) -> Result<(), JournalError> {
    let log = log(path);
    if log.exists() {
        let why = format!("it is missing, but its log {} is there", log.display());
        return Err(JournalError::Damaged { path: path.into(), why });
    }
    let draft = beside(path, ".new");
    for leftover in [beside(&draft, "-journal"), draft.clone()] {
        match fs::remove_file(&leftover) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(JournalError::file(&leftover, "remove")(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(PRIVATE).open(&draft);
    drop(file.map_err(JournalError::file(path, "make"))?);
    let db = connect(&draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    write_schema(&db).map_err(JournalError::database(path, "make"))?;
    db.close().map_err(|(_, error)| JournalError::database(path, "make")(error))?;
    let settle = || {
        File::open(&draft)?.sync_all()?;
        fs::rename(&draft, path)?;
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
            Some(_) | None => File::open(".")?.sync_all(),
        }
    };
    settle().map_err(JournalError::file(path, "make"))
}

fn write_schema(db: &Connection) -> rusqlite::Result<()> {
    let schema = include_str!("schema.sql");
    db.execute_batch(&format!(
        "BEGIN; {schema} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
    ))
}

/// The log of a journal, which holds what was committed last.
pub(super) fn log(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// The path with something added to its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    const SPENT: &str =
        "SELECT usage.* FROM runs JOIN usage ON usage.run = runs.id WHERE runs.story = ?1";

    #[test]
    fn a_query_is_planned_once_whatever_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let writer = open(&path).unwrap();
        for db in [writer, open_for_reading(&path).unwrap()] {
            for story in ["one", "two", "three"] {
                let mut sql = db.prepare_cached(SPENT).unwrap();
                assert!(!sql.exists([story]).unwrap());
                assert_eq!(sql.get_status(StatementStatus::RePrepare), 0);
            }
        }
    }
}
