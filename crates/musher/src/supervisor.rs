//! The server's composition root: builds the parts, starts them, and lets go of them in order.

mod act;
mod assign;
mod attend;
mod event_listener;
mod folders;
mod insist;
mod mailbox;
mod persist;
mod place;
mod sandbox;
mod strays;
mod unsaid;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use musher_core::pool::{Action, DAY_MS};
use musher_core::{Actor, CommandId, RunId, RunPhase, SlotId};
use musher_runtime::{Environment, now_ms};
use musher_sandbox::SandboxBackend;
use musher_web::WebFiles;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, info, warn};
use uuid::Uuid;

use crate::api;
use crate::bus::Bus;
use crate::config::{ConfigErrors, ProjectConfig};
use crate::diagnostics;
use crate::home::{self, Home, HomeError, HomeLock};
use crate::journal::{Claim, Journal, JournalError, Owner, Views};
use crate::pool::{Pool, PoolHandle, PoolStartError, RunName, Wish};
use crate::runtimes;
use crate::settings::ServerSettings;
use crate::watch::WatchContext;
use musher_git::worktree::{Lane, SandboxPlaces, SlotFiles, WorktreeError, WorktreeSlots};
use musher_git::{Branch, DiffLimits, Git, GitDiff, GitEnv, GitError, RelPath};

use act::Performer;
use attend::Attendants;
use place::{Here, RunPlace};

/// Actions that may wait to be begun; each is begun at once, so there are never many.
const ACTIONS: usize = 1024;

/// Everything that a server is made of.
#[derive(Debug)]
pub struct Config {
    pub repo: PathBuf,
    pub home: Home,
    pub project: ProjectConfig,
    /// This program; runners start from a copy of it.
    pub program: PathBuf,
    pub environment: Environment,
    /// Variables for runners beside those of this process.
    pub runner_vars: Vec<(OsString, OsString)>,
    /// Whether the state directory was moved here.
    pub claim: Claim,
}

/// Why a server could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Pool(#[from] PoolStartError),
    #[error(transparent)]
    Local(#[from] ConfigErrors),
    #[error("the project file names {what}, which cannot be used: {why}")]
    Project { what: String, why: String },
}

impl ServeError {
    /// What the person can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Home(error) => error.hint().to_owned(),
            Self::Git(_) | Self::Worktree(_) => {
                "repair the repository, then start the server again".to_owned()
            }
            Self::Journal(_) | Self::Pool(_) => {
                "nothing was changed; see the file, and keep a copy of it".to_owned()
            }
            Self::Local(_) => "correct it by hand, or take the file away".to_owned(),
            Self::Project { .. } => "correct the project file".to_owned(),
        }
    }
}

/// What every part of the server stands on.
#[derive(Debug)]
pub(crate) struct SupervisorContext {
    pub(crate) home: Home,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) git: Git,
    pub(crate) slots: WorktreeSlots,
    pub(crate) base: Branch,
    pub(crate) views: Views,
    pub(crate) bus: Bus,
    pub(crate) pool: PoolHandle,
    pub(crate) program: PathBuf,
    pub(crate) environment: Environment,
    /// Whose runs are this server's.
    pub(crate) owner: Owner,
    runner_vars: Vec<(OsString, OsString)>,
    /// What has made a sandbox on this machine.
    sandboxes_tried: tokio::sync::Mutex<Vec<SandboxBackend>>,
}

/// A server at work, without its doors.
#[derive(Debug)]
pub struct Supervisor {
    pub(crate) ground: Arc<SupervisorContext>,
    tasks: TaskTracker,
    stop: CancellationToken,
    thread: std::thread::JoinHandle<()>,
    notices: Vec<String>,
    _lock: HomeLock,
}

