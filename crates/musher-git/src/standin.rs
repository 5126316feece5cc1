//! What stands in the place of the repository's own settings in every call.
//!
//! Whoever can write the repository can write its settings, so git never reads them: each call is given a folder with
//! settings of ours for those that all worktrees share. References stay where they are, because git looks for them
//! beside HEAD; objects and the index are given by their paths.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use musher_os::untrusted;
use tempfile::TempDir;

use super::config::{Setting, SettingsTrust};
use super::error::GitError;

/// How the folder begins, so that those of the dead are known.
pub(super) const PREFIX: &str = "repo-";

/// What the disk of the repository can do. Git writes into its settings what it finds; we look ourselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiskTraits {
    /// Files are executable or not, and stay so.
    pub(super) modes: bool,
    pub(super) links: bool,
    /// Names that differ by small and large letters are one file.
    pub(super) folds: bool,
}

impl DiskTraits {
    /// Tries it out in a folder. One that cannot be written to is taken for an ordinary one.
    pub(super) fn of(folder: &Path) -> Self {
        let usual = Self { modes: true, links: true, folds: false };
        let Ok(probe) = tempfile::Builder::new().prefix("musher-probe-").tempdir_in(folder) else {
            return usual;
        };
        let file = probe.path().join("probe");
        let executable = |wanted: u32| {
            let set = fs::set_permissions(&file, fs::Permissions::from_mode(wanted));
            set.is_ok() && file.metadata().is_ok_and(|about| about.mode() & 0o777 == wanted)
        };
        if fs::write(&file, "").is_err() {
            return usual;
        }
        let modes = executable(0o700) && executable(0o600);
        let links = symlink("probe", probe.path().join("link")).is_ok();
        let folds = probe.path().join("PROBE").symlink_metadata().is_ok();
        Self { modes, links, folds }
    }
}

/// The settings of a stand-in, as git reads them.
pub(super) fn settings(
    disk: DiskTraits,
    bare: bool,
    common: &Path,
    passing: &[&Setting],
    references: bool,
) -> Vec<u8> {
    let passes = |setting: &&&Setting| references || !setting.is_of_references();
    let passing: Vec<&&Setting> = passing.iter().filter(passes).collect();
    // Git heeds extensions only in a repository of the second format.
    let format = i32::from(passing.iter().any(|setting| setting.is_extension()));
    let DiskTraits { modes, links, folds } = disk;
    let mut text = format!(
        "[core]\n\trepositoryformatversion = {format}\n\tbare = {bare}\n\tfilemode = {modes}\n\tsymlinks = {links}\n\tignorecase = {folds}\n"
    )
    .into_bytes();
    for setting in passing {
        text.extend(setting.written().unwrap_or_default());
    }
    // Large files that a filter stores beside the repository must not go with the stand-in.
    let lfs = common.join("lfs");
    let lfs = lfs.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    text.extend(format!("[lfs]\n\tstorage = \"{lfs}\"\n").into_bytes());
    text
}

/// The stand-in of a whole repository, for calls that touch no contents. It is removed when it is dropped.
#[derive(Debug)]
pub(super) struct StandIn {
    folder: TempDir,
}

impl StandIn {
    /// Makes one that knows nothing of the repository yet.
    pub(super) fn make(scratch: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(scratch)?;
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(scratch)?;
        let stand_in = Self { folder };
        for name in ["refs", "info", "objects"] {
            fs::create_dir(stand_in.path().join(name))?;
        }
        fs::write(stand_in.path().join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(stand_in.path().join("config"), "[core]\n\trepositoryformatversion = 0\n")?;
        Ok(stand_in)
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives it the settings that pass.
    pub(super) fn set(
        &self,
        disk: DiskTraits,
        common: &Path,
        settings: &[Setting],
    ) -> Result<(), GitError> {
        let passing: Vec<&Setting> =
            settings.iter().filter(|setting| setting.passes(SettingsTrust::Hardened)).collect();
        let text = self::settings(disk, false, common, &passing, true);
        self.put("config", &text)
    }

    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), GitError> {
        let path: PathBuf = self.path().join(name);
        untrusted::replace(&path, bytes).map_err(GitError::io(path))
    }

    /// Takes a file of it away.
    pub(super) fn take(&self, name: &str) -> Result<(), GitError> {
        let path = self.path().join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::io(path)(error))
            }
            _ => Ok(()),
        }
    }
}
