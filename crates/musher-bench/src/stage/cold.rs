//! Makes the machine forget what it has read.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Advice, fadvise, sync};

/// How what was read was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// Everything, names of files included.
    All,
    /// Only what is in these files; for more one must be root.
    Contents,
}

/// Forgets everything, or else what is in the files below a folder.
pub fn forget(folder: &Path) -> anyhow::Result<Forgotten> {
    sync();
    if std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok() {
        return Ok(Forgotten::All);
    }
    forget_contents(folder)?;
    Ok(Forgotten::Contents)
}

/// Forgets what is in the files below a folder, whoever asks for it.
pub fn forget_contents(folder: &Path) -> anyhow::Result<()> {
    sync();
    forget_below(folder)
}

fn forget_below(folder: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            forget_below(&entry.path())?;
        } else if kind.is_file() {
            fadvise(File::open(entry.path())?, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}
