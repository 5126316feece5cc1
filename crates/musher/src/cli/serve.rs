//! `musher serve`: the server of one project, until it is told to end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use musher_runtime::Environment;
use musher_web::Site;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{CliError, Exit, tell};
use crate::config::trust::{self, Trust};
use crate::config::{self, Project};
use crate::home::{self, Home, HomeError, ServerFile, Token, Tokens};
use crate::runner::launch;
use crate::supervisor::{self, Supervisor};
use crate::{api, fail, runtimes};

/// Serves one project.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The address to listen on; port 0 takes a free one. Without it, the project file says.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// The directory for journal, runs and worktrees, if it is not the usual one.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// A folder in the repository.
    #[arg(short = 'C', long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// Print one line of JSON when it is ready, and nothing else.
    #[arg(long)]
    json: bool,
    /// Serve the web UI from a folder that its bundler writes, instead of the built-in one.
    #[cfg(debug_assertions)]
    #[arg(long, hide = true, value_name = "DIR")]
    web_dir: Option<PathBuf>,
    /// Die at a named point, as by a kill.
    #[arg(long, hide = true, value_name = "POINT")]
    die_at: Option<String>,
    /// Break at a named point, as by a bug.
    #[arg(long, hide = true, value_name = "POINT")]
    break_at: Option<String>,
}

impl Serve {
    pub(super) async fn run(self) -> Result<Exit, CliError> {
        fail::die_at(self.die_at.clone());
        fail::break_at(self.break_at.clone());
        let mut signals = Signals::heed();
        launch::open_many_files();
        let config = self.config()?;
        let (home, project) = (config.home.clone(), config.project.clone());
        let listen = self.listen.unwrap_or(project.server.listen);
        if !listen.ip().is_loopback() {
            return Err(CliError::hinted(
                format!(
                    "{listen} can be reached from other machines, and nothing would be encrypted"
                ),
                "listen on 127.0.0.1, and come through a tunnel such as `ssh -L`",
            ));
        }
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            CliError::hinted(
                format!("nothing can listen on {listen}: {error}"),
                "end what listens there, or take a free port with --listen 127.0.0.1:0",
            )
        })?;
        let address = listener.local_addr().map_err(|error| broken(&error))?;
        let supervisor = Supervisor::start(config)
            .await
            .map_err(|error| CliError::hinted(error.to_string(), error.hint()))?;
        let (token, code) = (
            home.token().map_err(|error| refused(&error))?,
            Token::mint().map_err(|e| broken(&e))?,
        );
        let closing = CancellationToken::new();
        let tokens = Arc::new(Tokens::open(home.path()).map_err(|error| refused(&error))?);
        let access = api::Access::new(token, tokens, address.port(), &[], &project.server.origins);
        let mut context = supervisor.context(access, api::Code::new(code.clone()), closing.clone());
        context.site = self.site();
        let url = format!("http://{address}");
        home.announce(&ServerFile { url: url.clone(), pid: std::process::id() })
            .map_err(|error| refused(&error))?;
        self.say_ready(&url, &code, home.path(), supervisor.live().await.len());
        let door = api::serve(listener, api::router(context), closing.clone());
        let watched = async {
            let why = tokio::select! {
                why = supervisor.broken() => Some(why),
                () = signals.told_to_end() => None,
            };
            home.retract();
            closing.cancel();
            why
        };
        // The door ends when it is told to, after the replies that are under way.
        let (ended, why) = tokio::join!(door, watched);
        ended.map_err(|error| broken(&error))?;
        let live = supervisor.live().await.len();
        supervisor.end().await;
        match why {
            Some(why) => Err(CliError::Unavailable(why)),
            None => {
                say_ended(live);
                Ok(Exit::Completed)
            }
        }
    }

    fn config(&self) -> Result<supervisor::Config, CliError> {
        let environment = Environment::of_this_process();
        let repo = home::repository_around(&self.repo).map_err(|error| refused(&error))?;
        let project = config::load(&repo, runtimes::BUILT)
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
        Ok(supervisor::Config { repo, home, project, program, environment, runner_vars })
    }

    #[cfg(debug_assertions)]
    fn site(&self) -> Site {
        self.web_dir.clone().map_or(Site::Embedded, Site::Folder)
    }

    #[cfg(not(debug_assertions))]
    fn site(&self) -> Site {
        Site::Embedded
    }

    fn say_ready(&self, url: &str, code: &Token, state: &Path, live: usize) {
        if self.json {
            let pid = std::process::id();
            let ready = json!({ "url": url, "state": state, "pid": pid, "runs": live });
            anstream::println!("{ready}");
            return;
        }
        anstream::println!("Musher listens at {url}/#{}", code.as_str());
        tell(&format!("State directory: {}", state.display()));
        match live {
            0 => {}
            1 => tell("1 run goes on."),
            live => tell(&format!("{live} runs go on.")),
        }
        tell("Ctrl-C ends the server; agents go on without it.");
    }
}

/// What the project file can make this machine do must be known to the person before it is done.
fn check_trust(home: &Home, project: &Project) -> Result<(), CliError> {
    let trust = trust::trusted(home.path(), project)
        .map_err(|error| CliError::hinted(error.to_string(), "run `musher trust`"))?;
    match trust {
        Trust::Trusted => Ok(()),
        Trust::New => Err(CliError::hinted(
            "the project file can run commands, and nobody has said that it may",
            "read it, then run `musher trust`",
        )),
        Trust::Changed { diff } => Err(CliError::hinted(
            format!(
                "the project file may do other things than it was trusted with:\n{}",
                diff.join("\n")
            ),
            "read the changes, then run `musher trust`",
        )),
    }
}

fn say_ended(live: usize) {
    let rest = "`musher serve` takes up again where it was, `musher kill --all` ends it.";
    match live {
        0 => tell("The server has ended; no agent was at work."),
        1 => tell(&format!("The server has ended; 1 agent goes on. {rest}")),
        live => tell(&format!("The server has ended; {live} agents go on. {rest}")),
    }
}

fn refused(error: &HomeError) -> CliError {
    CliError::hinted(error.to_string(), error.hint())
}

fn broken(error: &std::io::Error) -> CliError {
    CliError::Unavailable(error.to_string())
}

/// The signals that a server heeds, from its first moment on.
struct Signals {
    interrupts: Option<Signal>,
    terms: Option<Signal>,
    hangups: Option<Signal>,
    children: Option<Signal>,
}

impl Signals {
    fn heed() -> Self {
        Self {
            interrupts: signal(SignalKind::interrupt()).ok(),
            terms: signal(SignalKind::terminate()).ok(),
            hangups: signal(SignalKind::hangup()).ok(),
            children: signal(SignalKind::child()).ok(),
        }
    }

    /// Waits until somebody wants the server to end, and takes in runners that have ended meanwhile.
    async fn told_to_end(&mut self) {
        loop {
            tokio::select! {
                () = next(&mut self.interrupts) => return,
                () = next(&mut self.terms) => return,
                () = next(&mut self.hangups) => return,
                () = next(&mut self.children) => launch::reap(),
            }
        }
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
