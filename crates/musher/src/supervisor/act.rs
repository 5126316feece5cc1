//! Does what the pool decided: worktrees, runners, deliveries, ends, merges. Each is done once, however often it is asked.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::SupervisorContext;
use super::assign::Assignment;
use super::attend::Attendants;
use crate::home::write_whole;
use crate::journal::RunsQuery;
use crate::runner::closing::{Unclosed, close_dead};
use crate::runner::launch;
use crate::runner::spec::RunSpec;
use musher_core::pool::{Action, DeliveryKind, PoolInput, Slot, TextKey, Wear};
use musher_core::{
    Answer, BranchRef, CommandId, ErrorClass, ErrorInfo, RunId, RunPlan, SlotId, StoryId, Usd,
    WorktreeStart,
};
use musher_git::worktree::{self, Lane, WorktreeError};
use musher_git::{Author, Branch, Commit, GitError, Merged, RecoveryName};
use musher_log::wire::RunCommand;
use musher_log::{Lock, is_begun};
use musher_os::fail;
use tracing::{Instrument, Span, debug, error, info_span, warn};

/// What cannot be done now is tried again after this long.
const ACTION_RETRY_DELAY: Duration = Duration::from_secs(2);
/// An action that takes longer than this is told: somebody waits for a run that begins or ends.
const SLOW_ACTION: Duration = Duration::from_secs(10);
/// How often a log is tried that looks broken. A runner whose folder was deleted has ended by then.
pub(super) const TRIES: u32 = 5;

/// Whoever acts.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    pub(super) ground: Arc<SupervisorContext>,
    pub(super) attendants: Attendants,
    /// Slots that were set up once and had to be made anew, so that they must be set up again.
    pub(super) remade: Arc<Mutex<BTreeSet<SlotId>>>,
}

impl Actor {
    /// Whether an action is done at once and in its place among others: what is said to a run keeps its order.
    pub(super) fn keeps_order(action: &Action) -> bool {
        matches!(action, Action::Deliver { .. })
    }

    pub(super) async fn act(&self, action: Action) {
        let (span, began) = (span(&action), Instant::now());
        self.done(action).instrument(span.clone()).await;
        let took = began.elapsed();
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        span.in_scope(|| match took > SLOW_ACTION {
            true => warn!(ms, "action was slow"),
            false => debug!(ms, "action done"),
        });
    }

    async fn done(&self, action: Action) {
        match action {
            Action::Prepare { run, slot, branch, start } => {
                self.prepare(run, slot, branch, start).await;
            }
            Action::Spawn { run, slot, setup } => self.spawn(run, slot, setup).await,
            Action::Deliver { run, command, kind } => self.deliver(run, command, kind),
            Action::CloseLog { run } => self.close(run).await,
            Action::Finish { run, slot } => self.finish(run, slot).await,
            Action::Release { slot, branch } => self.release(slot, branch).await,
            Action::SearchSecrets { command, branch } => self.search(command, branch).await,
            Action::Merge { command, branch } => self.merge(command, branch).await,
        }
    }

    pub(super) async fn tell(&self, input: PoolInput) {
        if let Err(error) = self.ground.pool.tell(input).await {
            // A pool that is gone takes the server with it.
            debug!(cause = %error, "the pool is gone and hears nothing");
        }
    }

