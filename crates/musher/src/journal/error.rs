//! What can be wrong with a journal: each error names the file, the cause and the way out.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The journal could not be opened, read or written. Nothing in it was overwritten.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(
        "{path} is not a journal of Musher: {why}; it was left as it is, so move it away or choose another state \
         directory"
    )]
    NotAJournal { path: PathBuf, why: String },
    #[error(
        "{path} needs a newer Musher: it has format {found}, written by {by}, and this one, {ours}, reads up to format \
         {known}; start the newer one again (builds that served here are kept in bin/ beside it)",
        ours = super::format::OURS
    )]
    Newer { path: PathBuf, found: i64, known: i64, by: String },
    #[error(
        "fact {fact} in {path} cannot be read ({why}); a newer Musher may have written it, so start that one again \
         (builds that served here are kept in bin/ beside it)"
    )]
    UnreadableFact { path: PathBuf, fact: u64, why: String },
    #[error(
        "{path} is damaged: {why}; it was left as it is, so put back a copy of it and of its -wal file, or move both \
         away to begin anew"
    )]
    Damaged { path: PathBuf, why: String },
    #[error(
        "{path} is a copy, or was put back from a backup: it was made in {was}; agents of the original may be at work, so \
         end them and start with `musher serve --moved`, which takes it over under a new id and touches none of them"
    )]
    Elsewhere { path: PathBuf, was: PathBuf },
    #[error(
        "{path} was deleted, moved or replaced while it was in use, and what was just wished for was not acknowledged; put it \
         back, or start the server again, which says what is missing"
    )]
    Gone { path: PathBuf },
    #[error("{path} is in use by another program; end it and try again")]
    InUse { path: PathBuf },
    #[error(
        "the file system of {path} has no shared memory, which the journal needs; choose a state directory on a local disk"
    )]
    NoSharedMemory { path: PathBuf },
    #[error("there is no room to write {path}; make room on its disk")]
    NoRoom { path: PathBuf },
    #[error("could not {doing} {path}: {source}; see that the folder exists and may be written")]
    File { path: PathBuf, doing: &'static str, source: std::io::Error },
    #[error("could not {doing} {path}: {source}")]
    Database { path: PathBuf, doing: &'static str, source: rusqlite::Error },
    #[error(
        "the database library is version {found}, which can lose data; build Musher with {least} or newer"
    )]
    OldLibrary { found: i32, least: i32 },
}

impl JournalError {
    pub(super) fn file(
        path: &Path,
        doing: &'static str,
    ) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| {
            if source.kind() == std::io::ErrorKind::StorageFull {
                Self::NoRoom { path }
            } else {
                Self::File { path, doing, source }
            }
        }
    }

    pub(super) fn database(
        path: &Path,
        doing: &'static str,
    ) -> impl FnOnce(rusqlite::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotAJournal { path, why: source.to_string() },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, why: source.to_string() },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse { path },
            Some(ErrorCode::DiskFull) => Self::NoRoom { path },
            Some(_) | None => Self::Database { path, doing, source },
        }
    }
}
