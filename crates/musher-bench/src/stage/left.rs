//! The ledger of processes: who still lives below a folder.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A process that belongs to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub pid: u32,
    /// What it was started as.
    pub line: String,
}

/// Every process that works below a folder, or was told of it by an argument or a variable. This one is not counted.
pub fn left_below(folder: &Path) -> anyhow::Result<Vec<Left>> {
    let folder = folder.canonicalize()?;
    let named = memchr::memmem::Finder::new(folder.as_os_str().as_bytes());
    let mut left = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        if pid == std::process::id() {
            continue;
        }
        // What cannot be read has ended meanwhile, or is not ours.
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let line = read("cmdline");
        let works = std::fs::read_link(entry.path().join("cwd"));
        let below = works.is_ok_and(|works| works.starts_with(&folder));
        // One that has ended and was not taken in yet has no arguments left.
        let lives = !line.is_empty();
        let told = named.find(&line).is_some() || named.find(&read("environ")).is_some();
        if lives && (below || told) {
            let line = String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned();
            left.push(Left { pid, line });
        }
    }
    left.sort_by_key(|left| left.pid);
    Ok(left)
}