    async fn prepare(&self, run: RunId, slot: SlotId, branch: BranchRef, start: WorktreeStart) {
        fail::point("before_prepare");
        let made = async {
            let (plan, ..) = self.plan(run).await?;
            self.ground.check(&plan)?;
            let on = named(&branch)?;
            let slots = &self.ground.slots;
            let start = match start {
                WorktreeStart::Fresh => {
                    worktree::SlotStart::Base { branch: self.ground.base.clone() }
                }
                WorktreeStart::Keep => worktree::SlotStart::Keep,
                WorktreeStart::Snapshot { of } => {
                    let snapshot = slots.apart(Lane::Look(of), "a snapshot", async move |slots| {
                        slots.snapshot(of).await
                    });
                    let snapshot: Result<_, WorktreeError> = snapshot.await;
                    worktree::SlotStart::Commit(snapshot.map_err(|error| unmade(&error))?)
                }
            };
            let keep = start == worktree::SlotStart::Keep;
            let made = slots.apart(Lane::Slot(slot), "a start", async move |slots| {
                let prepared = slots.prepare(slot, &on, &start).await?;
                if prepared.fresh || !keep {
                    slots.copy_files(slot)?;
                }
                Ok::<_, WorktreeError>(prepared)
            });
            let prepared = made.await.map_err(|error| unmade(&error))?;
            if prepared.fresh && keep {
                self.remade().insert(slot);
            }
            Ok::<_, ErrorInfo>(prepared.head.to_string())
        };
        let input = match made.await {
            Ok(head) => PoolInput::Prepared { run, head },
            Err(error) => {
                error!(cause = error.message, "worktree could not be prepared");
                self.undo(slot, &branch).await;
                PoolInput::PrepareFailed { run, error }
            }
        };
        fail::point("after_prepare");
        self.tell(input).await;
    }

    async fn spawn(&self, run: RunId, slot: SlotId, setup: bool) {
        match self.started(run, slot, setup).await {
            Ok(()) => {
                fail::point("after_spawn");
                self.attendants.attend(run);
                self.tell(PoolInput::RunnerUp { run }).await;
            }
            Err(error) => {
                error!(cause = error.message, "runner could not be started");
                let folder = self.ground.home.run(run);
                // Nothing has begun, so nothing is left behind.
                if !begun(&folder)
                    && let Err(error) = std::fs::remove_dir_all(&folder)
                    && error.kind() != std::io::ErrorKind::NotFound
                {
                    warn!(cause = %error, "folder of a run that never began is left");
                }
                if let Ok(branch) = self.branch_in(slot).await {
                    self.undo(slot, &branch).await;
                }
                self.tell(PoolInput::SpawnFailed { run, error }).await;
            }
        }
    }

    /// Takes away the worktree and the branch of a start that failed, if no runner was ever in them.
    async fn undo(&self, slot: SlotId, branch: &BranchRef) {
        let new = self.ground.pool.inspect(move |state| {
            matches!(state.slots.get(&slot), Some(Slot::Held { wear: Wear::New, .. }))
        });
        let (Ok(true), Ok(branch)) = (new.await, named(branch)) else { return };
        let undone =
            self.ground.slots.apart(Lane::Slot(slot), "undoing a start", async move |slots| {
                slots.remove(slot, &RecoveryName::of(&branch)).await?;
                if let Some(tip) = slots.git().tip(&branch).await? {
                    slots.git().delete_branch(&branch, &tip).await?;
                }
                Ok::<_, WorktreeError>(())
            });
        if let Err(error) = undone.await {
            warn!(cause = %error, "worktree of a failed start is left; the next start clears it");
        }
    }

