//! Hosts one run: its session on one side, its log and its control socket on the other.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use musher_core::{ErrorClass, ErrorInfo, Event, EventKind, Scope, SessionEnded};
use musher_runtime::{Environment, Keeper, Output, Session, SessionHandle, reap_orphans};
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::deltas::Deltas;
use super::folder::{RunFolder, sessions};
use super::log::raw::RawWriter;
use super::log::{Lock, LockError, LogError, Urgency, Writer, close_short};
use super::socket::{self, Door};
use super::spec::{RunSpec, SpecError};
use super::tools::{OwnTools, Prepared};
use crate::runtimes;

/// Events that are written with one call, at most.
const BATCH: usize = 256;
/// What is not pressing is made durable after this long.
const SYNC: Duration = Duration::from_secs(1);
/// What is pressing is made durable at once; but when one thing presses after another, they share a sync.
const GATHER: Duration = Duration::from_millis(5);
/// Syncs that press one after another take at most one part in so many of the time: the agent must be heard, too.
const SHARE: u32 = 4;
/// A copy of the output that is so old is packed with the next sync: packing every few bytes would cost much.
const FRESH: Duration = Duration::from_millis(100);
/// How often text in flight is passed on.
const FRAME: Duration = Duration::from_millis(33);
/// How often a full disk is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// How often a runner looks whether its folder is still there.
const LOOK: Duration = Duration::from_secs(3);
/// How long those who wait for a reply are spoken to after the end.
const FAREWELL: Duration = Duration::from_secs(1);
/// Copies of the agent's output that may wait to be written.
const RAW: usize = 16;

/// Why a run could not be hosted to its end.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("the run's folder {0} cannot be used: {1}")]
    Folder(std::path::PathBuf, io::Error),
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
    let spec = RunSpec::read(path)?;
    let listener = folder.listen().map_err(bad_folder)?;
    let writer = Writer::create(lock, &spec.run.to_string())?;
    ready();
    let (raw_in, raw) = mpsc::channel(RAW);
    let (durable, watched) = watch::channel(0);
    let tools = Prepared::new(&spec).map_err(bad_folder)?;
    let session = spec.session(environment.clone()).map_err(|error| error.to_string());
    let session = session.and_then(|mut session| {
        let endpoint = tools.endpoint(path).map_err(|error| error.to_string())?;
        session.mcp_servers.push(endpoint);
        session.tools = Some(tools.in_process());
        session.keeper = Some(Keeper { raw: raw_in, durable: watched });
        session.session_dir = Some(sessions(path));
        let runtime =
            runtimes::find(&spec.runtime, &environment).map_err(|error| error.to_string())?;
        Ok(runtime.start(session))
    });
    let keeping = Keeping {
        writer,
        raw: RawWriter::new(path),
        durable,
        batch: Vec::new(),
        unsynced: None,
        rested: Instant::now(),
        unpacked: None,
        end: None,
        short: None,
        now,
    };
    match session {
        Ok(session) => {
            let tools = tools.open(session.handle());
            Hosting::new(&spec, session, keeping, tools).run(&folder, listener, raw).await?;
        }
        Err(why) => keeping.refuse(why, now()).await?,
    }
    folder.close_door();
    Ok(())
}

/// The run's record.
struct Keeping {
    writer: Writer,
    raw: RawWriter,
    durable: watch::Sender<u64>,
    /// Events that are not written yet.
    batch: Vec<Event>,
    /// By when what is written must be durable.
    unsynced: Option<Instant>,
    /// Before then nothing is synced that can wait for so long.
    rested: Instant,
    /// Since when there is a copy of output that is not packed.
    unpacked: Option<Instant>,
    end: Option<SessionEnded>,
    /// The run is being ended on a full disk: events are no longer written, and of those that are not, these are kept
    /// for its close.
    short: Option<Vec<EventKind>>,
    now: fn() -> i64,
}

