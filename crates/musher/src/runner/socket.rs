//! The runner's side of the control socket: takes commands, hands on replies and text in flight.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use musher_core::{CommandId, RunId};
use musher_runtime::SessionHandle;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::secret::Secret;
use super::tools::OwnTools;
use super::{commands, folder};
use musher_log::wire::{
    CommandRefused, FromRunner, MAX_WIRE_LINE_BYTES, PROTOCOL, RunCommand, ToRunner,
};

/// Lines that may wait for a reader; text in flight beyond that is dropped for it.
const WAITING: usize = 256;
/// What the buffer for lines keeps after a long one.
const KEPT: usize = 64 * 1024;
/// How long is waited when no connection can be taken.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(33);
/// So many connections from inside of a sandbox are served at once, and so many that have not shown the secret.
pub(super) const MAX_SANDBOX_CONNECTIONS: usize = 32;
/// How long one of them may take to show the secret.
const FIRST_WORD_TIMEOUT: Duration = Duration::from_secs(10);
/// Commands whose replies are remembered, so that a repeated one has no second effect.
const REMEMBERED: usize = 4096;

/// A command with the way back.
pub(super) type SocketCommand = (CommandId, RunCommand, oneshot::Sender<Option<CommandRefused>>);

/// What connections need of the runner.
#[derive(Debug, Clone)]
pub(super) struct SocketContext {
    pub(super) run: RunId,
    pub(super) commands: mpsc::Sender<SocketCommand>,
    pub(super) watchers: mpsc::Sender<mpsc::Sender<FromRunner>>,
    pub(super) paused: watch::Receiver<Option<String>>,
    /// Replies that are still on their way.
    pub(super) replies: TaskTracker,
    pub(super) tools: OwnTools,
    /// What has to be shown before a command is taken: agents in a sandbox must not be able to command their own run, even
    /// if one were to reach the socket.
    pub(super) demanded: Option<Arc<Secret>>,
    /// Places for those who have not shown it yet.
    pub(super) strangers: Arc<Semaphore>,
}

/// Serves one connection until it closes.
pub(super) async fn serve(stream: UnixStream, door: SocketContext) {
    if !folder::is_trusted(&stream) {
        return;
    }
    let (read, mut write) = stream.into_split();
    let (lines, mut waiting) = mpsc::channel::<FromRunner>(WAITING);
    let hello = FromRunner::Hello {
        protocol: PROTOCOL,
        run: door.run,
        pid: std::process::id(),
        takes_back: true,
        changes: true,
    };
    if say(&mut write, &hello).await.is_err() {
        return;
    }
    let mut paused = door.paused.clone();
    let mut read = BufReader::new(read);
    // Neither waits for the other: whoever does not listen can still speak.
    let secret = tokio::select! {
        secret = hear(&mut read, &door, &lines) => secret,
        () = speak(&mut write, &mut waiting, &mut paused) => None,
    };
    if let Some(secret) = secret {
        bridged(&secret, &door.tools, read, write).await;
    }
}

