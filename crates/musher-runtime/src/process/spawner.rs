//! The thread that forks. A parent-death signal fires when the forking *thread* ends, so this one never does.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use super::cgroup::CgroupEntry;
use super::child::AgentChild;
use super::roots;

type Job = Box<dyn FnOnce() + Send>;

static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();

/// A process that is about to be started.
pub(super) struct Start {
    pub(super) command: Command,
    /// The control group that it is to be in.
    pub(super) entrance: Option<CgroupEntry>,
    /// The groups that hold its limits.
    pub(super) limited: Vec<File>,
    /// A descriptor that it keeps.
    pub(super) kept: Option<OwnedFd>,
    /// How much nicer than us it is.
    pub(super) niceness: u8,
}

/// Starts a process from the thread that never ends. The child has its own session, is in the control group, and dies
/// with us.
pub(super) async fn spawn(start: Start) -> std::io::Result<AgentChild> {
    let (reply, started) = tokio::sync::oneshot::channel();
    let job: Job = Box::new(move || {
        let started = roots::begin(|| AgentChild::spawn(start));
        // When nobody waits any more, the child is ended on its way back.
        let _unwanted = reply.send(started.map(|child| Unclaimed(Some(child))));
    });
    let gone = || std::io::Error::other("the thread that starts processes is gone");
    spawner()?.send(job).map_err(|_| gone())?;
    let mut unclaimed = started.await.map_err(|_| gone())??;
    unclaimed.0.take().ok_or_else(gone)
}

/// A child that nobody has taken over yet; it is ended if nobody does.
struct Unclaimed(Option<AgentChild>);

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _gone = child.kill();
            let _gone = child.wait();
            roots::end(child.id());
        }
    }
}

fn spawner() -> std::io::Result<Sender<Job>> {
    if let Some(sender) = SPAWNER.get() {
        return Ok(sender.clone());
    }
    let (sender, jobs) = channel::<Job>();
    std::thread::Builder::new()
        .name("musher-spawner".into())
        .stack_size(256 * 1024)
        .spawn(move || jobs.into_iter().for_each(|job| job()))?;
    // Two first callers may race; the loser's thread ends at once and has forked nothing.
    Ok(SPAWNER.get_or_init(|| sender).clone())
}
