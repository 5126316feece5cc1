//! One run's process tree: find all of it, signal it, end it, and prove that nothing is left.
//!
//! Agents start their tools in sessions of their own, so a process group is not enough. A process belongs to the tree
//! when it descends from the agent, was once seen to descend from it, is in the run's control group, or carries the
//! run's mark.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, pidfd_open,
    pidfd_send_signal, waitid, waitpid,
};
use tracing::warn;

use super::cgroup::Cgroup;
use super::confined::SandboxHolders;
use super::mark::RunMark;
use super::table::{self, Belongs, Environs, ProcessEntry, ProcessIdentity};
use super::{Containment, Host, Sweep, roots};

/// How long the kernel gets to take away what was killed.
const KILL_VERIFY_TIMEOUT: Duration = Duration::from_secs(3);
const KILL_POLL_INTERVAL: Duration = Duration::from_millis(4);

/// The tree under one agent.
#[derive(Debug)]
pub(super) struct ProcessTree {
    root: ProcessIdentity,
    /// The control group that it is held in, where one could be made.
    cgroup: Option<Cgroup>,
    mark: RunMark,
    containment: Containment,
    /// Who holds the sandbox that it is in.
    holders: SandboxHolders,
    /// Everything ever seen in it.
    seen: HashSet<ProcessIdentity>,
    /// What lived when it was last noted.
    #[cfg(feature = "frames")]
    noted: HashSet<ProcessIdentity>,
    /// What started before this cannot carry the mark, because whoever gives it away did not live.
    since: u64,
    /// What carries the marks of others. A thousand runs may end at once, and each looks at all processes.
    elsewhere: HashSet<ProcessIdentity>,
}

impl ProcessTree {
    /// The tree of an agent that was just started and has not been waited for.
    pub(super) fn of(
        root: i32,
        cgroup: Option<Cgroup>,
        mark: RunMark,
        containment: Containment,
        holders: SandboxHolders,
    ) -> Self {
        let started = table::entry(root).map_or(0, |entry| entry.id.started);
        let root = ProcessIdentity { pid: root, started };
        let me = table::entry(getpid().as_raw_nonzero().get());
        let since = me.map_or(0, |entry| entry.id.started);
        let (seen, elsewhere) = (HashSet::from([root]), HashSet::new());
        Self {
            root,
            cgroup,
            mark,
            containment,
            holders,
            seen,
            #[cfg(feature = "frames")]
            noted: HashSet::new(),
            since,
            elsewhere,
        }
    }

    /// What is left of a tree whose root is gone: everything in its group or with its mark, and what descends from it.
    pub(super) fn left_behind(
        cgroup: Option<Cgroup>,
        mark: RunMark,
        containment: Containment,
    ) -> Self {
        // No process has this number, so nothing is taken for the agent itself.
        let root = ProcessIdentity { pid: 0, started: 0 };
        Self {
            root,
            cgroup,
            mark,
            containment,
            holders: SandboxHolders::None,
            seen: HashSet::new(),
            #[cfg(feature = "frames")]
            noted: HashSet::new(),
            // Whoever gave the mark away may have lived long before us.
            since: 0,
            elsewhere: HashSet::new(),
        }
    }

    /// Sends a signal to all of the tree. Stopped processes are woken, or they would never act on it.
    pub(super) fn signal(&mut self, signal: Signal) {
        let root = self.root.pid;
        for member in self.members() {
            let holds = match self.holders {
                SandboxHolders::None => false,
                SandboxHolders::Root => member.id.pid == root,
                SandboxHolders::RootAndChild => member.id.pid == root || member.parent == root,
                SandboxHolders::Engine => member.id.pid != root,
            };
            // They would take everything inside along, without a chance to tidy up.
            if holds {
                continue;
            }
            send(member.id, signal);
            send(member.id, Signal::CONT);
        }
    }

    /// Notes who lives now.
    #[cfg(feature = "frames")]
    pub(super) fn note(&mut self) {
        self.noted = self.members().iter().map(|member| member.id).collect();
    }

