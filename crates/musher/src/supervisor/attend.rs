//! Attends one run: reads its log for the pool, speaks to its runner, and notices when the runner is gone.

mod listening;

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use musher_core::pool::{PoolInput, RunReport, Undelivered, UndeliveredCode};
use musher_core::{CommandId, RunId};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, info, warn};

use super::act::{TRIES, log_lost};
use super::insist::Insistence;
use super::mailbox::Mailbox;
use super::persist::persist;
use crate::bus::Bus;
use crate::pool::PoolHandle;
use crate::runner::link::Link;
use listening::{Listening, Piece};
use musher_log::wire::{CommandRefused, FromRunner, PROTOCOL, RunCommand};
use musher_log::{Lock, LogError, outcome};
use musher_os::fail;

/// How often a runner that does not answer is looked for.
const LOST_RUNNER_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a runner may take to greet before others are heeded again.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a run that has ended is waited for to reply to what it was told before.
const LAST_REPLIES_TIMEOUT: Duration = Duration::from_secs(2);
/// How many logs are read at the same time. A disk that never answers costs these threads and nobody else's.
const READERS: usize = 8;

/// Those who attend runs, by run.
#[derive(Debug, Clone)]
pub(super) struct Attendants {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    mailboxes: Mutex<HashMap<RunId, Mailbox>>,
    bus: Bus,
    pool: PoolHandle,
    tasks: TaskTracker,
    stop: CancellationToken,
    readers: Arc<Semaphore>,
}

impl Attendants {
    pub(super) fn new(
        bus: Bus,
        pool: PoolHandle,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let mailboxes = Mutex::new(HashMap::new());
        let readers = Arc::new(Semaphore::new(READERS));
        Self { shared: Arc::new(Shared { mailboxes, bus, pool, tasks, stop, readers }) }
    }

    /// Attends a run from now on, if nobody does.
    pub(super) fn attend(&self, run: RunId) {
        let mut all = self.mailboxes();
        if all.contains_key(&run) {
            return;
        }
        let mailbox = Mailbox::default();
        all.insert(run, mailbox.clone());
        let attendants = self.clone();
        self.shared.tasks.spawn(async move {
            let shared = &attendants.shared;
            let begin = || attend(shared, run, mailbox.clone());
            // No span is around it: it is woken with every few events, and would enter the span each time.
            tokio::select! {
                () = persist(run, begin, |note| shared.bus.set_note(run, note)) => {}
                () = shared.stop.cancelled() => {}
            }
            attendants.mailboxes().remove(&run);
        });
    }

    /// Says that a command cannot be handed to anybody. Nobody waits for that, because those who act must go on.
    pub(super) fn refuse(&self, run: RunId, command: CommandId, message: String) {
        let pool = self.shared.pool.clone();
        self.shared.tasks.spawn(async move {
            let result = Err(Undelivered { code: UndeliveredCode::Failed, message });
            if let Err(error) = pool.tell(PoolInput::Delivered { run, command, result }).await {
                // A pool that is gone takes the server with it.
                debug!(run.id = %run, cause = %error, "the pool is gone and hears nothing");
            }
        });
    }

    /// Where commands for a run are put, if somebody attends it.
    pub(super) fn mailbox(&self, run: RunId) -> Option<Mailbox> {
        self.mailboxes().get(&run).cloned()
    }