/// Hears what comes over a connection, one arm for each message, until it closes or somebody shows the secret of the
/// run's own tools.
async fn hear(
    read: &mut BufReader<OwnedReadHalf>,
    door: &SocketContext,
    lines: &mpsc::Sender<FromRunner>,
) -> Option<String> {
    let mut line = Vec::new();
    let mut first = true;
    let mut admitted = door.demanded.is_none();
    // Nobody without the secret may take all the files that the runner can open, or wait for ever.
    let mut place = match admitted {
        true => None,
        false => Some(Arc::clone(&door.strangers).try_acquire_owned().ok()?),
    };
    loop {
        let next = next_line(read, &mut line);
        let next = match admitted {
            true => next.await,
            false => tokio::time::timeout(FIRST_WORD_TIMEOUT, next).await.ok()?,
        };
        let Ok(true) = next else { return None };
        match serde_json::from_slice::<ToRunner>(&line) {
            // Nothing long was said yet, so no line is cut in two when the language changes.
            Ok(ToRunner::Tools { secret }) if first => return Some(secret),
            // It comes too late on a connection that is used already.
            Ok(ToRunner::Tools { .. }) | Err(_) => {}
            Ok(ToRunner::Control { secret }) => {
                admitted |= door.demanded.as_ref().is_some_and(|demanded| demanded.is(&secret));
                place = place.filter(|_| !admitted);
            }
            Ok(ToRunner::Command { id, .. }) if !admitted => {
                let refused = Some(CommandRefused {
                    code: "wrong_secret".into(),
                    message: "this run takes commands only from who knows its secret; use a Musher as new as the one that started it".into(),
                });
                // Whoever asked may be gone.
                let _gone = lines.send(FromRunner::Reply { id, refused }).await;
            }
            Ok(ToRunner::Watch) if !admitted => {}
            Ok(ToRunner::Watch) => {
                // The runner is ending, and the connection ends with it.
                let _ending = door.watchers.send(lines.clone()).await;
            }
            Ok(ToRunner::Command { id, command }) => {
                let (reply, answered) = oneshot::channel();
                if door.commands.send((id.clone(), command, reply)).await.is_ok() {
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
        first = false;
        line.clear();
        line.shrink_to(KEPT);
    }
}

/// Says over a connection what waits for its reader, and whether the run waits for room on the disk.
async fn speak(
    write: &mut OwnedWriteHalf,
    waiting: &mut mpsc::Receiver<FromRunner>,
    paused: &mut watch::Receiver<Option<String>>,
) {
    let mut told_paused = false;
    loop {
        let why = paused.borrow_and_update().clone();
        if (why.is_some() || told_paused)
            && say(write, &FromRunner::Paused { why: why.clone() }).await.is_err()
        {
            return;
        }
        told_paused = why.is_some();
        loop {
            tokio::select! {
                said = waiting.recv() => {
                    let Some(said) = said else { return };
                    if say(write, &said).await.is_err() {
                        return;
                    }
                }
                changed = paused.changed() => match changed {
                    Ok(()) => break,
                    // The runner is ending; what it has said already is still handed on.
                    Err(_) => {
                        while let Ok(said) = waiting.try_recv() {
                            if say(write, &said).await.is_err() {
                                return;
                            }
                        }
                        return;
                    }
                },
            }
        }
    }
}

/// Serves connections from inside of the sandbox, on which nothing but the run's own tools can be had.
pub(super) async fn serve_sandbox(listener: UnixListener, door: SocketContext, over: TaskTracker) {
    let mut attempt = 0_u32;
    let SocketContext { run, tools, .. } = door;
    let places = Arc::new(Semaphore::new(MAX_SANDBOX_CONNECTIONS));
    while let Some(accepted) = tools.until_closed(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                // Nobody inside may take all the files that the runner can open.
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
                let tools = tools.clone();
                over.spawn(async move {
                    let _place = place;
                    serve_tools(stream, run, tools).await;
                });
            }
            Err(error) => {
                attempt += 1;
                if attempt.is_power_of_two() {
                    warn!(attempt, cause = %error, "no connection of the sandbox can be taken, trying again");
                }
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

async fn serve_tools(stream: UnixStream, run: RunId, tools: OwnTools) {
    if !folder::is_trusted(&stream) {
        return;
    }
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    // Nothing is done for it but this, so that it is told of nothing else.
    let (protocol, pid) = (PROTOCOL, std::process::id());
    let hello = FromRunner::Hello { protocol, run, pid, takes_back: false, changes: false };
    let mut line = Vec::new();
    let first = async {
        say(&mut write, &hello).await?;
        next_line(&mut read, &mut line).await
    };
    if let Ok(Ok(true)) = tokio::time::timeout(FIRST_WORD_TIMEOUT, first).await
        && let Ok(ToRunner::Tools { secret }) = serde_json::from_slice(&line)
    {
        bridged(&secret, &tools, read, write).await;
    }
}

/// Serves the run's own tools to a bridge that knows the secret.
pub(super) async fn bridged(
    secret: &str,
    tools: &OwnTools,
    read: BufReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
) {
    let admitted = tools.admits(secret);
    let refused = (!admitted).then(|| CommandRefused {
        code: "wrong_secret".into(),
        message: "this is not the secret of a run that is under way".into(),
    });
    if say(&mut write, &FromRunner::Tools { refused }).await.is_ok() && admitted {
        tools.serve(read, write).await;
    }
}

pub(super) async fn say(write: &mut OwnedWriteHalf, said: &FromRunner) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    write.write_all(&line).await
}

/// Reads a line into the buffer, on from what a cancelled call has left there; `false` at the end.
pub(super) async fn next_line<R: AsyncBufReadExt + Unpin>(
    read: &mut R,
    line: &mut Vec<u8>,
) -> std::io::Result<bool> {
    let room = (MAX_WIRE_LINE_BYTES + 1).saturating_sub(line.len()) as u64;
    read.take(room).read_until(b'\n', line).await?;
    match line.last() {
        Some(b'\n') => Ok(true),
        Some(_) if line.len() > MAX_WIRE_LINE_BYTES => Err(std::io::ErrorKind::InvalidData.into()),
        Some(_) | None => Ok(false),
    }
}

/// Carries out commands one after another, each at most once, and says so only when it is durable. None waits for the
/// one before it to be durable: a stop must get through while the disk is full.
pub(super) async fn obey(
    session: SessionHandle,
    runtime: String,
    mut commands: mpsc::Receiver<SocketCommand>,
    wanted: watch::Sender<u64>,
    ending: watch::Sender<bool>,
    durable: watch::Receiver<u64>,
    replies: TaskTracker,
) {
    let mut done: HashMap<CommandId, Result<u64, CommandRefused>> = HashMap::new();
    let mut order: VecDeque<CommandId> = VecDeque::new();
    while let Some((id, command, reply)) = commands.recv().await {
        let taken = match done.get(&id) {
            Some(taken) => taken.clone(),
            None => {
                let ends = command.ends();
                let taken = session.deliver(commands::for_session(command, &id)).await;
                if ends {
                    ending.send_replace(true);
                }
                let taken = taken
                    .map(|seq| if ends { 0 } else { seq })
                    .map_err(|why| commands::refused(&why, &runtime));
                if order.len() >= REMEMBERED
                    && let Some(oldest) = order.pop_front()
                {
                    done.remove(&oldest);
                }
                order.push_back(id.clone());
                done.insert(id, taken.clone());
                taken
            }
        };
        let mut durable = durable.clone();
        let seq = *taken.as_ref().unwrap_or(&0);
        wanted.send_if_modified(|last| {
            let more = seq > *last;
            *last = seq.max(*last);
            more
        });
        replies.spawn(async move {
            // The runner is gone when this fails, and with it the connection.
            if durable.wait_for(|number| *number >= seq).await.is_ok() {
                // Whoever asked may be gone, and may ask again.
                let _gone = reply.send(taken.err());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use musher_core::EventKind;
    use musher_runtime::{Environment, Keeper, SessionOutput, SessionSpec};

    use super::*;

    #[tokio::test]
    async fn a_kill_gets_through_while_what_was_said_before_waits_for_a_full_disk() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.toml");
        std::fs::write(&script, "[[step]]\nsay = 'One.'\n[[step]]\nhang = true").unwrap();
        let environment = Environment::of_this_process();
        let runtime = crate::runtimes::find("script", &environment).unwrap();
        let mut spec = SessionSpec::new("go", folder.path(), environment);
        spec.program = Some(script);
        let (raw, _kept) = mpsc::channel(16);
        let (disk, durable) = watch::channel(1);
        spec.keeper = Some(Keeper { raw, durable: durable.clone() });
        let mut session = runtime.start(spec);
        while let Some(said) = session.next().await {
            if let SessionOutput::Event(event) = said
                && matches!(event.kind, EventKind::TurnStarted { .. })
            {
                break;
            }
        }
        let (ask, asked) = mpsc::channel(8);
        let tasks = TaskTracker::new();
        let (wanted, ending) = (watch::channel(0).0, watch::channel(false).0);
        tasks.spawn(obey(
            session.handle(),
            "script".to_owned(),
            asked,
            wanted,
            ending,
            durable,
            tasks.clone(),
        ));
        let send = |id: &str, command: RunCommand| {
            let (reply, answered) = oneshot::channel();
            ask.try_send((id.parse().unwrap(), command, reply)).unwrap();
            answered
        };
        let steer = RunCommand::Steer { text: "More.".into() };
        let mut said = send("c1", steer.clone());
        let mut said_again = send("c1", steer);
        let killed = send("k", RunCommand::Kill);
        let killed = tokio::time::timeout(Duration::from_secs(10), killed).await;
        assert_eq!(killed.unwrap().unwrap(), None);
        assert!(said.try_recv().is_err() && said_again.try_recv().is_err(), "it is not durable");
        disk.send_replace(u64::MAX);
        assert_eq!((said.await.unwrap(), said_again.await.unwrap()), (None, None));
        let mut heard = 0;
        while let Some(said) = session.next().await {
            if let SessionOutput::Event(event) = said
                && matches!(&event.kind, EventKind::UserMessage { text, .. } if text == "More.")
            {
                heard += 1;
            }
        }
        assert_eq!(heard, 1);
    }
}