    /// Kills all who were not noted, except the agent itself; gives back who of them is still there.
    #[cfg(feature = "frames")]
    pub(super) fn kill_unnoted(&mut self) -> Vec<i32> {
        if self.holders == SandboxHolders::Engine {
            // When they were noted the container may have been on its way, and the agent would be taken for one of its tools.
            return Vec::new();
        }
        let deadline = Instant::now() + KILL_VERIFY_TIMEOUT;
        loop {
            let root = self.root;
            let members = self.members();
            let fresh = members.iter().filter(|m| m.id != root && !self.noted.contains(&m.id));
            let fresh: Vec<ProcessIdentity> = fresh.map(|member| member.id).collect();
            if fresh.is_empty() || Instant::now() > deadline {
                return fresh.iter().map(|id| id.pid).collect();
            }
            // Stopped first: what is killed while its parent runs may be started again.
            fresh.iter().for_each(|id| send(*id, Signal::STOP));
            fresh.iter().for_each(|id| send(*id, Signal::KILL));
            std::thread::sleep(KILL_POLL_INTERVAL);
        }
    }

    /// Kills all of the tree and gives back what is still there, which should be nothing.
    pub(super) fn kill(&mut self) -> Vec<i32> {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        if self.is_gone() {
            return Vec::new();
        }
        // Stopped processes cannot fork, so once every member has been stopped none can slip away.
        let deadline = Instant::now() + KILL_VERIFY_TIMEOUT;
        let (mut stopped, mut empty) = (HashSet::new(), 0);
        while Instant::now() < deadline {
            let members = self.members();
            let fresh: Vec<ProcessIdentity> =
                members.iter().map(|m| m.id).filter(|id| stopped.insert(*id)).collect();
            if members.is_empty() {
                empty = 1;
                std::thread::sleep(KILL_POLL_INTERVAL);
            }
            if fresh.is_empty() {
                break;
            }
            fresh.iter().for_each(|id| send(*id, Signal::STOP));
        }
        let deadline = Instant::now() + KILL_VERIFY_TIMEOUT;
        loop {
            let members = self.members();
            // In the middle of an exec a process shows no mark, so one empty look proves nothing.
            empty = if members.is_empty() { empty + 1 } else { 0 };
            if empty == 2 || Instant::now() > deadline {
                let survivors: Vec<i32> = members.iter().map(|member| member.id.pid).collect();
                if !survivors.is_empty() {
                    warn!(pids = ?survivors, "processes of an agent could not be killed");
                }
                return survivors;
            }
            members.iter().for_each(|member| send(member.id, Signal::KILL));
            std::thread::sleep(KILL_POLL_INTERVAL);
        }
    }

    /// Whether nothing is left, found out by as little reading as that takes: a thousand runs may end at once. `false` says
    /// only that it is worth a closer look.
    fn is_gone(&self) -> bool {
        let alone = self.containment.host == Host::Dedicated && is_childless();
        if self.containment.sweep == Sweep::RootOnly || !alone {
            return false;
        }
        // All that ever descended from us would be below us still, because orphans come to us. So only what others have
        // started can be left: it carries the mark, or was put into the group. Should orphans not come, those that were
        // seen are known.
        let lives =
            |id: &ProcessIdentity| table::entry(id.pid).is_some_and(|entry| entry.id == *id);
        let held = self.cgroup.as_ref().is_some_and(|cgroup| !cgroup.members().is_empty());
        if held || self.seen.iter().any(lives) {
            return false;
        }
        let me = getpid().as_raw_nonzero().get();
        let others = || table::pids().filter(|pid| *pid != me);
        let mut environs = Environs::default();
        let mut elsewhere = HashSet::new();
        for pid in others() {
            match environs.belongs(pid, &self.mark) {
                Belongs::Here => return false,
                Belongs::Elsewhere => _ = elsewhere.insert(pid),
                Belongs::Unknown => {}
            }
        }
        // In the middle of an exec a process shows no mark, so one look proves nothing. A number is not given away again
        // within that time.
        std::thread::sleep(KILL_POLL_INTERVAL);
        others()
            .filter(|pid| !elsewhere.contains(pid))
            .all(|pid| environs.belongs(pid, &self.mark) != Belongs::Here)
    }