impl Supervisor {
    /// Takes the state directory, folds the journal, and goes on where the last server stopped: runs that live are
    /// adopted, runs that died are closed, and what was begun is finished.
    pub async fn start(config: Config) -> Result<Self, ServeError> {
        let Config { repo, home, project, program, environment, runner_vars, claim } = config;
        let lock = home.lock()?;
        // First of all: nothing is touched in the name of a journal that is a copy.
        let mut journal = Journal::open_as(&home.journal(), now_ms(), claim)?;
        let scratch = home.scratch()?;
        let git = Git::open(&repo, git_env(&environment), &scratch).await?;
        git.check_writable()?;
        git.clear_scratch()?;
        git.check_writable()?;
        let base = base_branch(&git, &project).await?;
        let files = SlotFiles {
            keep: paths("keep", &project.worktree.keep)?,
            copy: paths("copy", &project.worktree.copy)?,
        };
        let slots = WorktreeSlots::new(git.clone(), &home.worktrees(), files)?;
        let settings = ServerSettings::begin(git.root(), home.path(), runtimes::built(), project)?;
        let settings = Arc::new(settings);
        let program = home.binary(&program)?;
        let user =
            environment.get("HOME").map(PathBuf::from).unwrap_or_else(|| "/nonexistent".into());
        let (folder, helper) = (home.sandboxes(), program.clone());
        let slots = slots.with_sandboxes(SandboxPlaces { folder, helper, home: user });
        let mut notices = strays::settle(&home, &mut journal).await?;
        home.tell(now_ms(), &notices)?;
        notices.extend(home.tell(now_ms(), &loosened(&settings.project()))?);
        let (views, owner, moved) =
            (journal.views(), journal.owner().clone(), journal.findings().moved);
        let bus = Bus::start(home.runs());
        let (sender, actions) = mpsc::channel::<Vec<Action>>(ACTIONS);
        let hand_on = move |batch: Vec<Action>| {
            if let Err(unsent) = sender.blocking_send(batch) {
                // Nobody acts any more when the server is ending; what is owed is done by the next one.
                debug!(actions = unsent.0.len(), "actions are left to the next server");
            }
        };
        let (pool, thread) = Pool::start(journal, settings.team(), now_ms, hand_on)?;
        let ground = Arc::new(SupervisorContext {
            home,
            settings,
            git,
            slots,
            base,
            views,
            bus: bus.clone(),
            pool: pool.clone(),
            program,
            environment,
            owner,
            runner_vars,
            sandboxes_tried: tokio::sync::Mutex::default(),
        });
        if moved {
            ground.end_all().await;
        }
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let attendants = Attendants::new(bus, pool, tasks.clone(), stop.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(tidy(ground.clone())));
        for run in adopted(&ground.pool).await {
            ground.log_adopted(run).await;
            attendants.attend(run);
        }
        let place = RunPlace::Here(Here::new(ground.clone()));
        let performer = Performer { ground: ground.clone(), attendants, place };
        tasks.spawn(stop.clone().run_until_cancelled_owned(each_day(ground.clone())));
        tasks.spawn(stop.clone().run_until_cancelled_owned(watch_journal(ground.clone())));
        tasks.spawn(performer.act(actions, tasks.clone(), stop.clone()));
        Ok(Self { ground, tasks, stop, thread, notices, _lock: lock })
    }

    /// What a person must be told about the state directory.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The one decider.
    pub fn pool(&self) -> &PoolHandle {
        &self.ground.pool
    }

    /// What can be read of everything.
    pub fn views(&self) -> &Views {
        &self.ground.views
    }

    /// Who tells what runs do.
    pub fn bus(&self) -> &Bus {
        &self.ground.bus
    }

    /// What a slot changes since its branch left the project's own.
    pub async fn changes(&self, slot: SlotId) -> Result<GitDiff, WorktreeError> {
        let SupervisorContext { slots, base, .. } = &*self.ground;
        let base = base.clone();
        let look = Lane::Look(slot);
        let diff =
            async move |slots: WorktreeSlots| slots.diff(slot, &base, DiffLimits::default()).await;
        slots.apart(look, "the diff of a worktree", diff).await
    }