impl Keeping {
    /// Writes what is waiting. A full disk takes nothing, and nothing is lost.
    fn write(&mut self) -> Result<(), LogError> {
        if let Some(EventKind::SessionEnded(end)) = self.batch.last().map(|event| &event.kind) {
            self.end = Some((**end).clone());
        }
        if let Some(kept) = &mut self.short {
            // What was spent is counted whatever else is lost.
            let kinds = self.batch.drain(..).map(|event| event.kind);
            kept.extend(kinds.filter(|kind| matches!(kind, EventKind::Usage(_))));
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        let appended = match self.end {
            // The last words have a place of their own on a full disk.
            Some(_) => self.writer.append_last(&self.batch)?,
            None => self.writer.append(&self.batch)?,
        };
        let by = match appended.urgency {
            Urgency::Now => self.rested.max(Instant::now()),
            Urgency::Soon => Instant::now() + SYNC,
        };
        self.unsynced = Some(self.unsynced.map_or(by, |earlier| earlier.min(by)));
        self.batch.clear();
        Ok(())
    }

    /// Makes what was written durable, if it is time.
    fn sync_if_due(&mut self) -> Result<(), LogError> {
        match self.unsynced {
            Some(by) if by <= Instant::now() => self.sync(),
            Some(_) | None => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), LogError> {
        let began = Instant::now();
        self.writer.sync()?;
        self.unsynced = None;
        self.durable.send_replace(self.writer.synced_seq());
        let now = Instant::now();
        self.rested = now + GATHER.max((now - began) * (SHARE - 1));
        if self.unpacked.is_some_and(|since| now - since >= FRESH) { self.pack() } else { Ok(()) }
    }

    /// Takes a copy of what the agent printed.
    fn copy(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        self.unpacked.get_or_insert_with(Instant::now);
        self.keep_raw(|raw| raw.push(bytes))
    }

    /// Lets readers find all of the copy.
    fn pack(&mut self) -> Result<(), LogError> {
        self.keep_raw(RawWriter::flush)?;
        self.unpacked = None;
        Ok(())
    }

    /// The raw copy is worth a pause when the disk is full, and no more than that: a run goes on without it.
    fn keep_raw(
        &mut self,
        keep: impl FnOnce(&mut RawWriter) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        match keep(&mut self.raw) {
            Err(error) if error.is_full() => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// A run that cannot even begin still has a log, and its end is in it.
    async fn refuse(mut self, why: String, at: i64) -> Result<(), HostError> {
        let end = SessionEnded::unbegun(ErrorInfo::new(ErrorClass::Config, why));
        let kind = EventKind::SessionEnded(Box::new(end));
        let scope = Scope::Main;
        self.batch.push(Event { seq: 1, at, kind, turn: None, scope, raw: None });
        self.write()?;
        self.finish().await
    }

    /// Records the outcome. On a disk that is full in spite of the room that was kept, it waits for more.
    async fn finish(mut self) -> Result<(), HostError> {
        let unsaid = || ErrorInfo::new(ErrorClass::Internal, "the session gave no end");
        let end = self.end.take().unwrap_or_else(|| SessionEnded::unbegun(unsaid()));
        loop {
            let closed = match &self.short {
                Some(kept) => close_short(&mut self.writer, &end, kept, (self.now)()),
                None => Ok(()),
            };
            match closed.and_then(|()| self.writer.finish(&end)) {
                Err(error) if error.is_full() => tokio::time::sleep(RETRY).await,
                done => return Ok(done?),
            }
        }
    }
}

struct Hosting {
    session: Session,
    handle: SessionHandle,
    keeping: Keeping,
    deltas: Deltas,
    door: Door,
    commands: mpsc::Receiver<socket::Asked>,
    watchers: mpsc::Receiver<mpsc::Sender<super::wire::FromRunner>>,
    paused: watch::Sender<Option<String>>,
    /// Somebody wants the run to end, so that it no longer waits for room on the disk.
    ending: watch::Sender<bool>,
    /// The number up to which somebody waits for durability.
    wanted: watch::Sender<u64>,
    /// The session has ended; only its last words are still to be written.
    over: bool,
}

impl Hosting {
    fn new(spec: &RunSpec, session: Session, keeping: Keeping, tools: OwnTools) -> Self {
        let (commands_in, commands) = mpsc::channel(64);
        let (watchers_in, watchers) = mpsc::channel(8);
        let (paused, paused_out) = watch::channel(None);
        Self {
            handle: session.handle(),
            session,
            keeping,
            deltas: Deltas::default(),
            door: Door {
                run: spec.run,
                commands: commands_in,
                watchers: watchers_in,
                paused: paused_out,
                replies: TaskTracker::new(),
                tools,
            },
            commands,
            watchers,
            paused,
            ending: watch::channel(false).0,
            wanted: watch::channel(0).0,
            over: false,
        }
    }

    async fn run(
        mut self,
        folder: &RunFolder,
        listener: UnixListener,
        mut raw: mpsc::Receiver<Bytes>,
    ) -> Result<(), HostError> {
        let mut terms = signal(SignalKind::terminate()).ok();
        let mut interrupts = signal(SignalKind::interrupt()).ok();
        let mut children = signal(SignalKind::child()).ok();
        let mut wanted = self.wanted.subscribe();
        let mut ending = self.ending.subscribe();
        let commands = std::mem::replace(&mut self.commands, mpsc::channel(1).1);
        let obeying = socket::obey(
            self.handle.clone(),
            commands,
            self.wanted.clone(),
            self.ending.clone(),
            self.keeping.durable.subscribe(),
            self.door.replies.clone(),
        );
        let tasks = TaskTracker::new();
        tasks.spawn(obeying);
        let mut flush_at = Instant::now();
        let mut look_at = Instant::now() + LOOK;
        let mut ends = 0;
        loop {
            let paused = self.paused.borrow().is_some() && self.keeping.short.is_none();
            if self.over && !paused && self.keeping.batch.is_empty() {
                break;
            }
            let sync_at = self.keeping.unsynced;
            let pack_at = self.keeping.unpacked.map(|since| since + SYNC);
            let pressing = self.deltas.pressing();
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
                    // No file is left to open; the run must not be kept busy by that.
                    Err(_) => tokio::time::sleep(FRAME).await,
                },
                Some(watcher) = self.watchers.recv() => {
                    self.deltas.watch(watcher, self.keeping.writer.next_seq() - 1);
                }
                () = until(sync_at), if !paused => {
                    let synced = self.keeping.sync();
                    self.judge(synced)?;
                }
                () = until(pack_at), if !paused => {
                    let packed = self.keeping.pack();
                    self.judge(packed)?;
                }
                () = tokio::time::sleep(RETRY), if paused => self.keep()?,
                () = tokio::time::sleep_until(flush_at), if pressing => {
                    self.deltas.flush(self.keeping.writer.next_seq() - 1);
                    flush_at = Instant::now() + FRAME;
                }
                _told = ending.changed() => self.keep()?,
                () = next(&mut terms) => self.told_to_end(&mut ends).await,
                () = next(&mut interrupts) => self.told_to_end(&mut ends).await,
                () = next(&mut children) => reap_orphans(),
                () = tokio::time::sleep_until(look_at) => {
                    look_at = Instant::now() + LOOK;
                    if folder.is_deleted() {
                        // Nobody can find this run any more, to read it or to stop it.
                        let _ended = self.handle.kill().await;
                    }
                }
            }
        }
        self.door.tools.close();
        while let Ok(bytes) = raw.try_recv() {
            // The run is over; a copy that the disk does not take is not worth waiting for.
            let _full = self.keeping.copy(&bytes);
        }
        let _full = self.keeping.pack();
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
        let _deaf = tokio::time::timeout(FAREWELL, farewell).await;
        kept
    }

    /// Takes what the session says, and all that it has said already.
    fn heard(&mut self, output: Option<Output>) -> Result<(), HostError> {
        let mut next = Some(output);
        while let Some(output) = next {
            match output {
                None => self.over = true,
                Some(Output::Delta(delta)) => self.deltas.take(delta),
                Some(Output::Event(event)) => {
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
                if *self.ending.borrow() && self.keeping.short.is_none() {
                    self.keeping.short = Some(Vec::new());
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

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