    fn mailboxes(&self) -> MutexGuard<'_, HashMap<RunId, Mailbox>> {
        self.shared.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Attends a run from the last event that the pool knows of.
async fn attend(shared: &Shared, run: RunId, mailbox: Mailbox) {
    let (bus, pool) = (shared.bus.clone(), shared.pool.clone());
    let readers = shared.readers.clone();
    let cursor = pool.inspect(move |state| state.runs.get(&run).map(|run| run.cursor)).await;
    // Nobody need attend a run that is over, nor any run of a pool that is gone.
    let Ok(Some(cursor)) = cursor else { return };
    let folder = bus.folder(run);
    let insistence = Insistence::on(folder.clone());
    let attendant = Attendant {
        run,
        folder,
        cursor,
        bus,
        pool,
        mailbox,
        insistence,
        gone: false,
        unread: 0,
        unreached: 0,
        unread_cause: None,
        readers,
        listening: None,
        over: false,
        end: None,
    };
    attendant.work().await;
}

struct Attendant {
    run: RunId,
    folder: PathBuf,
    cursor: u64,
    bus: Bus,
    pool: PoolHandle,
    mailbox: Mailbox,
    insistence: Insistence,
    /// The pool was told that the runner is gone.
    gone: bool,
    /// How often in a row the log of a runner that is gone could not be read.
    unread: u32,
    /// How often in a row the runner lived and could not be reached.
    unreached: u32,
    /// Why the log could not be read when it was last tried, so that it is told once.
    unread_cause: Option<String>,
    readers: Arc<Semaphore>,
    /// Absent before the first look, and while a thread has it.
    listening: Option<Listening>,
    /// The end was heard, or the pool has ended the run.
    over: bool,
    /// The end as the log tells it. The pool hears it last of all.
    end: Option<(u64, RunReport)>,
}

impl Attendant {
    async fn work(mut self) {
        let mut synced = self.bus.syncs(self.run);
        let mut wanted = self.bus.wanted(self.run);
        let mut link = self.connect(&wanted).await;
        if link.is_none() {
            self.look().await;
        }
        // A time and not a pause, for a log that grows all the while must not put it off.
        let mut look_at = Instant::now() + LOST_RUNNER_CHECK_INTERVAL;
        loop {
            synced.borrow_and_update();
            if let Err(error) = self.read().await {
                let cause = error.to_string();
                if self.unread_cause.as_ref() != Some(&cause) {
                    warn!(run.id = %self.run, cause, "run log cannot be read, trying again");
                    self.unread_cause = Some(cause.clone());
                }
                self.bus.set_note(self.run, Some(cause));
            }
            if self.over {
                self.hear_out(&mut link).await;
                if let Some((seq, what)) = self.end.take() {
                    self.tell(PoolInput::Heard { run: self.run, seq, what }).await;
                }
                return;
            }
            tokio::select! {
                _woken = synced.changed() => {}
                said = next(&mut link) => match said {
                    Some(said) => self.heard(said).await,
                    None => {
                        link = None;
                        self.look().await;
                    }
                },
                () = self.mailbox.posted() => {
                    for (id, command) in self.mailbox.take() {
                        self.insistence.posted(&id, &command);
                        if self.fits(link.as_ref(), &id, &command).await
                            && let Some(open) = &mut link
                            && open.send(id, command).await.is_err()
                        {
                            link = None;
                        }
                    }
                }
                _changed = wanted.changed() => if let Some(open) = &mut link
                    && *wanted.borrow_and_update()
                    && open.watch().await.is_err()
                {
                    link = None;
                },
                () = tokio::time::sleep_until(self.insistence.look_at), if !self.gone => {
                    if let Some(note) = self.insistence.look().await {
                        warn!(run.id = %self.run, cause = note, "runner had to be helped");
                        self.bus.set_note(self.run, Some(note));
                    }
                }
                () = tokio::time::sleep_until(look_at), if link.is_none() => {
                    link = self.connect(&wanted).await;
                    if link.is_none() {
                        self.look().await;
                    }
                    look_at = Instant::now() + LOST_RUNNER_CHECK_INTERVAL;
                }
            }
        }
    }

    /// Connects to the runner, if it answers, and gives it what it has not replied to.
    async fn connect(&mut self, wanted: &watch::Receiver<bool>) -> Option<Link> {
        let open = tokio::time::timeout(GREETING_TIMEOUT, Link::open(&self.folder)).await;
        let mut link = match open {
            Ok(Ok(link)) => link,
            Ok(Err(error)) => return self.not_reached(&error.to_string()),
            Err(_) => return self.not_reached("it did not greet in time"),
        };
        if self.unreached > 0 {
            info!(run.id = %self.run, runner.pid = link.pid, attempts = self.unreached, "runner reached again");
            self.unreached = 0;
        } else {
            debug!(run.id = %self.run, runner.pid = link.pid, "runner reached");
        }
        self.insistence.greeted = Some(link.pid);
        // It says so at once if it still waits for room.
        self.insistence.paused = false;
        for (id, command) in self.mailbox.waiting() {
            self.insistence.posted(&id, &command);
            if self.fits(Some(&link), &id, &command).await {
                link.send(id, command).await.ok()?;
            }
        }
        if *wanted.borrow() {
            link.watch().await.ok()?;
        }
        Some(link)
    }

