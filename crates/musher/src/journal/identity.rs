//! Who a journal is: an id that no other has, and the folder in which it lives.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::folder::FolderIdentity;
use super::mark::{GivenNumbers, MarkFile, NumberRecord};
use super::{JournalError, rows};

/// Whether the person says that the state directory was moved here or put back from a backup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Claim {
    /// It is where it always was.
    #[default]
    Same,
    /// Then it is taken over under a new id. One that has not moved keeps its own.
    Moved,
}

/// Whose runs are whose, by what their folders and marks say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The journal's own id: 32 hexadecimal digits.
    pub journal: String,
    /// The journal that was in this folder before, if it was replaced.
    pub before: Option<String>,
    /// Runs that name no journal are ours, because they are older than the ids of journals.
    pub unnamed: bool,
}

impl Owner {
    /// Whether a run that names this journal, or none, is ours.
    pub fn owns(&self, journal: Option<&str>) -> bool {
        match journal {
            Some(journal) => self.journal == journal || self.before.as_deref() == Some(journal),
            None => self.unnamed,
        }
    }
}

/// What does not fit together, found when a journal was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalFindings {
    /// The facts that are missing: the first and the last.
    pub lost: Option<(u64, u64)>,
    /// Another journal was in its place.
    pub replaced: bool,
    /// It was taken over under a new id.
    pub moved: bool,
}

/// What the journal says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Noted {
    id: Uuid,
    folder: FolderIdentity,
    #[serde(default)]
    unnamed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Uuid>,
}

/// A journal that knows who it is.
#[derive(Debug)]
pub(super) struct JournalIdentity {
    pub(super) owner: Owner,
    pub(super) findings: JournalFindings,
    /// What was given away by this journal, or by the one before it.
    pub(super) given: GivenNumbers,
    id: Uuid,
    mark: MarkFile,
}

impl JournalIdentity {
    /// Finds out who the journal is, or gives it an id; `last` is its last fact. A copy is refused, and left as it is.
    pub(super) fn establish(
        db: &Connection,
        path: &Path,
        last: u64,
        claim: Claim,
    ) -> Result<Self, JournalError> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let here = FolderIdentity::at(parent.unwrap_or(Path::new(".")))
            .map_err(JournalError::file(path, "look at the folder of"))?;
        let noted = read(db, path)?;
        let stays = noted.as_ref().is_none_or(|noted| here.is(&noted.folder));
        if let Some(noted) = noted.as_ref().filter(|_| !stays && claim == Claim::Same) {
            let was = noted.folder.path.clone();
            return Err(JournalError::Elsewhere { path: path.into(), was });
        }
        let (mark_file, mark) = MarkFile::open(&path.with_extension("mark"))
            .map_err(JournalError::file(path, "open the mark of"))?;
        let outside = mark.map(|mark| Uuid::from_u128(mark.journal));
        let was = noted.as_ref().map(|noted| noted.id);
        let mut findings = JournalFindings {
            // A journal from before the ids has no mark, unless it took the place of one that has.
            replaced: outside.is_some() && outside != was,
            ..JournalFindings::default()
        };
        if let Some(mark) = mark.filter(|mark| !findings.replaced && mark.given.fact > last) {
            findings.lost = Some((last + 1, mark.given.fact));
        }
        let now = match noted {
            Some(noted) if stays => Noted { folder: here, ..noted },
            Some(_) => {
                findings.moved = true;
                Noted { id: Uuid::new_v4(), folder: here, unnamed: false, before: None }
            }
            None => {
                findings.moved = claim == Claim::Moved;
                let unnamed = claim == Claim::Same && mark.is_none_or(|mark| mark.unnamed);
                Noted { id: Uuid::new_v4(), folder: here, unnamed, before: None }
            }
        };
        let before = outside.filter(|_| findings.replaced && !findings.moved);
        let now = Noted { before: before.or(now.before), ..now };
        write(db, path, &now)?;
        let given = mark.map(|mark| mark.given).unwrap_or_default();
        let name = |id: Uuid| id.simple().to_string();
        let owner =
            Owner { journal: name(now.id), before: now.before.map(name), unnamed: now.unnamed };
        Ok(Self { owner, findings, given, id: now.id, mark: mark_file })
    }

    /// Notes outside of the journal how far it has come. If it fails, a loss may be noticed later or not at all; nothing else depends on it.
    pub(super) fn advance(&self, given: GivenNumbers) {
        let (journal, unnamed) = (self.id.as_u128(), self.owner.unnamed);
        if let Err(error) = self.mark.write(NumberRecord { journal, unnamed, given }) {
            tracing::debug!(cause = %error, "mark of the journal is behind");
        }
    }
}

/// Older builds leave the table alone, so that a journal with it is still one of theirs.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS identity (
  key  TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID";

fn read(db: &Connection, path: &Path) -> Result<Option<Noted>, JournalError> {
    let found = || -> rusqlite::Result<Option<String>> {
        let there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'identity'";
        if !db.prepare(there)?.exists([])? {
            return Ok(None);
        }
        let sql = "SELECT body FROM identity WHERE key = 'journal'";
        db.query_row(sql, [], |row| row.get(0)).optional()
    };
    let found = found().map_err(JournalError::database(path, "read"))?;
    let noted = found.map(|text| serde_json::from_str(&text)).transpose();
    noted.map_err(|error| JournalError::Damaged {
        path: path.into(),
        why: format!("its identity cannot be read: {error}"),
    })
}

fn write(db: &Connection, path: &Path, noted: &Noted) -> Result<(), JournalError> {
    let write = || {
        let text = rows::json(noted)?;
        let same = read(db, path).ok().flatten().is_some_and(|kept| {
            serde_json::to_value(kept).ok() == serde_json::to_value(noted).ok()
        });
        if same {
            return Ok(());
        }
        db.execute_batch(TABLE)?;
        let sql = "INSERT OR REPLACE INTO identity (key, body) VALUES ('journal', ?1)";
        db.execute(sql, params![text]).map(|_| ())
    };
    write().map_err(JournalError::database(path, "write"))
}
