//! `musher serve`: the server of one project, until it is told to end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use musher_runtime::Environment;
use serde_json::json;

use super::http_listener::{self, BoundPort, EarlierPort, Web, broken, refused};
use super::signals::Signals;
use super::{CliError, CliExit, tell};
use crate::config::trust::{self, TrustState};
use crate::config::{self, ProjectConfig};
use crate::home::{self, Home};
use crate::journal::Claim;
use crate::logging::{LogFormat, SAID_IN_WORDS, ServerLog};
use crate::runner::RunLogs;
use crate::runner::launch;
use crate::supervisor::{self, Supervisor};
use crate::{runtimes, secrets};
use musher_os::fail;

/// Serves one project.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The address to listen on; port 0 takes a free one [default: from the project file].
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Use another state directory.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// A folder in the repository.
    #[arg(short = 'C', long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// Print one line of JSON when it is ready, and nothing else but the log on standard error.
    #[arg(long)]
    json: bool,
    /// How log lines are written; RUST_LOG chooses which (default: warn,musher=info).
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Take over a state directory that was moved, copied or restored, under a new id.
    #[arg(long)]
    moved: bool,
    #[command(flatten)]
    web: Web,
    /// Die at a named point, as by a kill.
    #[arg(long, hide = true, value_name = "POINT")]
    die_at: Option<String>,
    /// Break at a named point, as by a bug.
    #[arg(long, hide = true, value_name = "POINT")]
    break_at: Option<String>,
}

impl Serve {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        fail::die_at(self.die_at.clone());
        fail::break_at(self.break_at.clone());
        let signals = Signals::heed();
        launch::open_many_files();
        let config = self.config()?;
        let (home, project) = (config.home.clone(), config.project.clone());
        let _log = self.log(&home, &config.environment)?;
        let ended = self.serve(config, home, project, signals).await;
        if let Err(error) = &ended {
            tracing::error!(target: SAID_IN_WORDS, cause = %error, "server failed");
        }
        ended
    }

    async fn serve(
        &self,
        config: supervisor::Config,
        home: Home,
        project: ProjectConfig,
        mut signals: Signals,
    ) -> Result<CliExit, CliError> {
        let found = match self.listen {
            Some(at) => EarlierPort { listener: http_listener::listen(at).await?, notice: None },
            None => http_listener::listen_again(project.server.listen, &home).await?,
        };
        let started = tokio::select! {
            started = Supervisor::start(config) => started,
            // Somebody has lost patience before it was ready, and nothing was begun.
            () = signals.told_to_end() => return Ok(CliExit::Completed),
        };
        let supervisor =
            started.map_err(|error| CliError::hinted(error.to_string(), error.hint()))?;
        let origins = &project.server.origins;
        let door = BoundPort::open(found.listener, &supervisor, &home, origins, self.web.site())?;
        let latch = door.latch();
        if let Some(notice) = &found.notice {
            tracing::warn!(target: SAID_IN_WORDS, notice, "notice");
            self.tell(notice);
        }
        for notice in supervisor.notices() {
            tracing::warn!(target: SAID_IN_WORDS, notice, "notice");
        }
        let live = supervisor.live().await.len();
        tracing::info!(
            url = door.url(),
            pid = std::process::id(),
            version = env!("CARGO_PKG_VERSION"),
            state = %home.path().display(),
            runs = live,
            "server started"
        );
        self.say_ready(&door, home.path(), live, supervisor.notices());
        let watched = async {
            let why = tokio::select! {
                why = supervisor.broken() => Some(why),
                () = signals.told_to_end() => None,
            };
            latch.close();
            why
        };
        let (ended, why) = tokio::join!(door.serve(), watched);
        ended?;
        let live = supervisor.live().await.len();
        supervisor.end().await;
        match why {
            Some(why) => Err(CliError::Unavailable(why)),
            None => {
                tracing::info!(runs = live, "server ended");
                self.say_ended(live);
                Ok(CliExit::Completed)
            }
        }
    }

    fn log(&self, home: &Home, environment: &Environment) -> Result<ServerLog, CliError> {
        let filter = environment.get("RUST_LOG").map(|filter| filter.to_string_lossy());
        let token = home.token().map_err(|error| refused(&error))?;
        let secrets =
            secrets::of_runs(environment, Some(token.as_str()), &RunLogs::new(home.runs()), &[]);
        ServerLog::start(self.log_format, filter.as_deref(), home.path(), secrets).map_err(
            |error| {
                CliError::hinted(
                    error.to_string(),
                    "leave RUST_LOG out, or set it as in RUST_LOG=info",
                )
            },
        )
    }

    /// Says something to the person at the terminal, unless a program reads it as the log.
    fn tell(&self, words: &str) {
        if self.log_format == LogFormat::Text {
            tell(words);
        }
    }

    fn config(&self) -> Result<supervisor::Config, CliError> {
        let environment = Environment::of_this_process();
        let repo = home::repository_around(&self.repo).map_err(|error| refused(&error))?;
        let project = config::load(&repo, runtimes::built())
            .map_err(|errors| CliError::user(errors.to_string()))?;
        let state = match &self.state {
            Some(state) => state.clone(),
            None => {
                let variable = |name| environment.get(name);
                home::default_for(&repo, variable("XDG_STATE_HOME"), variable("HOME"))
                    .map_err(|error| refused(&error))?
            }
        };
        let home = Home::open(&state, &repo).map_err(|error| refused(&error))?;
        check_trust(&home, &project)?;
        let program = std::env::current_exe().map_err(|error| broken(&error))?;
        let runner_vars = Vec::new();
        let claim = if self.moved { Claim::Moved } else { Claim::Same };
        Ok(supervisor::Config { repo, home, project, program, environment, runner_vars, claim })
    }

    fn say_ready(&self, door: &BoundPort, state: &Path, live: usize, notices: &[String]) {
        if self.json {
            let pid = std::process::id();
            let mut ready = json!({ "url": door.url(), "state": state, "pid": pid, "runs": live });
            if !notices.is_empty() {
                ready["notices"] = json!(notices);
            }
            anstream::println!("{ready}");
            return;
        }
        anstream::println!("Musher listens at {}", door.link());
        self.tell(&format!("State directory: {}", state.display()));
        notices.iter().for_each(|notice| self.tell(notice));
        match live {
            0 => {}
            1 => self.tell("1 run continues."),
            live => self.tell(&format!("{live} runs continue.")),
        }
        self.tell("Ctrl-C stops the server; agents keep working.");
    }

    fn say_ended(&self, live: usize) {
        let rest = "`musher serve` takes up again where it was, `musher kill --all` ends it.";
        match live {
            0 => self.tell("The server has ended; no agent was at work."),
            1 => self.tell(&format!("The server has stopped; 1 agent keeps working. {rest}")),
            live => {
                self.tell(&format!("The server has stopped; {live} agents keep working. {rest}"));
            }
        }
    }
}

/// What the project file can make this machine do must be known to the person before it is done.
fn check_trust(home: &Home, project: &ProjectConfig) -> Result<(), CliError> {
    let trust = trust::trusted(home.path(), project)
        .map_err(|error| CliError::hinted(error.to_string(), "run `musher trust`"))?;
    match trust {
        TrustState::Trusted => Ok(()),
        TrustState::New => Err(CliError::hinted(
            "the project file can run commands, and nobody has said that it may",
            "read it, then run `musher trust`",
        )),
        TrustState::Changed { diff } => Err(CliError::hinted(
            format!(
                "the project file may do other things than it was trusted with:\n{}",
                diff.join("\n")
            ),
            "read the changes, then run `musher trust`",
        )),
    }
}
