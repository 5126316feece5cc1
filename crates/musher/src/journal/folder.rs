//! What tells a folder from a copy of it: a copy has the same files, and is another folder.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use serde::{Deserialize, Serialize};

/// A folder, as it can be known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FolderIdentity {
    inode: u64,
    /// When it was made, in nanoseconds; not every file system tells. A copy cannot be made to have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<i64>,
    /// The device, whose number may be another one after the machine was started again.
    device: (u32, u32),
    /// Which start of the machine that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    pub(super) path: PathBuf,
}

impl FolderIdentity {
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let flags = StatxFlags::INO | StatxFlags::BTIME;
        let found = statx(CWD, &path, AtFlags::empty(), flags)?;
        let born = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        let nanoseconds = |time: rustix::fs::StatxTimestamp| {
            time.tv_sec.saturating_mul(1_000_000_000).saturating_add(i64::from(time.tv_nsec))
        };
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        Ok(Self {
            inode: found.stx_ino,
            born: born.then(|| nanoseconds(found.stx_btime)),
            device: (found.stx_dev_major, found.stx_dev_minor),
            boot: boot.map(|id| id.trim().to_owned()),
            path,
        })
    }

    /// Whether this is the folder that was noted. One that was moved on its disk is; a copy is not, and neither is a snapshot
    /// of the whole disk that is mounted beside it.
    pub(super) fn is(&self, noted: &Self) -> bool {
        let same = self.inode == noted.inode && self.born == noted.born;
        // A disk that comes back after a restart of the machine may have another number, and has no agents any more.
        let device = self.device == noted.device || self.boot != noted.boot;
        same && (device || self.path == noted.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_folder_is_the_same_and_a_copy_is_not() {
        let top = tempfile::tempdir().unwrap();
        let (one, two) = (top.path().join("one"), top.path().join("two"));
        std::fs::create_dir(&one).unwrap();
        let noted = FolderIdentity::at(&one).unwrap();
        std::fs::create_dir(&two).unwrap();
        assert!(!FolderIdentity::at(&two).unwrap().is(&noted));
        std::fs::remove_dir(&two).unwrap();
        std::fs::rename(&one, &two).unwrap();
        assert!(FolderIdentity::at(&two).unwrap().is(&noted));
        let kept = serde_json::to_string(&noted).unwrap();
        assert_eq!(serde_json::from_str::<FolderIdentity>(&kept).unwrap(), noted);
    }

    #[test]
    fn a_snapshot_of_the_disk_that_is_mounted_elsewhere_is_another_folder_until_the_machine_restarts()
     {
        let top = tempfile::tempdir().unwrap();
        let noted = FolderIdentity::at(top.path()).unwrap();
        let elsewhere =
            FolderIdentity { device: (9, 9), path: "/snapshot".into(), ..noted.clone() };
        assert!(!elsewhere.is(&noted));
        assert!(FolderIdentity { boot: Some("another".into()), ..elsewhere }.is(&noted));
        assert!(
            FolderIdentity { device: (9, 9), ..noted.clone() }.is(&noted),
            "mounted again in its place"
        );
    }
}
