//! The thread that forks. A parent-death signal fires when the forking *thread* ends, so this one never does.

use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use super::linux;

type Job = Box<dyn FnOnce() + Send>;

static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();

/// Starts the command from the thread that never ends. The child has its own session and group and dies with us.
pub(super) async fn spawn(mut command: Command) -> std::io::Result<Child> {
    let (reply, started) = tokio::sync::oneshot::channel();
    let job: Job = Box::new(move || {
        linux::isolate(&mut command);
        // Nobody waits any more when the session was dropped; the child is then ended by whoever drops it.
        if let Err(Ok(mut orphan)) = reply.send(command.spawn()) {
            let _gone = orphan.kill();
            let _gone = orphan.wait();
        }
    });
    let gone = || std::io::Error::other("the thread that starts processes is gone");
    spawner()?.send(job).map_err(|_| gone())?;
    started.await.map_err(|_| gone())?
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
