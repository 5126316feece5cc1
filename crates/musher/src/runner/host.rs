//! Hosts one run: its session on one side, its log and its control socket on the other.

mod keeping;
mod sandboxed;

use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use musher_runtime::{Environment, Keeper, Session, SessionHandle, SessionOutput, reap_orphans};
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::deltas::Deltas;
use super::folder::{RunFolder, sessions};
use super::hints;
use super::secret::Secret;
use super::socket::{self, MAX_SANDBOX_CONNECTIONS, SocketContext};
use super::spec::{RunSpec, SpecError};
use super::tools::{OwnTools, PreparedTools};
use crate::runtimes;
use keeping::Keeping;
use musher_log::raw::RawWriter;
use musher_log::{Lock, LockError, LogError, Writer};
use musher_os::tuning::give_back_memory;
use sandboxed::{SandboxListeners, demand, open_sandbox_door, reached_at};

/// Events that are written with one call, at most.
const BATCH: usize = 256;
/// How often text in flight is passed on.
const DELTA_INTERVAL: Duration = Duration::from_millis(33);
/// How often a full disk is tried again.
const FULL_DISK_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How often a runner looks whether its folder is still there.
const FOLDER_CHECK_INTERVAL: Duration = Duration::from_secs(3);
/// How long those who wait for a reply are spoken to after the end.
const LAST_REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// Copies of the agent's output that may wait to be written.
const RAW: usize = 16;

/// Why a run could not be hosted to its end.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("the run's folder {0} cannot be used: {1}")]
    Folder(PathBuf, io::Error),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Hosts the run in this folder to its end. `ready` is called when the run is begun: from then on it is recorded,
/// whatever happens.
pub async fn host(
    path: &Path,
    environment: Environment,
    now: fn() -> i64,
    ready: impl FnOnce(),
) -> Result<(), HostError> {
    let bad_folder = |error| HostError::Folder(path.to_owned(), error);
    let folder = RunFolder::open(path).map_err(bad_folder)?;
    // A folder that is no run's is left as it is. What counts is the spec as it is once nobody else can begin.
    RunSpec::read(path)?;
    let lock = Lock::take(path)?;
    let mut spec = RunSpec::read(path)?;
    let listener = folder.listen().map_err(bad_folder)?;
    let mut from_sandbox = open_sandbox_door(&mut spec, path).map_err(bad_folder)?;
    let demanded = demand(&spec, &folder).map_err(bad_folder)?;
    let writer = Writer::create(lock, &spec.run.to_string())?;
    ready();
    let (raw_in, raw) = mpsc::channel(RAW);
    let (durable, watched) = watch::channel(0);
    let tools = PreparedTools::new(&spec).map_err(bad_folder)?;
    let session = spec.session(environment.clone()).map_err(|error| error.to_string());
    let session = session.and_then(|mut session| {
        if let Some(listeners) = &mut from_sandbox {
            listeners.plan_proxy(&mut session).map_err(|error| error.to_string())?;
        }
        let endpoint =
            tools.endpoint(&reached_at(&spec, path)).map_err(|error| error.to_string())?;
        session.mcp_servers.push(endpoint);
        session.tools = Some(tools.in_process());
        // Only an older build has not said: to know it takes the presets of every runtime.
        session.protected =
            spec.protected.take().unwrap_or_else(|| runtimes::executed_anywhere(&[]));
        session.keeper = Some(Keeper { raw: raw_in, durable: watched });
        session.session_dir = Some(sessions(path));
        let runtime = runtimes::choose(&spec.runtime, spec.preset.as_ref(), &environment)
            .map_err(|error| error.to_string())?;
        Ok(runtime.start(session))
    });
    let keeping = Keeping::new(writer, RawWriter::new(path), durable, now);
    match session {
        Ok(session) => {
            let tools = tools.open(session.handle());
            let listeners = Listeners { control: listener, sandbox: from_sandbox };
            Hosting::new(&spec, session, keeping, tools, demanded)
                .run(&folder, listeners, raw)
                .await?;
        }
        Err(why) => keeping.refuse(why, now()).await?,
    }
    folder.close_door();
    Ok(())
}

/// Where connections come in.
struct Listeners {
    control: UnixListener,
    /// Reached from inside of the sandbox.
    sandbox: Option<SandboxListeners>,
}

/// When what is done now and then is to be done next.
struct Times {
    /// Text in flight is passed on.
    flush_at: Instant,
    /// A full disk is tried again.
    retry_at: Instant,
    /// The folder is looked for.
    look_at: Instant,
}

impl Times {
    fn from_now() -> Self {
        let now = Instant::now();
        Self { flush_at: now, retry_at: now, look_at: now + FOLDER_CHECK_INTERVAL }
    }
}

