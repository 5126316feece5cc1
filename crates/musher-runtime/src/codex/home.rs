//! The folder in which Codex keeps its sessions: one of its own for each run, with the person's login in it.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use musher_core::{ErrorClass, ErrorInfo, SessionId};
use musher_os::untrusted;
use tempfile::TempDir;

use crate::session::Attempt;

/// The variable that names the folder.
pub(super) const VARIABLE: &str = "CODEX_HOME";
/// Its name below the folder that a host keeps for the session.
const FOLDER: &str = "codex";
const LOGIN: &str = "auth.json";
const SESSIONS: &str = "sessions";
const SCRATCH: &str = "scratch";
/// How deep sessions are filed: by year, month and day.
const MAX_SESSION_DEPTH: usize = 4;

/// Where Codex keeps what it keeps. A folder that nobody keeps is gone with this.
#[derive(Debug)]
pub(super) struct CodexHome {
    pub(super) path: PathBuf,
    /// Whether a login is in it.
    pub(super) logged_in: bool,
    /// Its own folder for temporary files. In the shared one its sandbox was seen to leave empty folders such as `.git`.
    pub(super) scratch: Option<PathBuf>,
    _temporary: Option<TempDir>,
}

/// Makes the folder ready for this attempt, with the session to go on with.
///
/// Only a folder that the person names for this agent is used as it is: Codex notes in it which projects are trusted, and
/// reads settings from it that no one here has seen.
pub(super) fn prepare(attempt: &Attempt) -> Result<CodexHome, ErrorInfo> {
    let spec = &attempt.spec;
    if let Some(own) = spec.environment.given(VARIABLE) {
        let path = PathBuf::from(own);
        let logged_in = path.join(LOGIN).exists();
        return Ok(CodexHome { path, logged_in, scratch: None, _temporary: None });
    }
    let (path, temporary) = match &spec.session_dir {
        Some(folder) => (folder.join(FOLDER), None),
        None => {
            let folder = tempfile::Builder::new().prefix("musher-codex-").tempdir();
            let folder =
                folder.map_err(|error| unusable(Path::new("a temporary folder"), &error))?;
            (folder.path().to_owned(), Some(folder))
        }
    };
    let scratch = path.join(SCRATCH);
    let make = DirBuilder::new().recursive(true).mode(0o700).create(&scratch);
    make.map_err(|error| unusable(&path, &error))?;
    let logged_in = lend_login(&path, attempt).map_err(|error| unusable(&path, &error))?;
    if let Some(session) = &attempt.resume {
        let earlier = spec.resume.as_ref().and_then(|resume| resume.session_dir.as_ref());
        let earlier = earlier.map(|folder| folder.join(FOLDER)).filter(|folder| *folder != path);
        if let Some(earlier) = earlier {
            bring(&earlier, &path, session.as_str()).map_err(|error| unusable(&path, &error))?;
        }
    }
    Ok(CodexHome { path, logged_in, scratch: Some(scratch), _temporary: temporary })
}

/// Whether the record of a session is in the folder that a host keeps for it.
pub(super) fn has_session(folder: &Path, session: &SessionId) -> bool {
    let record = find(&folder.join(FOLDER).join(SESSIONS), session.as_str(), MAX_SESSION_DEPTH);
    record.is_ok_and(|record| record.is_some())
}

fn unusable(path: &Path, error: &io::Error) -> ErrorInfo {
    let message =
        format!("the folder for Codex's sessions, {}, cannot be used: {error}", path.display());
    ErrorInfo::new(ErrorClass::Unavailable, message)
}

/// Links the person's login into the folder, so that a token which Codex renews is renewed for both.
fn lend_login(home: &Path, attempt: &Attempt) -> io::Result<bool> {
    let variable = |name| attempt.spec.environment.get(name).map(OsStr::to_owned);
    let own = variable(VARIABLE).map(PathBuf::from);
    let own = own.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".codex")));
    let Some(login) = own.map(|own| own.join(LOGIN)).filter(|login| login.is_file()) else {
        return Ok(home.join(LOGIN).exists());
    };
    match std::os::unix::fs::symlink(&login, home.join(LOGIN)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(true),
    }
}

/// Copies the record of a session. The earlier run keeps its own: this one goes on in the copy.
fn bring(from: &Path, to: &Path, session: &str) -> io::Result<()> {
    let Some(record) = find(&from.join(SESSIONS), session, MAX_SESSION_DEPTH)? else {
        // Then Codex says that it does not know the session.
        return Ok(());
    };
    let Ok(place) = record.strip_prefix(from) else { return Ok(()) };
    let copy = to.join(place);
    if copy.exists() {
        return Ok(());
    }
    if let Some(folder) = copy.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // The agent of the earlier run could put anything in its place.
    let mut record = untrusted::open(&record).map_err(untrusted::Unfit::into_io)?;
    io::copy(&mut record, &mut untrusted::create(&copy)?).map(|_| ())
}

/// The file whose name ends with the session's id.
fn find(folder: &Path, session: &str, depth: usize) -> io::Result<Option<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let wanted = format!("-{session}.jsonl");
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_file() && entry.file_name().to_string_lossy().ends_with(&wanted) {
            return Ok(Some(entry.path()));
        }
        if kind.is_dir()
            && depth > 0
            && let Some(found) = find(&entry.path(), session, depth - 1)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_its_id_and_copied_once() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = "sessions/2026/11/16/rollout-2026-11-16T10-00-00-abc.jsonl";
        std::fs::create_dir_all(from.path().join(place).parent().unwrap()).unwrap();
        std::fs::write(from.path().join(place), "one").unwrap();
        bring(from.path(), to.path(), "bc").unwrap();
        assert!(!to.path().join("sessions").exists(), "a part of an id is none");
        bring(from.path(), to.path(), "abc").unwrap();
        std::fs::write(to.path().join(place), "one and two").unwrap();
        bring(from.path(), to.path(), "abc").unwrap();
        assert_eq!(std::fs::read_to_string(to.path().join(place)).unwrap(), "one and two");
        assert_eq!(std::fs::read_to_string(from.path().join(place)).unwrap(), "one");
    }
}