    /// A runner that has just left is not reached either, so one failure says nothing.
    fn not_reached(&mut self, cause: &str) -> Option<Link> {
        let attempt = self.unreached + 1;
        self.unreached = attempt;
        match attempt > 1 && attempt.is_power_of_two() {
            true => {
                warn!(run.id = %self.run, attempt, cause, "runner cannot be reached, trying again");
            }
            false => {
                debug!(run.id = %self.run, attempt, cause, "runner cannot be reached, trying again");
            }
        }
        None
    }

    /// A newer runner is listed and can be stopped; what else our words mean to it nobody here knows.
    async fn fits(&self, link: Option<&Link>, id: &CommandId, command: &RunCommand) -> bool {
        let lacking = link.and_then(|link| lacks(link, command));
        let newer = link.is_some_and(|link| link.protocol > PROTOCOL) && !command.ends();
        let message = match (lacking, newer) {
            (None, false) => return true,
            (_, true) => "its runner is of a newer musher; use that one, or stop the run",
            (Some(lacking), false) => lacking,
        };
        let message = message.to_owned();
        let result = Err(Undelivered { code: UndeliveredCode::Unfit, message });
        self.mailbox.replied(id);
        self.tell(PoolInput::Delivered { run: self.run, command: id.clone(), result }).await;
        false
    }

    /// Tells the pool when nobody writes the log any more and it has no end.
    async fn look(&mut self) {
        let folder = self.folder.clone();
        if !matches!(self.apart(move || Lock::is_held(&folder)).await, Ok(false)) {
            return;
        }
        // The end may have been written between the last look and the death.
        let read = self.read().await;
        if self.over {
            return;
        }
        if !self.gone {
            self.gone = true;
            return self.tell(PoolInput::RunnerGone { run: self.run }).await;
        }
        // A log that was closed has an end. One in which it cannot be read is as good as lost, whatever else can.
        let folder = self.folder.clone();
        let recorded = self.apart(move || outcome::is_recorded(&folder)).await;
        let unread = match read {
            Err(error) => Some(error.to_string()),
            Ok(()) if recorded => Some("it has no end".to_owned()),
            Ok(()) => None,
        };
        self.unread = if unread.is_some() { self.unread + 1 } else { 0 };
        if let Some(why) = unread
            && self.unread == TRIES
        {
            error!(run.id = %self.run, attempt = TRIES, cause = why, "run log cannot be read, given up");
            self.tell(PoolInput::LogLost { run: self.run, error: log_lost(&why) }).await;
        }
        // The pool may have ended the run without a word from the log.
        let run = self.run;
        let known = self
            .pool
            .inspect(move |state| state.runs.get(&run).is_some_and(|run| !run.phase.has_ended()));
        self.over = !known.await.unwrap_or(true);
    }

    async fn heard(&mut self, said: FromRunner) {
        match said {
            FromRunner::Reply { id, refused } => {
                fail::point("after_deliver");
                self.insistence.answered(&id);
                if self.mailbox.replied(&id) {
                    let result = refused.map_or(Ok(()), |refused| Err(undelivered(refused)));
                    self.tell(PoolInput::Delivered { run: self.run, command: id, result }).await;
                }
            }
            FromRunner::Delta(line) => {
                if let Ok(text) = serde_json::to_string(&line) {
                    self.bus.pass_on(self.run, text.into());
                }
            }
            FromRunner::Paused { why } => {
                match &why {
                    Some(cause) => warn!(run.id = %self.run, cause, "run paused"),
                    None if self.insistence.paused => info!(run.id = %self.run, "run continues"),
                    None => {}
                }
                self.insistence.paused = why.is_some();
                self.bus.set_note(self.run, why);
            }
            FromRunner::Hello { .. } | FromRunner::Tools { .. } | FromRunner::Unknown => {}
        }
    }

