//! The HTTP door: requests become wishes to the pool, views become replies. It holds no rules.
//!
//! | part | what it does |
//! |---|---|
//! | `access`, `body`, `bounds` | Who may come in, what they bring, and how many at once. |
//! | `file_diff` | The changes of a file, as several routes tell them. |
//! | `request_log` | What the log tells of requests. |
//! | `request`, `problem` | How requests are read, and what is told when one fails. |
//! | `command` | How a wish is sent to the pool and waited for. |
//! | `sse`, `tail`, `place`, `follow` | How a run's log reaches those who follow it. |
//! | `headline`, `news`, `vector` | How facts reach the feeds, and what they touched. |
//! | `activity`, `lines` | What live runs are at, and what runs have changed, while somebody looks. |
//! | `programs`, `memory` | What was last seen of programs and processes, so that looking costs little. |
//! | a file named after a verb or a view | One route, or two that belong together. |
//!
//! `routes` holds the one table: the router and the document at `/openapi.json` both come from it.

mod access;
mod activity;
mod add;
mod agents;
mod answer;
mod archive;
mod asks;
mod body;
mod bounds;
mod browser;
mod cap;
mod change;
mod checks;
mod code;
mod command;
mod conflicts;
mod diff;
mod document;
mod done;
mod edit;
mod events;
mod export;
mod feed;
mod file_diff;
mod follow;
mod fork;
mod grant;
mod headline;
mod health;
mod interrupt;
mod kill;
mod lines;
mod link;
mod local;
mod mcp;
mod memory;
mod merge;

mod news;
mod notices;
mod outline;
mod page;
mod place;
mod problem;
mod programs;
mod project;
mod project_file;
mod project_files;
mod prompt;
mod raw;
mod reload;
mod reopen;
mod request;
mod request_log;
mod resume;
mod retry;
mod revoke;
mod routes;
mod runs;
mod scopes;
mod search;
mod secrets;
mod serve;
mod sse;
mod start;
mod steer;
mod stop;
mod stories;
mod stream;
mod tail;
mod take_back;
mod token;
mod tokens;
mod usage;
mod vector;

use std::ops::Deref;
use std::sync::Arc;

use axum::http::StatusCode;
use musher_core::RunId;
use musher_web::WebFiles;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bus::Bus;
use crate::config::ProjectConfig;
use crate::journal::{JournalError, RunView, StoryPhase, Views};
use crate::pool::{PoolHandle, RunName};
use crate::settings::ServerSettings;
use musher_git::worktree::WorktreeSlots;
use musher_git::{Branch, Git};

pub use access::Access;
pub(crate) use asks::ask_digest;
pub use bounds::{REQUESTS, STREAMS};
pub use code::Code;
pub use page::PAGES;
pub use problem::ProblemReply;
pub use routes::{openapi, router};
pub use serve::serve;

/// What the door is given.
#[derive(Debug)]
pub struct ApiContext {
    pub pool: PoolHandle,
    pub views: Views,
    pub bus: Bus,
    /// What the project is called.
    pub name: String,
    /// What tells this build of the server from others.
    pub build: String,
    pub git: Git,
    pub slots: WorktreeSlots,
    /// The branch that stories start from and are merged into.
    pub base_branch: Branch,
    /// The project file as it is in force.
    pub project: watch::Receiver<Arc<ProjectConfig>>,
    /// What is looked at for the checks.
    pub checked: crate::diagnostics::DiagnosticContext,
    /// What is in force, and how that is changed.
    pub settings: Arc<ServerSettings>,
    pub access: Access,
    /// What the page that `serve` opens exchanges for the token.
    pub code: Code,
    /// The files of the web UI.
    pub site: WebFiles,
    /// Unix milliseconds.
    pub clock: fn() -> i64,
    /// Streams end when this does.
    pub closing: CancellationToken,
}

/// What every route holds.
#[derive(Debug, Clone)]
struct Api(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    context: ApiContext,
    tails: tail::Tails,
    news: news::SharedNews,
    programs: programs::Programs,
    memory: memory::Memory,
    lines: lines::LineCounts,
    conflicts: conflicts::Conflicts,
    activities: activity::Activities,
    outlines: outline::Outlines,
    /// What goes on when the one who asked has left.
    tasks: TaskTracker,
    streams: Arc<Semaphore>,
    /// What is served at `/openapi.json`.
    document: String,
}

impl Deref for Api {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Deref for Shared {
    type Target = ApiContext;

    fn deref(&self) -> &ApiContext {
        &self.context
    }
}

impl Api {
    fn new(context: ApiContext, document: String) -> Self {
        let streams = Arc::new(Semaphore::new(STREAMS));
        Self(Arc::new(Shared {
            context,
            tails: tail::Tails::default(),
            news: news::SharedNews::default(),
            programs: programs::Programs::default(),
            memory: memory::Memory::default(),
            lines: lines::LineCounts::default(),
            conflicts: conflicts::Conflicts::default(),
            activities: activity::Activities::default(),
            outlines: outline::Outlines::default(),
            tasks: TaskTracker::new(),
            streams,
            document,
        }))
    }

    /// Does something that blocks, on a thread that may.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ProblemReply> {
        tokio::task::spawn_blocking(work).await.map_err(|_| ProblemReply::internal())
    }

    /// Reads a view.
    async fn view<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Views) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, ProblemReply> {
        let views = self.views.clone();
        Ok(self.blocking(move || read(&views)).await??)
    }

    /// The run that a name stands for.
    async fn run(&self, name: &RunName) -> Result<RunView, ProblemReply> {
        let wanted = name.clone();
        let found = self.view(move |views| match wanted {
            RunName::Id(run) => views.run(run),
            RunName::Latest { story, agent } => views.latest_run(&story, agent.as_ref()),
        });
        match found.await? {
            Some(run) => Ok(run),
            None => Err(self.why_no_run(name).await?),
        }
    }

    /// Why a name stands for no run: there is no such story, or nobody has worked on it.
    async fn why_no_run(&self, name: &RunName) -> Result<ProblemReply, ProblemReply> {
        let RunName::Latest { story, .. } = name else {
            return Ok(ProblemReply::no_such_run(name));
        };
        let wanted = story.clone();
        let found = self.view(move |views| views.story(&wanted)).await?;
        Ok(match found.map(|whole| whole.story) {
            None => ProblemReply::no_such_run_or_story(story),
            Some(story) if story.state == StoryPhase::Archived => ProblemReply::new(
                StatusCode::NOT_FOUND,
                "no_such_run",
                format!("story {} is archived, and has no run of that name", story.id),
                "add a new story for more work with `musher story add`",
            ),
            Some(_) => ProblemReply::no_such_run(name),
        })
    }

    /// Whether a run is over; one that does not exist is not waited for.
    async fn is_over(&self, run: RunId) -> bool {
        match self.view(move |views| views.run(run)).await {
            Ok(found) => found.is_none_or(|run| run.ended_at.is_some()),
            // It will be looked at again.
            Err(_) => false,
        }
    }
}
