//! The agents that this process has started and not yet waited for: their ends belong to their sessions.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitOptions, getpid, waitpid};

use super::child::AgentChild;
use super::table;

static ROOTS: Mutex<Vec<i32>> = Mutex::new(Vec::new());

fn roots() -> MutexGuard<'static, Vec<i32>> {
    ROOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts an agent. It is known before anybody else can look for children to take in.
pub(super) fn begin(spawn: impl FnOnce() -> io::Result<AgentChild>) -> io::Result<AgentChild> {
    let mut roots = roots();
    let child = spawn()?;
    roots.push(child.id());
    Ok(child)
}

/// Forgets an agent that was waited for.
pub(super) fn end(pid: i32) {
    roots().retain(|root| *root != pid);
}

/// Every agent there is.
pub(super) fn all() -> Vec<i32> {
    roots().clone()
}

/// Takes in the dead orphans that came to this process because it is a subreaper.
///
/// Only a process that is dedicated to its sessions ([`crate::Host::Dedicated`]) may call this, best whenever it
/// hears SIGCHLD: children that it has started by other means would be taken from whoever waits for them.
pub fn reap_orphans() {
    let roots = roots();
    let me = getpid().as_raw_nonzero().get();
    for pid in children(me) {
        let dead = || table::entry(pid).is_some_and(|entry| entry.zombie && entry.parent == me);
        if let Some(orphan) = Pid::from_raw(pid).filter(|_| !roots.contains(&pid) && dead()) {
            let _already_taken = waitpid(Some(orphan), WaitOptions::NOHANG);
        }
    }
}

/// Our children, from whichever thread they hang.
fn children(me: i32) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{me}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|t| std::fs::read_to_string(t.path().join("children")).ok());
    let parse = |list: String| -> Vec<i32> {
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    };
    lists.flat_map(parse).collect()
}
