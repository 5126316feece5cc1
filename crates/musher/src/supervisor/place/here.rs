//! Runs on this machine: worktrees in the state directory, a runner for each run, and its folder.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::home::write_whole;
use crate::runner::closing::{Unclosed, close_dead};
use crate::runner::launch;
use crate::runner::spec::RunSpec;
use crate::secrets;
use crate::supervisor::SupervisorContext;
use crate::supervisor::act::named;
use musher_core::pool::{Assignment, SlotCondition};
use musher_core::{BranchRef, ErrorClass, ErrorInfo, RunId, RunPlan, SlotId, WorktreeStart};
use musher_git::worktree::{Lane, SlotStart, WorktreeError, WorktreeSlots};
use musher_git::{Author, Branch, Commit, RecoveryName};
use musher_log::{Lock, is_begun};
use musher_os::fail;
use musher_runtime::Secrets;
use tracing::{Span, warn};

/// This machine.
#[derive(Debug, Clone)]
pub(in crate::supervisor) struct Here {
    ground: Arc<SupervisorContext>,
    /// Slots that were set up once and had to be made anew, so that they must be set up again.
    remade: Arc<Mutex<BTreeSet<SlotId>>>,
}

impl Here {
    pub(in crate::supervisor) fn new(ground: Arc<SupervisorContext>) -> Self {
        Self { ground, remade: Arc::default() }
    }

    /// Makes a worktree ready for what the plan says; the result is the commit at which it stands.
    pub(in crate::supervisor) async fn prepare(
        &self,
        plan: &RunPlan,
        slot: SlotId,
        branch: &BranchRef,
        start: WorktreeStart,
    ) -> Result<String, ErrorInfo> {
        self.ground.check(plan)?;
        let on = named(branch)?;
        if branch.name.is_some() && start == WorktreeStart::Fresh {
            self.not_somebodys(branch, &on).await?;
        }
        let forked = match &start {
            WorktreeStart::Snapshot { of } => Some(*of),
            WorktreeStart::Fresh | WorktreeStart::Keep => None,
        };
        let start = match start {
            WorktreeStart::Fresh => SlotStart::Base { branch: self.ground.base_of(branch)? },
            WorktreeStart::Keep => SlotStart::Keep,
            WorktreeStart::Snapshot { of } => {
                let snapshot = self.snapshot(of).await;
                SlotStart::Commit(snapshot.map_err(|error| unmade(&error))?)
            }
        };
        let keep = start == SlotStart::Keep;
        let made = self.ground.slots.apart(Lane::Slot(slot), "a start", async move |slots| {
            let prepared = slots.prepare(slot, &on, &start).await?;
            if prepared.fresh || !keep {
                slots.copy_files(slot)?;
            }
            if let Some(of) = forked {
                slots.inherit_home(of, slot).await?;
            }
            Ok::<_, WorktreeError>(prepared)
        });
        let prepared = made.await.map_err(|error| unmade(&error))?;
        if prepared.fresh && keep {
            self.remade().insert(slot);
        }
        Ok(prepared.head.to_string())
    }

    /// Refuses the name of a branch that is there already: it is somebody's, and would be moved. One that stands at the base is not
    /// moved, and may be of a start that did not come to its end.
    async fn not_somebodys(&self, branch: &BranchRef, on: &Branch) -> Result<(), ErrorInfo> {
        let (base, on) = (self.ground.base_of(branch)?, on.clone());
        let is_base = base == on || self.ground.base == on;
        let look = async move |slots: WorktreeSlots| {
            let (base, tip) = slots.git().resolve_with(&base, &on).await?;
            Ok::<_, WorktreeError>(tip.is_none_or(|tip| tip == base))
        };
        let looked = self.ground.slots.apart(Lane::Repository, "a look at a branch", look).await;
        match looked.map_err(|error| unmade(&error))? && !is_base {
            true => Ok(()),
            false => {
                let message = format!("there is a branch {branch} already");
                let hint = format!(
                    "rename it, or give the story another: `musher story edit {} --branch NAME`",
                    branch.story
                );
                Err(ErrorInfo::new(ErrorClass::Config, message).with_hint(hint))
            }
        }
    }

    /// Everything in a worktree as a commit, also what its run has not committed.
    async fn snapshot(&self, slot: SlotId) -> Result<Commit, WorktreeError> {
        let look = async move |slots: WorktreeSlots| slots.snapshot(slot).await;
        self.ground.slots.apart(Lane::Look(slot), "a snapshot", look).await
    }

