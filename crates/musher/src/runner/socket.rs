//! The runner's side of the control socket: takes commands, hands on replies and text in flight.

use std::collections::{HashMap, VecDeque};

use musher_core::{CommandId, RunId};
use musher_runtime::SessionHandle;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::TaskTracker;

use super::folder;
use super::wire::{FromRunner, LONGEST, PROTOCOL, Refused, RunCommand, ToRunner};

/// Lines that may wait for a reader; text in flight beyond that is dropped for it.
const WAITING: usize = 256;
/// What the buffer for lines keeps after a long one.
const KEPT: usize = 64 * 1024;
/// Commands whose replies are remembered, so that a repeated one has no second effect.
const REMEMBERED: usize = 4096;

/// A command with the way back.
pub(super) type Asked = (CommandId, RunCommand, oneshot::Sender<Option<Refused>>);

/// What connections need of the runner.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub(super) run: RunId,
    pub(super) commands: mpsc::Sender<Asked>,
    pub(super) watchers: mpsc::Sender<mpsc::Sender<FromRunner>>,
    pub(super) paused: watch::Receiver<Option<String>>,
    /// Replies that are still on their way.
    pub(super) replies: TaskTracker,
}

/// Serves one connection until it closes.
pub(super) async fn serve(stream: UnixStream, door: Door) {
    if !folder::is_trusted(&stream) {
        return;
    }
    let (read, mut write) = stream.into_split();
    let (lines, mut waiting) = mpsc::channel::<FromRunner>(WAITING);
    let hello = FromRunner::Hello { protocol: PROTOCOL, run: door.run, pid: std::process::id() };
    if say(&mut write, &hello).await.is_err() {
        return;
    }
    let mut paused = door.paused.clone();
    let reading = async {
        let mut read = BufReader::new(read);
        let mut line = Vec::new();
        while let Ok(true) = next_line(&mut read, &mut line).await {
            if let Ok(message) = serde_json::from_slice::<ToRunner>(&line) {
                take(message, &door, &lines).await;
            }
            line.clear();
            line.shrink_to(KEPT);
        }
    };
    let writing = async {
        let mut told_paused = false;
        loop {
            let why = paused.borrow_and_update().clone();
            if (why.is_some() || told_paused)
                && say(&mut write, &FromRunner::Paused { why: why.clone() }).await.is_err()
            {
                return;
            }
            told_paused = why.is_some();
            loop {
                tokio::select! {
                    said = waiting.recv() => {
                        let Some(said) = said else { return };
                        if say(&mut write, &said).await.is_err() {
                            return;
                        }
                    }
                    changed = paused.changed() => match changed {
                        Ok(()) => break,
                        // The runner is ending; what it has said already is still handed on.
                        Err(_) => {
                            while let Ok(said) = waiting.try_recv() {
                                if say(&mut write, &said).await.is_err() {
                                    return;
                                }
                            }
                            return;
                        }
                    },
                }
            }
        }
    };
    // Neither waits for the other: whoever does not listen can still speak.
    tokio::select! {
        () = reading => {}
        () = writing => {}
    }
}

async fn take(message: ToRunner, door: &Door, lines: &mpsc::Sender<FromRunner>) {
    match message {
        ToRunner::Watch => {
            // The runner is ending, and the connection ends with it.
            let _ending = door.watchers.send(lines.clone()).await;
        }
        ToRunner::Command { id, command } => {
            let (reply, answered) = oneshot::channel();
            if door.commands.send((id.clone(), command, reply)).await.is_err() {
                return;
            }
            let lines = lines.clone();
            door.replies.spawn(async move {
                if let Ok(refused) = answered.await {
                    // Whoever asked may be gone, and may ask again.
                    let _gone = lines.send(FromRunner::Reply { id, refused }).await;
                }
            });
        }
    }
}

async fn say(
    write: &mut tokio::net::unix::OwnedWriteHalf,
    said: &FromRunner,
) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    write.write_all(&line).await
}

/// Reads a line into the buffer, on from what a cancelled call has left there; `false` at the end.
pub(super) async fn next_line<R: AsyncBufReadExt + Unpin>(
    read: &mut R,
    line: &mut Vec<u8>,
) -> std::io::Result<bool> {
    let room = (LONGEST + 1).saturating_sub(line.len()) as u64;
    read.take(room).read_until(b'\n', line).await?;
    match line.last() {
        Some(b'\n') => Ok(true),
        Some(_) if line.len() > LONGEST => Err(std::io::ErrorKind::InvalidData.into()),
        Some(_) | None => Ok(false),
    }
}

/// Carries out commands one after another, each at most once, and says so only when it is durable.
pub(super) async fn obey(
    session: SessionHandle,
    mut commands: mpsc::Receiver<Asked>,
    wanted: watch::Sender<u64>,
    mut durable: watch::Receiver<u64>,
) {
    let mut done: HashMap<CommandId, Option<Refused>> = HashMap::new();
    let mut order: VecDeque<CommandId> = VecDeque::new();
    while let Some((id, command, reply)) = commands.recv().await {
        let refused = match done.get(&id) {
            Some(refused) => refused.clone(),
            None => {
                let ends = command.ends();
                let refused = match session.deliver(command.into_session(&id)).await {
                    Ok(_) if ends => None,
                    Ok(seq) => {
                        wanted.send_if_modified(|last| {
                            let more = seq > *last;
                            *last = seq.max(*last);
                            more
                        });
                        // The runner is gone when this fails, and with it the connection.
                        if durable.wait_for(|number| *number >= seq).await.is_err() {
                            return;
                        }
                        None
                    }
                    Err(error) => Some(error.into()),
                };
                if order.len() >= REMEMBERED
                    && let Some(oldest) = order.pop_front()
                {
                    done.remove(&oldest);
                }
                order.push_back(id.clone());
                done.insert(id, refused.clone());
                refused
            }
        };
        // Whoever asked may be gone, and may ask again.
        let _gone = reply.send(refused);
    }
}
