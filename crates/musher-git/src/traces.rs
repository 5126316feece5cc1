//! Whether a branch may have moved, as far as the files tell in which git keeps branches; git itself is not called.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Git;
use super::name::Branch;

/// What the files looked like. As long as it is the same, the branch stands where it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces([Option<File>; 3]);

/// Git never changes one of these files, but puts a new one in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct File {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl Git {
    /// Looks at the files. This blocks for a moment, and longer on a disk that hangs.
    pub fn traces(&self, branch: &Branch) -> Traces {
        let common = &self.inner.common;
        Traces([
            look(&common.join("refs/heads").join(branch.as_str())),
            look(&common.join("packed-refs")),
            look(&common.join("reftable/tables.list")),
        ])
    }
}

fn look(path: &Path) -> Option<File> {
    let about = path.symlink_metadata().ok()?;
    let changed = (about.mtime(), about.mtime_nsec());
    Some(File { inode: about.ino(), length: about.len(), changed })
}