    /// The living members, and a chance for the dead ones to be taken out of the process table.
    fn members(&mut self) -> Vec<ProcessEntry> {
        let table = table::read();
        self.discover(&table);
        let mut living = Vec::new();
        for id in &self.seen {
            let Some(entry) = table.get(&id.pid).filter(|entry| entry.id == *id) else {
                continue;
            };
            if entry.zombie {
                reap(entry, self.root);
            } else {
                living.push(*entry);
            }
        }
        living
    }

    fn discover(&mut self, table: &HashMap<i32, ProcessEntry>) {
        let me = getpid().as_raw_nonzero().get();
        match self.containment.sweep {
            Sweep::Tree | Sweep::WithoutGroup => {
                let held = self.cgroup.as_ref().map(Cgroup::members).unwrap_or_default();
                self.seen
                    .extend(held.iter().filter_map(|pid| table.get(pid)).map(|entry| entry.id));
                let mut environs = Environs::default();
                for ProcessEntry { id, zombie, .. } in table.values() {
                    let settled = self.seen.contains(id) || self.elsewhere.contains(id);
                    if id.pid == me || *zombie || settled || id.started < self.since {
                        continue;
                    }
                    match environs.belongs(id.pid, &self.mark) {
                        Belongs::Here => _ = self.seen.insert(*id),
                        // The marks around one that somebody else gave away are not known.
                        Belongs::Elsewhere if self.since > 0 => _ = self.elsewhere.insert(*id),
                        Belongs::Elsewhere | Belongs::Unknown => {}
                    }
                }
            }
            // Only what a process group would reach: the mode in which the kill tests must fail.
            Sweep::RootOnly => return,
        }
        if self.containment.host == Host::Dedicated {
            // Orphans come to the subreaper, and a dedicated host has no other children.
            let spared = roots::all();
            self.seen.extend(
                table
                    .values()
                    .filter(|e| e.parent == me && !spared.contains(&e.id.pid))
                    .map(|e| e.id),
            );
        }
        let mut children: HashMap<i32, Vec<ProcessIdentity>> = HashMap::new();
        for entry in table.values() {
            children.entry(entry.parent).or_default().push(entry.id);
        }
        let mut frontier: Vec<ProcessIdentity> = self
            .seen
            .iter()
            .copied()
            .filter(|id| table.get(&id.pid).is_some_and(|entry| entry.id == *id))
            .collect();
        while let Some(parent) = frontier.pop() {
            for child in children.get(&parent.pid).into_iter().flatten() {
                if self.seen.insert(*child) {
                    frontier.push(*child);
                }
            }
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        roots::end(self.root.pid);
    }
}

/// Sends a signal to just this process.
pub(super) fn send(id: ProcessIdentity, signal: Signal) {
    let Some(pid) = Pid::from_raw(id.pid) else {
        return;
    };
    // The descriptor pins the process; only then is its identity checked, so a reused number is never hit.
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    if table::entry(id.pid).is_some_and(|entry| entry.id == id) {
        // It may be gone by now, which is what was wanted.
        let _gone = pidfd_send_signal(&pidfd, signal);
    }
}

/// Whether this process has no child, living or dead.
fn is_childless() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Takes a dead member out of the process table, if it is ours to take; the agent itself is waited for elsewhere.
fn reap(entry: &ProcessEntry, root: ProcessIdentity) {
    if entry.id == root || entry.parent != getpid().as_raw_nonzero().get() {
        return;
    }
    if let Some(pid) = Pid::from_raw(entry.id.pid) {
        let _already_taken = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
