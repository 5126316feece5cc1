//! The copy of the program that runners start from.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Keeps a copy of this program below `folder`, under a name that tells builds apart.
pub(super) fn keep(program: &Path, folder: &Path) -> io::Result<PathBuf> {
    let found = program.metadata()?;
    // A build is told by its file: reading all of it would make every start slow.
    let build = format!("{:x}-{:x}-{:x}", found.mtime(), found.mtime_nsec(), found.size());
    let folder = folder.join(build);
    let copy = folder.join("musher");
    if copy.metadata().is_ok_and(|copy| copy.size() == found.size()) {
        return Ok(copy);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let new = folder.join(format!("new-{}", std::process::id()));
    let _left_by_a_crash = std::fs::remove_file(&new);
    // A program that is replaced gets a new file, and a link keeps the old one.
    if std::fs::hard_link(program, &new).is_err() {
        std::fs::copy(program, &new)?;
        // A copy that is whole by its size alone would be started after a loss of power.
        std::fs::File::open(&new)?.sync_all()?;
    }
    std::fs::rename(&new, &copy)?;
    // Renaming one link over another of the same file leaves both.
    let _gone = std::fs::remove_file(&new);
    Ok(copy)
}

/// What tells the build of a kept copy from others.
pub(crate) fn build_of(copy: &Path) -> String {
    let name = copy.parent().and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}