struct Hosting {
    session: Session,
    handle: SessionHandle,
    /// The name of the runtime, for what is said about it.
    runtime: String,
    /// The agent, if it is in a sandbox.
    confined: Option<String>,
    keeping: Keeping,
    deltas: Deltas,
    door: SocketContext,
    commands: mpsc::Receiver<socket::SocketCommand>,
    watchers: mpsc::Receiver<mpsc::Sender<musher_log::wire::FromRunner>>,
    paused: watch::Sender<Option<String>>,
    /// Somebody wants the run to end, so that it no longer waits for room on the disk.
    ending: watch::Sender<bool>,
    /// The number up to which somebody waits for durability.
    wanted: watch::Sender<u64>,
    /// What the start took and left was given back.
    settled: bool,
    /// The session has ended; only its last words are still to be written.
    over: bool,
}

impl Hosting {
    fn new(
        spec: &RunSpec,
        session: Session,
        keeping: Keeping,
        tools: OwnTools,
        demanded: Option<Arc<Secret>>,
    ) -> Self {
        let (commands_in, commands) = mpsc::channel(64);
        let (watchers_in, watchers) = mpsc::channel(8);
        let (paused, paused_out) = watch::channel(None);
        Self {
            handle: session.handle(),
            runtime: spec.runtime.clone(),
            confined: spec.sandbox.as_ref().map(|_| spec.agent.to_string()),
            session,
            keeping,
            deltas: Deltas::default(),
            door: SocketContext {
                run: spec.run,
                commands: commands_in,
                watchers: watchers_in,
                paused: paused_out,
                replies: TaskTracker::new(),
                tools,
                demanded,
                strangers: Arc::new(Semaphore::new(MAX_SANDBOX_CONNECTIONS)),
            },
            commands,
            watchers,
            paused,
            ending: watch::channel(false).0,
            wanted: watch::channel(0).0,
            settled: false,
            over: false,
        }
    }