    /// Starts the runner, unless somebody did: a run begins once, whoever asks and however often.
    async fn started(&self, run: RunId, slot: SlotId, setup: bool) -> Result<(), ErrorInfo> {
        let (plan, budget, nonce) = self.plan(run).await?;
        self.ground.make_way(run, nonce.as_deref())?;
        let folder = self.ground.home.make_run(run).map_err(|error| unwritten(&error))?;
        if begun(&folder) {
            return Ok(());
        }
        let branch = self.branch_in(slot).await?;
        let setup = self.remade().remove(&slot) || setup;
        let files = self.ground.files(&plan, &branch).await?;
        let assignment = Assignment { run, nonce, plan, budget, branch, setup, files };
        // Whoever looks for the run's processes looks for one mark, so a second try keeps the first one.
        let earlier = RunSpec::read(&folder).ok().map(|spec| spec.mark);
        let mark = earlier.unwrap_or_else(|| self.ground.mark(assignment.nonce.as_deref()));
        let ground = self.ground.clone();
        let span = Span::current();
        let launched = tokio::task::spawn_blocking(move || {
            let _in_span = span.enter();
            let worktree = ground.slots.path(slot);
            let spec = ground.assign(&assignment, &worktree, mark)?;
            let text = serde_json::to_vec_pretty(&spec)
                .map_err(|error| ErrorInfo::new(ErrorClass::Internal, error.to_string()))?;
            write_whole(&folder.join("spec.json"), &text).map_err(|error| unwritten(&error))?;
            fail::point("before_spawn");
            match launch::launch(&ground.program, &folder, &ground.runner_vars) {
                Ok(()) => Ok(()),
                Err(error) if begun(&folder) => {
                    warn!(cause = %error, "another runner was faster and hosts the run");
                    Ok(())
                }
                Err(error) => Err(ErrorInfo::new(ErrorClass::Startup, error.to_string())),
            }
        });
        launched.await.map_err(|error| ErrorInfo::new(ErrorClass::Internal, error.to_string()))?
    }

    /// Hands a command to whoever attends the run. One whose text nobody can read is not left on its way for ever.
    fn deliver(&self, run: RunId, command: CommandId, kind: DeliveryKind) {
        fail::point("before_deliver");
        match self.wish(&command, kind) {
            Ok(wish) => self.attendants.deliver(run, command, wish),
            Err(why) => {
                warn!(command.id = %command, cause = why, "command cannot be delivered");
                self.attendants.refuse(run, command, why);
            }
        }
    }

    fn wish(&self, command: &CommandId, kind: DeliveryKind) -> Result<RunCommand, String> {
        let text = |key: TextKey| match self.ground.text(&key) {
            Ok(Some(text)) => Ok(text),
            Ok(None) => Err("its text was erased before it was delivered".to_owned()),
            Err(error) => Err(format!("its text cannot be read: {}", error.message)),
        };
        Ok(match kind {
            DeliveryKind::Prompt => {
                RunCommand::Prompt { text: text(TextKey::Message(command.clone()))? }
            }
            DeliveryKind::Steer => {
                RunCommand::Steer { text: text(TextKey::Message(command.clone()))? }
            }
            DeliveryKind::Answer { ask } => {
                let text = text(TextKey::Answer(command.clone()))?;
                let answer = serde_json::from_str::<Answer>(&text);
                let answer = answer.map_err(|error| format!("it cannot be read: {error}"))?;
                RunCommand::Answer { ask, answer }
            }
            DeliveryKind::TakeBack { prompt } => {
                RunCommand::TakeBack { prompt: prompt.as_str().into() }
            }
            DeliveryKind::Interrupt => RunCommand::Interrupt,
            DeliveryKind::Stop => RunCommand::Stop,
            DeliveryKind::Kill => RunCommand::Kill,
        })
    }

    /// Ends what a dead runner left and closes its log. A log that cannot be closed is given up, for the run must end.
    async fn close(&self, run: RunId) {
        self.attendants.attend(run);
        let folder = self.ground.home.run(run);
        let (mut tries, mut attempt) = (0, 0_u32);
        loop {
            fail::point("before_close");
            let folder = folder.clone();
            let owner = self.ground.owner.clone();
            let closed = tokio::task::spawn_blocking(move || {
                close_dead(&folder, |spec| owner.owns(spec.journal.as_deref()))
            });
            let why = match closed.await {
                Ok(Ok(())) => return,
                Err(error) => return error!(cause = %error, "run log was not closed"),
                // What can be done is done later.
                Ok(Err(Unclosed::NotYet(why))) => why,
                Ok(Err(Unclosed::Broken(why))) => {
                    tries += 1;
                    why
                }
            };
            if tries == TRIES {
                error!(attempt = tries, cause = why, "run log could not be closed, given up");
                return self.tell(PoolInput::LogLost { run, error: log_lost(&why) }).await;
            }
            attempt += 1;
            if attempt.is_power_of_two() {
                warn!(attempt, cause = why, "run log could not be closed, trying again");
            }
            self.ground.bus.set_note(run, Some(why));
            tokio::time::sleep(ACTION_RETRY_DELAY).await;
        }
    }

