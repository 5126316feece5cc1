//! The kernel's table of processes, as `/proc` shows it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::mark::{MARK, RunMark};

/// A process that cannot be confused with a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ProcessIdentity {
    pub(super) pid: i32,
    /// When it started, in clock ticks since boot.
    pub(super) started: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessEntry {
    pub(super) id: ProcessIdentity,
    pub(super) parent: i32,
    pub(super) zombie: bool,
    /// A signal keeps it from running.
    pub(super) stopped: bool,
}

/// Every process there is, by number.
pub(super) fn read() -> HashMap<i32, ProcessEntry> {
    pids().filter_map(|pid| Some((pid, entry(pid)?))).collect()
}

/// The number of every process there is.
pub(super) fn pids() -> impl Iterator<Item = i32> {
    let folder = std::fs::read_dir("/proc").into_iter().flatten();
    folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// One process, if it is still there.
pub(super) fn entry(pid: i32) -> Option<ProcessEntry> {
    // The kernel gives all of it at once, and what is wanted stands in front.
    let mut room = [0; 512];
    let count = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut room).ok()?;
    let stat = &room[..count];
    // The name stands in parentheses and may hold any byte, so the fields are counted from its end.
    let after_name = &stat[memchr::memrchr(b')', stat)? + 1..];
    let text = std::str::from_utf8(after_name).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    let (zombie, stopped) = (matches!(state, "Z" | "X"), state == "T");
    Some(ProcessEntry { id: ProcessIdentity { pid, started }, parent, zombie, stopped })
}

/// A descriptor for the one child of a process that was not waited for yet.
pub(super) fn only_child(parent: i32) -> io::Result<OwnedFd> {
    let is_child = |pid: i32| entry(pid).is_some_and(|entry| entry.parent == parent);
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let child = pids().find(|pid| is_child(*pid)).ok_or_else(gone)?;
    let child_pid = Pid::from_raw(child).ok_or_else(gone)?;
    let pidfd = pidfd_open(child_pid, PidfdFlags::empty())?;
    // The descriptor pins the process; only then is it looked at, so a reused number is never taken for it.
    if is_child(child) { Ok(pidfd) } else { Err(gone()) }
}

/// Whose a process is, as far as its environment tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belongs {
    /// It was started with the mark.
    Here,
    /// It was started with a mark that has nothing to do with this one.
    Elsewhere,
    /// It shows no mark, as does every process in the middle of an exec, or only those that this one is inside of, as
    /// does one that was just forked off by whoever gives it away.
    Unknown,
}

/// How much of an environment the kernel gives at a time. Most are shorter, so that one call reads all of it.
const PIECE: usize = 4096;

/// Reads environments of processes, one after another into the same room.
#[derive(Debug, Default)]
pub(super) struct Environs {
    room: Vec<u8>,
}

impl Environs {
    /// What the process was started with; nothing for one that is gone, is in the middle of an exec, or is another
    /// user's.
    fn of(&mut self, pid: i32) -> &[u8] {
        let Ok(mut file) = File::open(format!("/proc/{pid}/environ")) else { return &[] };
        let mut count = 0;
        loop {
            self.room.resize(self.room.len().max(count + PIECE), 0);
            let read = file.read(&mut self.room[count..count + PIECE]).unwrap_or(0);
            count += read;
            if read < PIECE {
                return &self.room[..count];
            }
        }
    }

    /// The marks that the process was started with.
    pub(super) fn marks(&mut self, pid: i32) -> impl Iterator<Item = &[u8]> {
        let entries = self.of(pid).split(|&byte| byte == 0);
        entries.filter_map(|entry| entry.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))
    }

    /// Whether the process was started with the mark in its environment.
    pub(super) fn belongs(&mut self, pid: i32, mark: &RunMark) -> Belongs {
        self.marks(pid).fold(Belongs::Unknown, |before, value| match before {
            Belongs::Here => Belongs::Here,
            Belongs::Elsewhere | Belongs::Unknown if mark.is_in(value) => Belongs::Here,
            Belongs::Elsewhere | Belongs::Unknown if mark.is_inside(value) => before,
            Belongs::Elsewhere | Belongs::Unknown => Belongs::Elsewhere,
        })
    }
}

/// The memory that a process has for itself, in bytes: what it shares with others is counted by none.
pub(super) fn own_bytes(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map(|field| field.parse::<u64>().ok());
    let (resident, shared) = (pages.next()??, pages.next()??);
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    Some(resident.saturating_sub(shared).saturating_mul(page))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _dead = self.0.kill();
            let _dead = self.0.wait();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a process that nobody of ours has started")]
    fn sleeper(mark: Option<&str>) -> (Sleeper, i32) {
        let mut command = Command::new("sleep");
        command.arg("60").env_remove(MARK);
        let child = command.envs(mark.map(|mark| (MARK, mark))).spawn().unwrap();
        let pid = child.id().cast_signed();
        (Sleeper(child), pid)
    }

    #[test]
    fn a_process_belongs_here_elsewhere_or_nobody_knows() {
        let ours = RunMark::named("ours-0001".into(), Some("outer-001".as_ref()));
        for (mark, belongs_to) in [
            (Some("ours-0001"), Belongs::Here),
            (Some("outer-001/ours-0001/inner-01"), Belongs::Here),
            (Some("other-001"), Belongs::Elsewhere),
            (Some("outer-001/other-001"), Belongs::Elsewhere),
            (Some("outer-001"), Belongs::Unknown),
            (None, Belongs::Unknown),
        ] {
            let (_sleeper, pid) = sleeper(mark);
            let began = std::time::Instant::now();
            let mut environs = Environs::default();
            // Until it has become what it is, it shows nothing or what we show.
            while environs.belongs(pid, &ours) != belongs_to {
                let found = environs.belongs(pid, &ours);
                assert!(began.elapsed().as_secs() < 10, "{mark:?}: {found:?}");
            }
        }
    }
}
