//! Paths inside a repository: those that git tells us, and those that come from outside.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use super::name::BadName;

/// A path as git knows it: bytes, relative to the top, in no certain encoding.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GitPath(Vec<u8>);

impl GitPath {
    pub(super) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }
}

/// Bytes that are no text, and controls, are written as `\xNN`, so that two names never look the same.
impl fmt::Display for GitPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c.is_control() {
                    true => write!(f, "\\x{:02x}", u32::from(c))?,
                    false => write!(f, "{c}")?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for GitPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for GitPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A path from outside that stays beneath the folder it is joined to and never reaches git's own files.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RelPath(String);

impl RelPath {
    /// Takes plain names separated by single slashes.
    pub fn new(path: impl Into<String>) -> Result<Self, BadName> {
        let path = path.into();
        let refused = |why| Err(BadName::new("file in the repository", path.as_bytes(), why));
        if path.len() > 1024 {
            return refused("it is longer than 1024 bytes");
        }
        if path.chars().any(char::is_control) {
            return refused("it has a control letter in it");
        }
        for part in path.split('/') {
            if matches!(part, "" | "." | "..") {
                return refused("write names separated by single slashes, without . and ..");
            }
            if part.to_lowercase().starts_with(".git") && !GIT_NAMED.contains(&part) {
                return refused("git's own files are not to be touched");
            }
        }
        Ok(Self(path))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The path beneath a folder.
    pub fn beneath(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }

    /// Whether a path of git is this one or lies beneath it.
    pub(super) fn holds(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(self.0.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

/// Files whose names begin like git's own folder and are not.
const GIT_NAMED: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules", ".gitkeep", ".github"];

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RelPath {
    type Error = BadName;
    fn try_from(path: String) -> Result<Self, BadName> {
        Self::new(path)
    }
}

impl From<RelPath> for String {
    fn from(path: RelPath) -> String {
        path.0
    }
}

#[cfg(test)]
mod tests {
    use std::path::Component;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_that_leave_their_root_are_refused() {
        let hostile = [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "./a",
            "a//b",
            "a/",
            ".git",
            ".git/config",
            "a/.GIT/hooks",
            ".git.",
            ".git ",
            ".git::$INDEX_ALLOCATION",
            "a\0b",
            "a\nb",
        ];
        for path in hostile {
            assert!(RelPath::new(path).is_err(), "{path:?}");
        }
        for path in [".env", "target", "web/node_modules", "-x", "a b", ".github/x", "..a"] {
            assert!(RelPath::new(path).is_ok(), "{path:?}");
        }
    }

    #[test]
    fn a_path_holds_itself_and_what_lies_beneath() {
        let path = RelPath::new("a/b").unwrap();
        assert!(path.holds(b"a/b") && path.holds(b"a/b/c"));
        assert!(!path.holds(b"a/bc") && !path.holds(b"a"));
    }

    #[test]
    fn two_names_never_look_the_same() {
        assert_eq!(GitPath::new(*b"caf\xe9").to_string(), "caf\\xe9");
        assert_eq!(GitPath::new(*b"a\nb").to_string(), "a\\x0ab");
        assert_eq!(GitPath::new("café").to_string(), "café");
    }

    proptest! {
        #[test]
        fn no_bytes_leave_their_root(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            for path in [text.clone(), format!("a/{text}"), format!("../{text}"), format!("/{text}")] {
                let Ok(path) = RelPath::new(path) else { continue };
                let joined = path.beneath(Path::new("/root"));
                prop_assert!(joined.starts_with("/root") && joined != Path::new("/root"));
                let plain = |part| matches!(part, Component::Normal(_));
                prop_assert!(path.as_path().components().all(plain));
            }
        }

        #[test]
        fn any_path_of_git_can_be_shown(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let shown = GitPath::new(bytes).to_string();
            prop_assert!(!shown.chars().any(char::is_control));
        }
    }
}
