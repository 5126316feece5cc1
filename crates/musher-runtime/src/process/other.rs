//! A process that somebody else has started, named so that a later one of the same number is never taken for it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Signal, getpid};

use super::table::{self, ProcessIdentity};
use super::tree::send;

/// How often a tree is looked over: each look finds at least one more generation, until none is left.
const MAX_TREE_SCANS: usize = 64;

/// A process of this machine that is not our child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherProcess(ProcessIdentity);

impl OtherProcess {
    /// The process that has this number now.
    pub fn of(pid: i32) -> Option<Self> {
        let entry = table::entry(pid)?;
        (!entry.zombie).then_some(Self(entry.id))
    }

    /// Everybody who holds the exclusive `flock` of a file, ourselves aside. The kernel tells it by the open file, so that a
    /// child which was forked with it is found as well.
    pub fn holding(file: &Path) -> Vec<Self> {
        let Ok(wanted) = fs::metadata(file) else { return Vec::new() };
        let name = file.file_name().unwrap_or_default();
        let me = getpid().as_raw_nonzero().get();
        let holds = |pid: i32| {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            open.into_iter().any(|entry| {
                // The name is looked at first: to ask after every open file may mean to wait for a disk that hangs.
                let link = fs::read_link(entry.path()).unwrap_or_default();
                let same = |found: fs::Metadata| {
                    (found.dev(), found.ino()) == (wanted.dev(), wanted.ino())
                };
                link.file_name() == Some(name)
                    && fs::metadata(entry.path()).is_ok_and(same)
                    && locks(pid, &entry.file_name().to_string_lossy())
            })
        };
        table::pids().filter(|pid| *pid != me && holds(*pid)).filter_map(Self::of).collect()
    }

    pub fn pid(self) -> i32 {
        self.0.pid
    }

    /// Whether a signal keeps it from running.
    pub fn is_stopped(self) -> bool {
        self.now().is_some_and(|entry| entry.stopped)
    }

    /// Lets it run on, if a signal has stopped it.
    pub fn wake(self) {
        send(self.0, Signal::CONT);
    }

    /// Kills it with all that descends from it. What has left its session and its environment is found as long as it lives,
    /// because orphans come to a runner; afterwards nobody would know whose they are.
    pub fn kill_tree(self) {
        // A process that is stopped starts nothing more.
        let mut tree = vec![self.0];
        send(self.0, Signal::STOP);
        for _ in 0..MAX_TREE_SCANS {
            let table = table::read();
            let known = |id: &ProcessIdentity| tree.contains(id);
            let below = |entry: &&table::ProcessEntry| {
                let parent = table.get(&entry.parent).map(|parent| parent.id);
                !entry.zombie && !known(&entry.id) && parent.is_some_and(|parent| known(&parent))
            };
            let fresh: Vec<ProcessIdentity> =
                table.values().filter(below).map(|entry| entry.id).collect();
            if fresh.is_empty() {
                break;
            }
            fresh.iter().for_each(|id| send(*id, Signal::STOP));
            tree.extend(fresh);
        }
        tree.iter().rev().for_each(|id| send(*id, Signal::KILL));
    }

    fn now(self) -> Option<table::ProcessEntry> {
        table::entry(self.0.pid).filter(|entry| entry.id == self.0)
    }
}

/// Whether an open file of a process has a lock that shuts others out.
fn locks(pid: i32, number: &str) -> bool {
    let about = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
    let lock = |line: &str| line.starts_with("lock:") && line.contains("FLOCK");
    about.lines().any(|line| lock(line) && line.contains("WRITE"))
}