    async fn finish(&self, run: RunId, slot: SlotId) {
        fail::point("before_finish");
        let done = async {
            if !self.ground.settings.project().auto_commit {
                return Ok(None);
            }
            let branch = self.branch_in(slot).await.map_err(|error| error.to_string())?;
            let title = self.ground.text(&TextKey::StoryTitle(branch.story.clone()));
            let title = title.ok().flatten().unwrap_or_default();
            let message = format!("{title}\n\nStory: {}\nRun: {run}\n", branch.story);
            let branch = named(&branch).map_err(|error| error.to_string())?;
            let on = branch.clone();
            let done =
                self.ground.slots.apart(Lane::Slot(slot), "the commit", async move |slots| {
                    slots.finish(slot, &on, &message, &Author::musher()).await
                });
            let commit = done.await.map_err(|error: WorktreeError| error.to_string())?;
            Ok(Some((commit, self.secrets_in(run, slot, branch).await)))
        };
        let (commit, error) = match done.await {
            Ok(None) => (None, None),
            Ok(Some((commit, warning))) => (commit.map(|commit| commit.to_string()), warning),
            Err(error) => (None, Some(error)),
        };
        fail::point("after_finish");
        self.tell(PoolInput::Finished { run, commit, error }).await;
    }

    /// What could be lost is kept on a ref, and the slot is made ready for the next story before that one waits for it.
    async fn release(&self, slot: SlotId, branch: BranchRef) {
        fail::point("before_release");
        let name = match named(&branch) {
            Ok(name) => name,
            Err(error) => return error!(cause = error.message, "worktree is not cleared"),
        };
        let SupervisorContext { slots, base, .. } = &*self.ground;
        let mut attempt = 0_u32;
        loop {
            let (name, base) = (RecoveryName::of(&name), base.clone());
            let released =
                slots.apart(Lane::Slot(slot), "clearing a worktree", async move |slots| {
                    slots.release(slot, &name, &base).await
                });
            match released.await {
                // Whatever stands in its place is set aside by the next start.
                Ok(_) | Err(WorktreeError::NoSlot { .. } | WorktreeError::Replaced { .. }) => break,
                Err(error) => {
                    attempt += 1;
                    if attempt.is_power_of_two() {
                        let cause = error.to_string();
                        warn!(attempt, cause, "worktree could not be cleared, trying again");
                    }
                    tokio::time::sleep(ACTION_RETRY_DELAY).await;
                }
            }
        }
        fail::point("after_release");
        self.tell(PoolInput::Released { slot, branch }).await;
    }

    async fn merge(&self, command: CommandId, branch: BranchRef) {
        fail::point("before_merge");
        let story = branch.story.clone();
        let merged = async {
            let title = self.ground.text(&TextKey::StoryTitle(story.clone()));
            let title = title.ok().flatten().unwrap_or_default();
            let message = format!("Merge story {story}: {title}\n");
            let branch = named(&branch).map_err(|error| error.to_string())?;
            let (base, from) = (self.ground.base.clone(), branch.clone());
            let done = self.ground.slots.apart(Lane::Repository, "the merge", async move |slots| {
                let git = slots.git();
                let tip = git.resolve(&from).await?;
                let merged = git.merge(&base, &tip, &message, &Author::musher()).await;
                Ok::<_, WorktreeError>((tip, merged))
            });
            let (tip, done) = done.await.map_err(|error| error.to_string())?;
            // People know the branch by its name.
            let named = |error: GitError| error.to_string().replace(tip.as_str(), branch.as_str());
            match done.map_err(named)? {
                Merged::Merged(merge) => Ok(merge.commit.to_string()),
                Merged::Nothing { .. } if self.is_untouched(&story, &branch, &tip) => {
                    Err(format!("branch {branch} has no commit of its own"))
                }
                Merged::Nothing { tip } => Ok(tip.to_string()),
            }
        };
        let result = merged.await;
        fail::point("after_merge");
        self.tell(PoolInput::Merged { command, story, result }).await;
    }

