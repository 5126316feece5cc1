//! The HTTP door: requests become wishes to the pool, views become replies. It holds no rules.
//!
//! | part | what it does |
//! |---|---|
//! | `access`, `body`, `bounds` | Who may come in, what they bring, and how many at once. |
//! | `request`, `problem`, `request_log` | How requests are read, what is told when one fails, and what the log tells. |
//! | `command` | How a wish is sent to the pool and waited for. |
//! | a folder or a file named after a noun | The routes below `/api/v1/NOUN`. |
//!
//! `routes` holds the one table: the router and the document at `/openapi.json` both come from it.

mod access;
mod agents;
mod asks;
mod body;
mod bounds;
mod checks;
mod command;
mod document;
mod feed;
mod health;
mod link;
mod local;
mod mcp;
mod notices;
mod page;
mod problem;
mod project;
mod request;
mod request_log;
mod routes;
mod runs;
mod secrets;
mod serve;
mod sse;
mod stories;
mod token;
mod tokens;
mod usage;

use std::ops::Deref;
use std::sync::Arc;

use axum::http::StatusCode;
use musher_web::WebFiles;
use tokio::sync::{Semaphore, watch};

use crate::config::ProjectConfig;
use crate::journal::{RunView, StoryPhase};
use crate::pool::RunName;
use crate::settings::ServerSettings;
use crate::watch::{Watch, WatchContext};

pub use access::Access;
pub(crate) use asks::ask_digest;
pub use bounds::{REQUESTS, STREAMS};
pub use page::PAGES;
pub use problem::ProblemReply;
pub use routes::{openapi, router};
pub use serve::serve;
pub use token::code::Code;

/// What the door is given.
#[derive(Debug)]
pub struct ApiContext {
    pub watch: WatchContext,
    /// What the project is called.
    pub name: String,
    /// What tells this build of the server from others.
    pub build: String,
    /// The project file as it is in force.
    pub project: watch::Receiver<Arc<ProjectConfig>>,
    /// What is in force, and how that is changed.
    pub settings: Arc<ServerSettings>,
    pub access: Access,
    /// What the page that `serve` opens exchanges for the token.
    pub code: Code,
    /// The files of the web UI.
    pub site: WebFiles,
}

/// What every route holds.
#[derive(Debug, Clone)]
struct Api(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    watch: Watch,
    name: String,
    build: String,
    project: watch::Receiver<Arc<ProjectConfig>>,
    settings: Arc<ServerSettings>,
    access: Access,
    code: Code,
    site: WebFiles,
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
    type Target = Watch;

    fn deref(&self) -> &Watch {
        &self.watch
    }
}

impl Api {
    fn new(context: ApiContext, document: String) -> Self {
        let ApiContext { watch, name, build, project, settings, access, code, site } = context;
        let streams = Arc::new(Semaphore::new(STREAMS));
        let watch = Watch::new(watch);
        Self(Arc::new(Shared {
            watch,
            name,
            build,
            project,
            settings,
            access,
            code,
            site,
            streams,
            document,
        }))
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
}