    /// What the HTTP door is given.
    pub fn context(
        &self,
        access: api::Access,
        code: api::Code,
        closing: CancellationToken,
    ) -> api::ApiContext {
        let SupervisorContext { git, slots, base, settings, views, bus, pool, .. } = &*self.ground;
        let SupervisorContext { home, program, environment, .. } = &*self.ground;
        let name = git.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
        api::ApiContext {
            watch: WatchContext {
                pool: pool.clone(),
                views: views.clone(),
                bus: bus.clone(),
                git: git.clone(),
                slots: slots.clone(),
                base_branch: base.clone(),
                checked: diagnostics::DiagnosticContext {
                    repo: Ok(git.root().to_owned()),
                    state: Ok(home.path().to_owned()),
                    environment: environment.clone(),
                    git_env: git_env(environment),
                },
                clock: now_ms,
                closing,
            },
            name,
            build: home::build_of(program),
            project: settings.watch(),
            settings: settings.clone(),
            access,
            code,
            site: WebFiles::default(),
        }
    }

    /// Waits until the pool breaks, and says why; as long as it does not, it waits.
    pub async fn broken(&self) -> String {
        let mut facts = self.ground.pool.facts();
        // The facts end with the loop.
        while facts.changed().await.is_ok() {}
        match self.ground.pool.broken() {
            Some(why) => format!(
                "the journal could not be written: {why}\nWhat was not written was not acknowledged, and agents keep working; check \
                 the disk, then start the server again"
            ),
            None => "the pool has ended".to_owned(),
        }
    }

    /// The runs that have a runner, or should have one.
    pub async fn live(&self) -> Vec<RunId> {
        adopted(&self.ground.pool).await
    }

    /// Lets go of everything. Runners go on; the next server adopts them.
    pub async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let Self { ground, thread, .. } = self;
        ground.pool.close().await;
        drop(ground);
        // The loop ends when the last handle on it is gone.
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(ended, Ok(Ok(()))) {
            error!("the pool did not end by itself");
        }
    }
}

/// Allow rules that beat a wider ask rule. Versions before this order asked there, so the person is told once.
fn loosened(project: &ProjectConfig) -> Vec<String> {
    let mut notices = Vec::new();
    for agent in &project.agents {
        for (allow, ask) in agent.rules.loosened() {
            notices.push(format!(
                "Agent {}: allow `{allow}` is more specific than ask `{ask}`, so it runs without asking. Earlier versions \
                 asked. To be asked, remove it from `allow`.",
                agent.name
            ));
        }
    }
    notices
}

impl SupervisorContext {
    async fn log_adopted(&self, run: RunId) {
        let plan = self.pool.inspect(move |state| state.runs.get(&run).map(|run| run.plan.clone()));
        if let Ok(Some(plan)) = plan.await {
            info!(run.id = %run, story.id = %plan.story, agent = %plan.agent, "run adopted");
        }
    }

    /// Ends the runs that came with a state directory from elsewhere: they are not started again by themselves, because
    /// their agents may still be at work where they were.
    async fn end_all(&self) {
        let under_way = self.pool.inspect(|state| {
            let runs = state.runs.iter().filter(|(_, run)| run.phase != RunPhase::Queued);
            runs.map(|(id, _)| *id).collect::<Vec<_>>()
        });
        for run in under_way.await.unwrap_or_default() {
            let id = format!("c{}", Uuid::now_v7().simple());
            if let Ok(id) = CommandId::parse(&id) {
                // A pool that is gone takes the server with it; a refusal is in the log.
                let stop = Wish::Stop { run: RunName::Id(run) };
                let _gone = self.pool.command(stop, id, Actor::POOL, None).await;
            }
        }
    }
}