    /// Reads all that is new. What the pool already knows is heard again for the books, and not told again.
    async fn read(&mut self) -> Result<(), LogError> {
        loop {
            let (logs, listening) = (self.bus.logs().clone(), self.listening.take());
            let run = self.run;
            let (mut listening, piece) =
                self.apart(move || Listening::piece(run, listening, &logs)).await;
            self.over |= listening.ear.over;
            let queued = listening.ear.queued_if_new();
            let status = listening.ear.status_if_new();
            self.listening = Some(listening);
            let Piece { heard, more } = piece?;
            if let Some(queued) = queued {
                self.bus.set_queued(self.run, queued);
            }
            if let Some(status) = status {
                self.bus.set_status(self.run, status);
            }
            for (seq, what) in heard {
                // A log that has lost what was heard of it may end with a number that was heard before.
                if seq > self.cursor || matches!(what, RunReport::Ended { .. }) {
                    fail::point("before_heard");
                    self.cursor = seq;
                    if matches!(what, RunReport::Ended { .. }) {
                        self.end = Some((seq, what));
                        continue;
                    }
                    self.tell(PoolInput::Heard { run: self.run, seq, what }).await;
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Hears what the runner replied before its end. The log is often read first, and then the sender of a command that was
    /// carried out would be told that it was not.
    async fn hear_out(&mut self, link: &mut Option<Link>) {
        let until = Instant::now() + LAST_REPLIES_TIMEOUT;
        while link.is_some() && !self.mailbox.waiting().is_empty() {
            match tokio::time::timeout_at(until, next(link)).await {
                Ok(Some(said)) => self.heard(said).await,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Looks at files of the run on a thread on which the server does nothing else.
    async fn apart<T: Send + 'static>(&self, look: impl FnOnce() -> T + Send + 'static) -> T {
        // It is never closed, and without a turn it would only be less fair.
        let turn = self.readers.clone().acquire_owned().await.ok();
        let looked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            look()
        });
        match looked.await.map_err(JoinError::try_into_panic) {
            Ok(seen) => seen,
            Err(Ok(panic)) => resume_unwind(panic),
            // The server ends, and this with it.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    async fn tell(&self, input: PoolInput) {
        if let Err(error) = self.pool.tell(input).await {
            // A pool that is gone takes the server with it.
            debug!(run.id = %self.run, cause = %error, "the pool is gone and hears nothing");
        }
    }
}

/// Why a runner of an older build cannot take a command.
fn lacks(link: &Link, command: &RunCommand) -> Option<&'static str> {
    let (can, message) = match command {
        RunCommand::TakeBack { .. } => {
            (link.takes_back, "its runner is of an older musher, which takes no prompt back")
        }
        RunCommand::Change { .. } => {
            (link.changes, "its runner is of an older musher, which changes no live session")
        }
        RunCommand::Prompt { .. }
        | RunCommand::Steer { .. }
        | RunCommand::Answer { .. }
        | RunCommand::Interrupt
        | RunCommand::Stop
        | RunCommand::Kill => return None,
    };
    (!can).then_some(message)
}

async fn next(link: &mut Option<Link>) -> Option<FromRunner> {
    match link {
        Some(open) => open.next().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

fn undelivered(refused: CommandRefused) -> Undelivered {
    let code = match refused.code.as_str() {
        "run_ended" => UndeliveredCode::RunEnded,
        "ask_closed" | "no_such_ask" => UndeliveredCode::AskClosed,
        "unsupported" | "wrong_answer" | "forbidden_by_rule" | "no_turn" | "bad_prompt"
        | "not_waiting" => UndeliveredCode::Unfit,
        _ => UndeliveredCode::Failed,
    };
    Undelivered { code, message: refused.message }
}

#[cfg(test)]
mod tests;
