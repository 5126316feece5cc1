//! Files of the repository and of the state directory: read whole, never past a bound, never from outside of it.

use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use musher_os::untrusted::{self, Unfit};

use super::problem::{ConfigErrors, ConfigProblem};
use super::source::Source;
use super::{PROJECT_FILE, value};

/// Both are texts that people write; what is longer is a mistake.
const MAX_PROJECT_FILE_BYTES: u64 = 256 << 10;
const MAX_PROMPT_FILE_BYTES: u64 = 1 << 20;

/// The folder that paths in a project file start from, as seen from the repository.
const FOLDER: &str = ".musher";

/// The project file's text.
pub(super) fn project(repo: &Path) -> Result<Source, ConfigErrors> {
    Ok(read(repo, Path::new(PROJECT_FILE), MAX_PROJECT_FILE_BYTES).map_err(
        |error| match error {
            Unreadable::Missing => ConfigProblem::of_file(PROJECT_FILE, "there is no project file")
                .with_fix("write one with `musher init`"),
            Unreadable::NotText { text, at } => {
                let source = Source { file: PROJECT_FILE.into(), text };
                source.problem(at..at, "this is not UTF-8").with_fix("save the file as UTF-8")
            }
            Unreadable::Other(why) => ConfigProblem::of_file(PROJECT_FILE, why),
        },
    )?)
}

/// The text of a file that the project file names.
pub(super) fn prompt(repo: &Path, name: &str) -> Result<Source, String> {
    value::relative(name).map_err(|wrong| wrong.message)?;
    let path = Path::new(FOLDER).join(name);
    let shown = path.display();
    let source = read(repo, &path, MAX_PROMPT_FILE_BYTES).map_err(|error| match error {
        Unreadable::Missing => format!("there is no file {shown}"),
        Unreadable::NotText { text, .. } => {
            let line = text.matches('\n').count() + 1;
            format!("{shown} is not UTF-8 (line {line})")
        }
        Unreadable::Other(why) => format!("{shown}: {why}"),
    })?;
    match source.text.find('\0') {
        None => Ok(source),
        Some(at) => {
            let line = source.text[..at].matches('\n').count() + 1;
            Err(format!("{shown} holds a NUL character (line {line})"))
        }
    }
}

/// The text of a file in a state directory, if it is there.
pub(super) fn local(state: &Path, name: &Path) -> Result<Option<Source>, ConfigErrors> {
    let file = state.join(name);
    match read(state, name, MAX_PROJECT_FILE_BYTES) {
        Ok(source) => Ok(Some(Source { file, ..source })),
        Err(Unreadable::Missing) => Ok(None),
        Err(Unreadable::NotText { text, at }) => {
            let source = Source { file, text };
            let problem = source.problem(at..at, "this is not UTF-8");
            Err(problem.with_fix("save the file as UTF-8").into())
        }
        Err(Unreadable::Other(why)) => Err(ConfigProblem::of_file(file, why).into()),
    }
}

/// Writes a file for its owner alone: after a crash all of it is there, or what was there before.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    // A temporary file is readable by its owner only, and keeps that when it is renamed.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    untrusted::sync_folder(folder)
}

/// Why a file gave no text.
enum Unreadable {
    Missing,
    /// The text up to the first wrong byte, and how long that is.
    NotText {
        text: String,
        at: usize,
    },
    Other(String),
}

fn read(repo: &Path, path: &Path, longest: u64) -> Result<Source, Unreadable> {
    let inside = inside(repo, path)?;
    let bytes = untrusted::read(&inside, longest).map_err(|unfit| match unfit {
        Unfit::Missing { .. } => Unreadable::Missing,
        Unfit::TooLong { .. } => {
            Unreadable::Other(format!("it is longer than {} KiB", longest >> 10))
        }
        Unfit::Odd { kind, .. } => Unreadable::Other(format!("it is not a file but {kind}")),
        unfit @ (Unfit::NoFolder { .. } | Unfit::Led { .. } | Unfit::Io { .. }) => {
            Unreadable::Other(format!("it cannot be read: {unfit}"))
        }
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&error.as_bytes()[..at]).into_owned();
        Unreadable::NotText { text, at }
    })?;
    // Some editors begin a file with a mark that is no part of its text.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Source { file: path.to_owned(), text })
}

/// Where the path really leads, if that is inside the repository.
fn inside(repo: &Path, path: &Path) -> Result<PathBuf, Unreadable> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let real = |path: &Path| {
        fs::canonicalize(path).map_err(|error| {
            match [NotFound, NotADirectory].contains(&error.kind()) {
                true => Unreadable::Missing,
                false => Unreadable::Other(format!("it cannot be read: {error}")),
            }
        })
    };
    let (repo, path) = (real(repo)?, real(&repo.join(path))?);
    let below = path.strip_prefix(&repo).map_err(|_| {
        Unreadable::Other("a link leads out of the repository; put the file inside".into())
    })?;
    // What git keeps for itself is not the repository's text.
    if below.components().next() == Some(Component::Normal(".git".as_ref())) {
        return Err(Unreadable::Other("it is among git's own files".into()));
    }
    Ok(path)
}
