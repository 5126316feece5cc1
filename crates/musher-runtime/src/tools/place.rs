//! A path that a model wrote, made relative to the working folder and checked before anything is opened.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::fault::ToolFault;
use super::input::clip;

/// Longer paths are refused by the kernel anyway.
const MAX_PATH_BYTES: usize = 4096;
const MAX_NAME_BYTES: usize = 255;

/// Names below the working folder, without `.` and `..`. None at all means the folder itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RelativePath {
    parts: Vec<String>,
}

impl RelativePath {
    /// Reads what a model wrote. Absolute paths are taken when they begin with one of the folder's own names.
    pub(super) fn read(text: &str, roots: &[&Path]) -> Result<Self, ToolFault> {
        let bad = |why| ToolFault::BadPath { path: clip(text), why };
        if text.len() > MAX_PATH_BYTES {
            return Err(bad("is too long"));
        }
        if text.contains('\0') {
            return Err(bad("has a NUL byte"));
        }
        if text.is_empty() {
            return Err(bad("is empty"));
        }
        let path = Path::new(text);
        let path = match path.is_absolute() {
            false => path,
            true => roots
                .iter()
                .find_map(|root| path.strip_prefix(root).ok())
                .ok_or_else(|| ToolFault::Outside { path: clip(text) })?,
        };
        let mut parts = Vec::new();
        for component in path.components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => {
                    parts.pop().ok_or_else(|| ToolFault::Outside { path: clip(text) })?;
                }
                Component::Normal(name) if name.len() > MAX_NAME_BYTES => {
                    return Err(bad("has a name that is too long"));
                }
                Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(ToolFault::Outside { path: clip(text) });
                }
            }
        }
        Ok(Self { parts })
    }

    /// The working folder itself.
    pub(super) fn root() -> Self {
        Self { parts: Vec::new() }
    }

    /// The folder it is in, and its name there.
    pub(super) fn split(&self) -> Option<(&[String], &str)> {
        self.parts.split_last().map(|(name, folder)| (folder, name.as_str()))
    }

    /// The folders above it, the working folder first.
    pub(super) fn above(&self) -> impl Iterator<Item = Self> {
        (0..self.parts.len()).map(|count| Self { parts: self.parts[..count].to_vec() })
    }

    /// Whether it is git's own. Git takes the name in any case on some systems, so no case of it is written.
    pub(super) fn is_gits(&self) -> bool {
        self.parts.iter().any(|part| is_git(OsStr::new(part)))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.parts.iter().collect()
    }
}

impl std::fmt::Display for RelativePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.parts.is_empty() {
            return f.write_str(".");
        }
        f.write_str(&self.parts.join("/"))
    }
}

/// Whether a name is that of git's own folder or file.
pub(super) fn is_git(name: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(b".git")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<String, String> {
        let roots = [Path::new("/work/tree")];
        RelativePath::read(text, &roots)
            .map(|place| place.to_string())
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_path_is_made_relative_and_plain() {
        for (text, plain) in [
            ("a/b", "a/b"),
            ("./a//b/", "a/b"),
            ("a/x/../b", "a/b"),
            (".", "."),
            ("/work/tree/a", "a"),
            ("/work/tree", "."),
        ] {
            assert_eq!(read(text).as_deref(), Ok(plain), "{text}");
        }
    }

    #[test]
    fn a_path_that_leads_out_is_refused_before_anything_is_opened() {
        for text in [
            "..",
            "a/../..",
            "/etc/passwd",
            "/work/tree/../x",
            "/work/treehouse",
            "/proc/self/root",
        ] {
            assert!(read(text).unwrap_err().contains("leads out"), "{text}");
        }
        for text in ["", "a\0b", &"x/".repeat(3000), &"x".repeat(300)] {
            assert!(read(text).unwrap_err().contains("inside the working folder"));
        }
    }

    #[test]
    fn gits_own_files_are_known_in_any_case() {
        let place = |text| RelativePath::read(text, &[]).unwrap();
        assert!(place(".git/config").is_gits() && place("sub/.GIT").is_gits());
        assert!(!place(".gitignore").is_gits() && !place("git/x").is_gits());
    }

    proptest! {
        #[test]
        fn no_text_gives_a_place_with_a_step_upwards(text in "[./a\\\\~\\PC]{0,40}") {
            if let Ok(place) = RelativePath::read(&text, &[Path::new("/work/tree")]) {
                for part in &place.parts {
                    prop_assert!(part != ".." && part != "." && !part.is_empty());
                    prop_assert!(!part.contains(['/', '\0']));
                }
            }
        }
    }
}