/// Takes out of git's register what a crash or a person has removed from the disk, and undoes a merge that a crash has
/// left half done. Nobody waits for it: what an agent may have put into its worktree is looked at here.
async fn tidy(ground: Arc<SupervisorContext>) {
    let known = ground.pool.inspect(|state| state.slots.keys().copied().collect::<Vec<_>>());
    let known = known.await.unwrap_or_default();
    let tidied =
        ground.slots.apart(Lane::Repository, "tidying the worktrees", async move |slots| {
            slots.git().undo_dead_merge().await?;
            // What is missing or half made is made anew when it is next prepared.
            slots.reconcile(&known).await
        });
    let tidied: Result<_, WorktreeError> = tidied.await;
    if let Err(error) = tidied {
        warn!(cause = %error, "worktrees could not be looked over");
    }
}

/// How often the journal is looked for while nobody wants anything.
const STILL_THERE: Duration = Duration::from_secs(2);

/// Notices that somebody has deleted or moved the state directory, also when nothing is to be written: whoever commits looks
/// whether the journal is still there, and an empty round is one too.
async fn watch_journal(ground: Arc<SupervisorContext>) {
    while ground.pool.inspect(|_| ()).await.is_ok() {
        tokio::time::sleep(STILL_THERE).await;
    }
}

/// How often the calendar is looked at.
const CALENDAR_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Looks at the queue again when a day begins: what waited for money has some.
async fn each_day(ground: Arc<SupervisorContext>) {
    let mut today = now_ms().div_euclid(DAY_MS);
    loop {
        // A machine that sleeps at midnight wakes up to the right day.
        tokio::time::sleep(CALENDAR_CHECK_INTERVAL).await;
        let day = now_ms().div_euclid(DAY_MS);
        if day != std::mem::replace(&mut today, day)
            && let Err(error) = ground.settings.enforce(&ground.pool).await
        {
            return debug!(cause = %error, "the pool is gone, so no day begins");
        }
    }
}

/// The runs whose logs must be read on.
async fn adopted(pool: &PoolHandle) -> Vec<RunId> {
    let live = pool.inspect(|state| {
        let begun = |phase: &RunPhase| match phase {
            RunPhase::Live { .. } | RunPhase::Closing { .. } => true,
            RunPhase::Queued
            | RunPhase::Preparing { .. }
            | RunPhase::Starting { .. }
            | RunPhase::Finishing { .. } => false,
        };
        let runs = state.runs.iter().filter(|(_, run)| begun(&run.phase));
        runs.map(|(id, _)| *id).collect()
    });
    live.await.unwrap_or_default()
}

/// The branch that stories start from, which is there.
async fn base_branch(git: &Git, project: &ProjectConfig) -> Result<Branch, ServeError> {
    let Some(name) = &project.base_branch else {
        let base = git.default_branch().await?;
        git.resolve(&base).await?;
        return Ok(base);
    };
    let unusable =
        |why: String| ServeError::Project { what: format!("the base branch {name}"), why };
    let base = Branch::new(name.clone()).map_err(|error| unusable(error.to_string()))?;
    match git.resolve(&base).await {
        Ok(_) => Ok(base),
        Err(error @ GitError::NoBranch { .. }) => Err(unusable(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

fn paths(what: &str, paths: &[PathBuf]) -> Result<Vec<RelPath>, ServeError> {
    let path = |path: &PathBuf| {
        let text = path.to_string_lossy();
        RelPath::new(text.clone()).map_err(|error| ServeError::Project {
            what: format!("{text} under [worktree] {what}"),
            why: error.to_string(),
        })
    };
    paths.iter().map(path).collect()
}

/// What git may see of the server's environment.
pub(crate) fn git_env(environment: &Environment) -> GitEnv {
    let names = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
    ];
    let given = |name: &str| Some((name.into(), environment.get(name)?.to_owned()));
    GitEnv::new(names.into_iter().filter_map(given))
}