    async fn run(
        mut self,
        folder: &RunFolder,
        listeners: Listeners,
        mut raw: mpsc::Receiver<Bytes>,
    ) -> Result<(), HostError> {
        let Listeners { control: listener, sandbox } = listeners;
        let mut terms = heeded(SignalKind::terminate());
        let mut interrupts = heeded(SignalKind::interrupt());
        let mut children = heeded(SignalKind::child());
        let mut wanted = self.wanted.subscribe();
        let mut ending = self.ending.subscribe();
        let commands = std::mem::replace(&mut self.commands, mpsc::channel(1).1);
        let obeying = socket::obey(
            self.handle.clone(),
            self.runtime.clone(),
            commands,
            self.wanted.clone(),
            self.ending.clone(),
            self.keeping.durable.subscribe(),
            self.door.replies.clone(),
        );
        let tasks = TaskTracker::new();
        tasks.spawn(obeying);
        if let Some(sandbox) = sandbox {
            sandbox.serve(&self.door, &self.handle, &tasks);
        }
        let mut times = Times::from_now();
        let mut ends = 0;
        let mut timer = pin!(tokio::time::sleep_until(times.look_at));
        let mut attempt = 0_u32;
        loop {
            let paused = self.paused.borrow().is_some() && !self.keeping.short;
            if self.over && !paused && self.keeping.batch.is_empty() {
                break;
            }
            let due = self.next_due(&times, paused);
            // A timer that rings too soon does no harm and is set anew then; to set it with each word would cost more.
            if timer.is_elapsed() || due < timer.deadline() {
                timer.as_mut().reset(due);
            }
            tokio::select! {
                biased;
                output = self.session.next(), if !paused && !self.over => self.heard(output)?,
                Some(bytes) = raw.recv(), if !paused => {
                    let kept = self.keeping.copy(&bytes);
                    self.judge(kept)?;
                }
                _more = wanted.changed() => {
                    let wanted = *wanted.borrow_and_update();
                    if self.keeping.writer.next_seq() > wanted && self.keeping.unsynced.is_some() {
                        let synced = self.keeping.sync();
                        self.judge(synced)?;
                    }
                }
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        tasks.spawn(socket::serve(stream, self.door.clone()));
                    }
                    Err(error) => {
                        attempt += 1;
                        if attempt.is_power_of_two() {
                            warn!(attempt, cause = %error, "no connection can be taken, trying again");
                        }
                        // No file is left to open; the run must not be kept busy by that.
                        tokio::time::sleep(DELTA_INTERVAL).await;
                    }
                },
                Some(watcher) = self.watchers.recv() => {
                    self.deltas.watch(watcher, self.keeping.writer.next_seq() - 1);
                }
                _told = ending.changed() => self.keep()?,
                () = next(&mut terms) => self.told_to_end(&mut ends).await,
                () = next(&mut interrupts) => self.told_to_end(&mut ends).await,
                () = next(&mut children) => reap_orphans(),
                () = timer.as_mut() => {
                    self.do_what_is_due(&mut times, paused)?;
                    if times.look_at <= Instant::now() {
                        times.look_at = Instant::now() + FOLDER_CHECK_INTERVAL;
                        self.settle();
                        if folder.is_deleted() {
                            warn!("folder of the run was deleted, so the run ends");
                            // Nobody can find this run any more, to read it or to stop it.
                            let _ended = self.handle.kill().await;
                        }
                    }
                }
            }
        }
        self.door.tools.close();
        while let Ok(bytes) = raw.try_recv() {
            // The run is over; a copy that the disk does not take is not worth waiting for.
            lost_copy(self.keeping.copy(&bytes));
        }
        lost_copy(self.keeping.pack());
        let Self { keeping, door, paused, session, .. } = self;
        let kept = keeping.finish().await;
        drop((listener, session));
        // What was done is acknowledged; whoever does not listen to that is not waited for.
        let farewell = async {
            let replies = door.replies.clone();
            drop(door);
            replies.close();
            replies.wait().await;
            drop(paused);
            tasks.close();
            tasks.wait().await;
        };
        let _deaf = tokio::time::timeout(LAST_REPLY_TIMEOUT, farewell).await;
        kept
    }

    /// When something is to be done though nobody says a word. There is one such time, because each of them would be
    /// told to the runtime anew with every word.
    fn next_due(&self, times: &Times, paused: bool) -> Instant {
        let flush_at = self.deltas.pressing().then_some(times.flush_at);
        let disk = match paused {
            true => [Some(times.retry_at), None],
            false => [self.keeping.unsynced, self.keeping.pack_at()],
        };
        disk.into_iter().flatten().chain(flush_at).fold(times.look_at, Instant::min)
    }

    fn do_what_is_due(&mut self, times: &mut Times, paused: bool) -> Result<(), HostError> {
        let now = Instant::now();
        if paused && times.retry_at <= now {
            times.retry_at = now + FULL_DISK_RETRY_DELAY;
            self.keep()?;
        }
        if !paused {
            let mut kept = self.keeping.sync_if_due();
            if kept.is_ok() && self.keeping.pack_at().is_some_and(|at| at <= now) {
                kept = self.keeping.rest();
            }
            self.judge(kept)?;
        }
        if self.deltas.pressing() && times.flush_at <= now {
            self.deltas.flush(self.keeping.writer.next_seq() - 1);
            times.flush_at = now + DELTA_INTERVAL;
        }
        Ok(())
    }

    /// Gives back what only the start needed: a tenth of what a runner has, and there may be a thousand of them.
    fn settle(&mut self) {
        if !std::mem::replace(&mut self.settled, true) {
            give_back_memory();
        }
    }

    /// Takes what the session says, and all that it has said already.
    fn heard(&mut self, output: Option<SessionOutput>) -> Result<(), HostError> {
        let mut next = Some(output);
        while let Some(output) = next {
            match output {
                None => self.over = true,
                Some(SessionOutput::Delta(delta)) => self.deltas.take(delta),
                Some(SessionOutput::Event(mut event)) => {
                    hints::word(&mut event, self.confined.as_deref());
                    self.deltas.note(&event.kind);
                    self.keeping.batch.push(event);
                }
            }
            if self.over || self.keeping.batch.len() >= BATCH {
                break;
            }
            next = self.session.next().now_or_never();
        }
        self.keep()
    }

    fn keep(&mut self) -> Result<(), HostError> {
        let mut kept = self.keeping.write().and_then(|()| self.keeping.sync_if_due());
        if kept.is_ok() && self.paused.borrow().is_some() {
            kept = self.keeping.pack();
        }
        self.judge(kept)
    }

    /// A full disk makes the run wait, unless it is being ended; anything else ends it.
    fn judge(&mut self, done: Result<(), LogError>) -> Result<(), HostError> {
        let why = match done {
            Ok(()) => None,
            Err(error) if error.is_full() => {
                if *self.ending.borrow() && !self.keeping.short {
                    self.keeping.short = true;
                    return self.keep();
                }
                Some(error.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        self.paused.send_if_modified(|paused| std::mem::replace(paused, why.clone()) != why);
        Ok(())
    }

    async fn told_to_end(&mut self, times: &mut u32) {
        *times += 1;
        self.ending.send_replace(true);
        // It may have ended by itself in the meantime.
        let _ended = match times {
            1 => self.handle.stop().await,
            _ => self.handle.kill().await,
        };
    }
}

fn lost_copy(kept: Result<(), LogError>) {
    if let Err(error) = kept {
        warn!(cause = %error, "the end of the agent's output is not kept");
    }
}

/// Without it the run goes on, and is told to end over its socket alone.
fn heeded(kind: SignalKind) -> Option<Signal> {
    signal(kind)
        .inspect_err(|error| warn!(signal = ?kind, cause = %error, "signal cannot be handled"))
        .ok()
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
