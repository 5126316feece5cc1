//! The processes of this machine, named by number and start time, so that a number that is used again is no confusion.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// A process that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// When it started, in ticks since the machine did.
    pub(super) started: u64,
    pub(super) line: String,
}

/// A process, unless it has ended; one that only waits to be taken in has.
pub(super) fn alive(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    // The name stands in parentheses and may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let lives = fields.next().is_some_and(|state| !matches!(state, "Z" | "X"));
    let started = fields.nth(18)?.parse().ok().filter(|_| lives)?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned();
    Some(Process { pid, started, line })
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Every process that carries a mark, with its marks, the outermost first.
pub(super) fn marked() -> Vec<(Vec<String>, Process)> {
    let key = format!("{}=", musher_runtime::MARK);
    let marks = |pid: i32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut entries = environ.split(|byte| *byte == 0);
        let value = entries.find_map(|entry| entry.strip_prefix(key.as_bytes()))?.to_vec();
        let value = String::from_utf8_lossy(&value).into_owned();
        Some(value.split('/').map(str::to_owned).collect())
    };
    numbers().filter_map(|pid| Some((marks(pid)?, alive(pid)?))).collect()
}

/// The runners of the runs below a folder, each with the name of its run.
pub(super) fn runners(runs: &Path) -> Vec<(String, Process)> {
    let Ok(runs) = runs.canonicalize() else { return Vec::new() };
    let runs = [runs.as_os_str().as_bytes(), b"/"].concat();
    let run = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let mut words = line.split(|byte| *byte == 0);
        let folder = words.nth(1).filter(|word| *word == b"runner").and_then(|_| words.next())?;
        Some(String::from_utf8_lossy(folder.strip_prefix(&runs[..])?).into_owned())
    };
    numbers().filter_map(|pid| Some((run(pid)?, alive(pid)?))).collect()
}

/// Kills a process, if it is still the one that was meant.
pub(super) fn kill(process: &Process) -> bool {
    let is_same = alive(process.pid).is_some_and(|now| now.started == process.started);
    let pid = Pid::from_raw(process.pid).filter(|_| is_same);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}