    /// Starts the runner, unless somebody did: a run begins once, whoever asks and however often.
    pub(in crate::supervisor) async fn begin(&self, to: &Assignment) -> Result<(), ErrorInfo> {
        let (run, slot) = (to.run, to.slot);
        self.ground.make_way(run, to.nonce.as_deref())?;
        let folder = self.ground.home.make_run(run).map_err(|error| unwritten(&error))?;
        if begun(&folder) {
            return Ok(());
        }
        let setup = self.remade().remove(&slot) || to.condition < SlotCondition::SetUp;
        let files = self.ground.files(&to.plan, &to.branch).await?;
        let sandbox = self.ground.sandbox(&to.plan, slot).await?;
        // Whoever looks for the run's processes looks for one mark, so a second try keeps the first one.
        let earlier = RunSpec::read(&folder).ok().map(|spec| spec.mark);
        let mark = earlier.unwrap_or_else(|| self.ground.mark(to.nonce.as_deref()));
        let (ground, to, span) = (self.ground.clone(), to.clone(), Span::current());
        let launched = tokio::task::spawn_blocking(move || {
            let _in_span = span.enter();
            let spec = ground.assign(&to, setup, files, sandbox, mark)?;
            let text = serde_json::to_vec_pretty(&spec)
                .map_err(|error| ErrorInfo::new(ErrorClass::Internal, error.to_string()))?;
            write_whole(&folder.join("spec.json"), &text).map_err(|error| unwritten(&error))?;
            fail::point("before_spawn");
            let patience = launch::RUNNER_START_TIMEOUT;
            match launch::launch(patience, &ground.program, &folder, &ground.runner_vars) {
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

    /// Takes away the folder of a run that never began.
    pub(in crate::supervisor) fn forget(&self, run: RunId) {
        let folder = self.ground.home.run(run);
        if !begun(&folder)
            && let Err(error) = std::fs::remove_dir_all(&folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            warn!(cause = %error, "folder of a run that never began is left");
        }
    }

    /// Commits what a run left in its worktree.
    pub(in crate::supervisor) async fn finish(
        &self,
        slot: SlotId,
        branch: &Branch,
        message: String,
    ) -> Result<Option<Commit>, WorktreeError> {
        let on = branch.clone();
        let commit = async move |slots: WorktreeSlots| {
            slots.finish(slot, &on, &message, &Author::musher()).await
        };
        self.ground.slots.apart(Lane::Slot(slot), "the commit", commit).await
    }

    /// Keeps what could be lost on a ref, and turns the slot's files to the base.
    pub(in crate::supervisor) async fn release(
        &self,
        slot: SlotId,
        branch: &Branch,
    ) -> Result<(), WorktreeError> {
        let (name, base) = (RecoveryName::of(branch), self.ground.base.clone());
        let released =
            self.ground.slots.apart(Lane::Slot(slot), "clearing a worktree", async move |slots| {
                slots.release(slot, &name, &base).await
            });
        match released.await {
            // Whatever stands in its place is set aside by the next start.
            Ok(_) | Err(WorktreeError::NoSlot { .. } | WorktreeError::Replaced { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes away the worktree and the branch of a start that failed, if no runner was ever in them.
    pub(in crate::supervisor) async fn undo(
        &self,
        slot: SlotId,
        branch: &BranchRef,
        condition: SlotCondition,
    ) {
        let own_name = branch.name.is_some();
        let (SlotCondition::New, Ok(branch)) = (condition, named(branch)) else { return };
        let undone =
            self.ground.slots.apart(Lane::Slot(slot), "undoing a start", async move |slots| {
                slots.remove(slot, &RecoveryName::of(&branch)).await?;
                // A branch of a person's own choice may have been there before.
                if let Some(tip) = slots.git().tip(&branch).await?
                    && !own_name
                {
                    slots.git().delete_branch(&branch, &tip).await?;
                }
                Ok::<_, WorktreeError>(())
            });
        if let Err(error) = undone.await {
            warn!(cause = %error, "worktree of a failed start is left; the next start clears it");
        }
    }

    /// Ends what a dead runner left, and writes the end of its log.
    pub(in crate::supervisor) async fn end(&self, run: RunId) -> Result<(), Unclosed> {
        let (folder, owner) = (self.ground.home.run(run), self.ground.owner.clone());
        let closed = tokio::task::spawn_blocking(move || {
            close_dead(&folder, |spec| owner.owns(spec.journal.as_deref()))
        });
        closed.await.unwrap_or_else(|error| Err(Unclosed::Broken(error.to_string())))
    }

    /// What must not be seen of these runs and of the server. It blocks.
    pub(in crate::supervisor) fn secrets(&self, runs: &[RunId]) -> Result<Secrets, String> {
        let SupervisorContext { home, environment, bus, .. } = &*self.ground;
        let token = home.token().map_err(|error| error.to_string())?;
        Ok(secrets::of_runs(environment, Some(token.as_str()), bus.logs(), runs))
    }

    fn remade(&self) -> MutexGuard<'_, BTreeSet<SlotId>> {
        self.remade.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a runner is at work in the folder, or has been.
fn begun(folder: &Path) -> bool {
    Lock::is_held(folder).unwrap_or(false) || is_begun(folder)
}

fn unmade(error: &WorktreeError) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Config, error.to_string())
}

fn unwritten(error: &std::io::Error) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Unavailable, format!("the run's folder cannot be written: {error}"))
}
