//! The file of one session: lines of JSON, whole or not at all.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use musher_core::SessionId;
use rustix::fs::{FlockOperation, flock};
use uuid::Uuid;

use super::{Record, VERSION, rewind};

/// A session of more bytes than this is not gone on with.
const MAX_HISTORY_FILE_BYTES: u64 = 256 * 1024 * 1024;
const MAX_HISTORY_LINE_BYTES: u64 = 64 * 1024 * 1024;

/// Why a session cannot be gone on with.
#[derive(Debug)]
pub(super) enum HistoryError {
    Unknown,
    Damaged(String),
}

/// A session that is being written.
#[derive(Debug)]
pub(super) struct SessionFile {
    file: File,
    path: PathBuf,
}

/// Only what looks like an id of ours becomes a file name.
pub(super) fn path(folder: &Path, session: &SessionId) -> Option<PathBuf> {
    let id = Uuid::parse_str(session.as_str()).ok()?;
    Some(folder.join(format!("{id}.jsonl")))
}

/// Looks for a session in these folders; gives the folder, what counts of it, and how many of its bytes are sound.
pub(super) fn find<'a>(
    folders: &[&'a Path],
    session: &SessionId,
) -> Result<(&'a Path, Vec<Record>, u64), HistoryError> {
    for folder in folders {
        let path = path(folder, session).ok_or(HistoryError::Unknown)?;
        match File::open(&path) {
            Ok(file) => {
                let damaged = |why: String| {
                    HistoryError::Damaged(format!(
                        "session {session} cannot be resumed: `{}`: {why}",
                        path.display()
                    ))
                };
                let (records, sound) = read(file).map_err(damaged)?;
                return Ok((folder, records, sound));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(HistoryError::Damaged(format!("`{}`: {error}", path.display())));
            }
        }
    }
    Err(HistoryError::Unknown)
}

/// The records of a file. A last line without its end was torn by a crash and does not count.
fn read(file: File) -> Result<(Vec<Record>, u64), String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    if size > MAX_HISTORY_FILE_BYTES {
        return Err(format!("it has {size} bytes, and {MAX_HISTORY_FILE_BYTES} are the most"));
    }
    let mut reader = BufReader::new(file);
    let mut records = Vec::new();
    let mut sound = 0;
    for number in 1u64.. {
        let mut line = Vec::new();
        let taken = reader.by_ref().take(MAX_HISTORY_LINE_BYTES).read_until(b'\n', &mut line);
        let taken = taken.map_err(|error| error.to_string())?;
        if line.last() != Some(&b'\n') {
            let whole = u64::try_from(taken).unwrap_or(u64::MAX) < MAX_HISTORY_LINE_BYTES;
            return if whole {
                Ok((records, sound))
            } else {
                Err(format!("line {number} is too long"))
            };
        }
        let record: Record =
            serde_json::from_slice(&line).map_err(|error| format!("line {number}: {error}"))?;
        match &record {
            Record::Session { version, .. } if *version > VERSION => {
                return Err(format!("it was written by a later version ({version})"));
            }
            Record::Rewound { turn } => rewind(&mut records, *turn),
            Record::Session { .. }
            | Record::Model { .. }
            | Record::Entry { .. }
            | Record::Turn { .. }
            | Record::Compacted { .. } => records.push(record),
        }
        sound += u64::try_from(taken).unwrap_or(0);
    }
    Ok((records, sound))
}

impl SessionFile {
    /// Begins a file with these records.
    pub(super) fn create(
        folder: &Path,
        session: &SessionId,
        records: &[Record],
    ) -> Result<Self, String> {
        let path = path(folder, session).ok_or("its id is none of ours")?;
        let failed = |error: std::io::Error| format!("`{}`: {error}", path.display());
        // A conversation is nobody's business but its owner's.
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        claim(&file, &path)?;
        // An earlier run in this folder may have begun it already; what is written now is all that counts.
        file.set_len(0).map_err(failed)?;
        let mut file = Self { file, path: path.clone() };
        for record in records {
            file.append(record)?;
        }
        file.sync()?;
        // The name of the file must survive as well.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(file)
    }

    /// Goes on with a file after its sound bytes.
    pub(super) fn go_on(folder: &Path, session: &SessionId, sound: u64) -> Result<Self, String> {
        let path = path(folder, session).ok_or("its id is none of ours")?;
        let failed = |error: std::io::Error| format!("`{}`: {error}", path.display());
        let mut file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
        claim(&file, &path)?;
        // Another run may have written between our reading and our claim.
        let (_, now) = read(File::open(&path).map_err(failed)?)?;
        if now != sound {
            return Err(format!("`{}` was changed meanwhile; try again", path.display()));
        }
        file.set_len(sound).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self { file, path })
    }

    pub(super) fn append(&mut self, record: &Record) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("`{}`: {error}", self.path.display());
        let mut line = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        (&self.file).write_all(&line).map_err(failed)
    }

    pub(super) fn sync(&mut self) -> Result<(), String> {
        self.file.sync_data().map_err(|error| format!("`{}`: {error}", self.path.display()))
    }
}

/// One run at a time may write a session.
fn claim(file: &File, path: &Path) -> Result<(), String> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| format!("`{}` is in use by another run; fork it, or wait", path.display()))
}
