//! Reads a file of a worktree, wherever the agent has led its links: never one outside of it.

use std::borrow::Cow;
use std::path::Path;

use musher_os::untrusted::{self, Links, Unfit};

/// Longer files are not read for a glance at a change.
const MAX_PREVIEWED_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileAtPath {
    Text(String),
    Nothing,
}

/// Why a file was not read.
pub(super) type Unread = Cow<'static, str>;

/// Reads a text file. The path is taken from the worktree's folder, or begins with it.
pub(super) fn read(worktree: &Path, path: &str) -> Result<FileAtPath, Unread> {
    let path = Path::new(path);
    let inside = match path.is_absolute() {
        true => path.strip_prefix(worktree).map_err(|_| OUTSIDE)?,
        false => path,
    };
    let bytes =
        match untrusted::read_beneath(worktree, inside, Links::Follow, MAX_PREVIEWED_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(Unfit::Missing { .. }) => return Ok(FileAtPath::Nothing),
            Err(Unfit::Led { .. }) => return Err(OUTSIDE.into()),
            Err(Unfit::Odd { kind, .. }) => {
                return Err(format!("it is not a file but {kind}").into());
            }
            Err(Unfit::TooLong { .. }) => return Err("the file is too long to be shown".into()),
            Err(unfit) => return Err(format!("it cannot be read: {unfit}").into()),
        };
    String::from_utf8(bytes).map(FileAtPath::Text).map_err(|_| "the file is not text".into())
}

const OUTSIDE: &str = "it is outside of the worktree";

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode};

    use super::*;

    #[test]
    fn only_what_is_beneath_the_worktree_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let worktree = top.join("w");
        std::fs::create_dir_all(worktree.join("src")).unwrap();
        std::fs::write(worktree.join("src/a"), "text").unwrap();
        std::fs::write(top.join("secret"), "secret").unwrap();
        symlink("../secret", worktree.join("out")).unwrap();
        symlink(&top, worktree.join("up")).unwrap();
        symlink("src/a", worktree.join("in")).unwrap();
        let text = || Ok(FileAtPath::Text("text".into()));
        assert_eq!(read(&worktree, "src/a"), text());
        assert_eq!(read(&worktree, &worktree.join("src/a").display().to_string()), text());
        assert_eq!(read(&worktree, "in"), text(), "a link that stays inside is followed");
        assert_eq!(read(&worktree, "src/none"), Ok(FileAtPath::Nothing));
        assert_eq!(read(&worktree, "none/a"), Ok(FileAtPath::Nothing));
        for path in ["../secret", "out", "up/secret", "/etc/passwd", "src/../../secret"] {
            assert_eq!(read(&worktree, path), Err(OUTSIDE.into()), "{path}");
        }
        assert!(read(&worktree, "src").is_err());
    }

    #[test]
    fn what_is_no_text_or_no_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bytes"), [0xff, 0xfe]).unwrap();
        let long = File::create(folder.path().join("long")).unwrap();
        long.set_len(MAX_PREVIEWED_FILE_BYTES + 1).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, folder.path().join("pipe"), kind, mode, 0).unwrap();
        for name in ["bytes", "long", "pipe"] {
            assert!(read(folder.path(), name).is_err(), "{name}");
        }
    }
}