    /// Whether a branch still stands where its first run began.
    fn is_untouched(&self, story: &StoryId, branch: &Branch, tip: &Commit) -> bool {
        let query = RunsQuery { story: Some(story.clone()), ..RunsQuery::default() };
        let runs = self.ground.views.runs(&query).map(|page| page.runs).unwrap_or_else(|error| {
            warn!(cause = %error, "runs of the story cannot be read; it counts as worked on");
            Vec::new()
        });
        let on_it = runs.iter().filter(|run| run.branch.as_deref() == Some(branch.as_str()));
        let first = on_it.min_by_key(|run| run.id);
        first.is_some_and(|run| run.head.as_deref() == Some(tip.as_str()))
    }

    fn remade(&self) -> MutexGuard<'_, BTreeSet<SlotId>> {
        self.remade.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a run is to be, what it may spend, and what tells it from every other.
    async fn plan(&self, run: RunId) -> Result<Planned, ErrorInfo> {
        let plan = self.ground.pool.inspect(move |state| {
            let found = state.runs.get(&run)?;
            Some((found.plan.clone(), found.budget, found.nonce.clone()))
        });
        plan.await.ok().flatten().ok_or_else(|| gone(format!("run {run} is over")))
    }

    async fn branch_in(&self, slot: SlotId) -> Result<BranchRef, ErrorInfo> {
        let branch = self.ground.pool.inspect(move |state| state.branch_in(slot));
        branch.await.ok().flatten().ok_or_else(|| gone(format!("slot {slot} is nobody's")))
    }
}

/// What the lines about an action have in common.
fn span(action: &Action) -> Span {
    match action {
        Action::Prepare { run, slot, branch, .. } => {
            info_span!("action", action = "prepare", run.id = %run, story.id = %branch.story, slot = slot.0)
        }
        Action::Spawn { run, slot, .. } => {
            info_span!("action", action = "spawn", run.id = %run, slot = slot.0)
        }
        Action::Deliver { run, command, .. } => {
            info_span!("action", action = "deliver", run.id = %run, command.id = %command)
        }
        Action::CloseLog { run } => info_span!("action", action = "close_log", run.id = %run),
        Action::Finish { run, slot } => {
            info_span!("action", action = "finish", run.id = %run, slot = slot.0)
        }
        Action::Release { slot, branch } => {
            info_span!("action", action = "release", story.id = %branch.story, slot = slot.0)
        }
        Action::SearchSecrets { branch, .. } => {
            info_span!("action", action = "search_secrets", story.id = %branch.story)
        }
        Action::Merge { branch, .. } => {
            info_span!("action", action = "merge", story.id = %branch.story)
        }
    }
}

type Planned = (RunPlan, Option<Usd>, Option<String>);

/// Whether a runner is at work in the folder, or has been.
fn begun(folder: &Path) -> bool {
    Lock::is_held(folder).unwrap_or(false) || is_begun(folder)
}

pub(super) fn named(branch: &BranchRef) -> Result<Branch, ErrorInfo> {
    Branch::new(branch.to_string())
        .map_err(|error| ErrorInfo::new(ErrorClass::Internal, error.to_string()))
}

fn unmade(error: &WorktreeError) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Config, error.to_string())
}

fn unwritten(error: &std::io::Error) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Unavailable, format!("the run's folder cannot be written: {error}"))
}

/// That a run has ended and its log does not say so.
pub(super) fn log_lost(why: &str) -> ErrorInfo {
    let message = format!("the runner died before the run ended, and its log is lost: {why}");
    ErrorInfo::new(ErrorClass::Internal, message)
}

fn gone(what: String) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Internal, what)
}
