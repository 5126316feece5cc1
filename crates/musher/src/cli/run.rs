//! `musher run`: one agent on one prompt in this folder.

pub(crate) mod answer;
mod host;
mod prompt;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use musher_core::{SessionId, ToolRules, Usd};
use musher_runtime::{
    AskPolicy, Containment, Environment, Host, ProjectFile, ProjectTrust, ResumeFrom, RunLimits,
    SessionSpec, Snapshot, Sweep, SystemPrompt,
};

use super::render::{JsonRenderer, People, View};
use super::run_options::RunOptionArgs;
use super::{CliError, CliExit, terminal};
use crate::config::trust::AcceptedFiles;
use crate::home;
use crate::runner::Alone;
use crate::runner::hints::HOW_TO_AGREE;
use crate::runtimes;

pub(crate) use host::host;

/// What to run, where, and within which bounds.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What the agent should do; `-` or nothing reads it from standard input.
    prompt: Option<String>,
    /// Read the prompt from a file.
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with = "prompt")]
    file: Option<PathBuf>,
    /// The runtime to use.
    #[arg(short, long, default_value = "claude-code", value_name = "NAME")]
    runtime: String,
    /// The program to run instead of the one on PATH; for `script`, the script to play.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// The folder to work in.
    #[arg(short = 'C', long, default_value = ".", value_name = "DIR")]
    cwd: PathBuf,
    /// Set an environment variable for the agent; without a value, pass on the current one.
    #[arg(short, long = "env", value_name = "KEY[=VALUE]")]
    env: Vec<String>,
    /// The model to use.
    #[arg(short, long)]
    model: Option<String>,
    /// The wire format, for runtimes that speak to a model themselves and know several, such as `chat`.
    #[arg(long, value_name = "NAME")]
    wire: Option<String>,
    /// Continue an earlier session.
    #[arg(long, value_name = "SESSION")]
    resume: Option<String>,
    /// Continue in a copy, and leave that session as it is.
    #[arg(long, requires = "resume")]
    fork: bool,
    /// Continue from the end of this turn of that session; 0 is its beginning. Not every runtime can.
    #[arg(long, value_name = "N", requires = "resume")]
    turn: Option<u32>,
    /// End after this many model calls.
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,
    /// End at this cost in dollars.
    #[arg(long, value_name = "USD", value_parser = budget)]
    budget: Option<Usd>,
    /// End after this much time, such as `90s`, `10m` or `1h30m`.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// End after this much silence within a turn (default 15m; `off` for no limit).
    #[arg(long, value_name = "TIME", value_parser = silence)]
    inactivity: Option<Silence>,
    /// Deny approvals and questions that wait for longer than this.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ask_deadline: Option<Duration>,
    #[command(flatten)]
    options: RunOptionArgs,
    /// Trust the folder's own settings, such as hooks and tool servers.
    #[arg(long)]
    trust_files: bool,
    /// Print events as lines of JSON and nothing else.
    #[arg(long)]
    json: bool,
}

impl RunArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let environment = self.environment()?;
        let runtime = runtimes::find(&self.runtime, &environment)
            .map_err(|error| CliError::hinted(error.to_string(), error.hint()))?;
        let attended = !self.json && terminal::can_ask() && !self.reads_stdin();
        let options = self.options.read()?;
        let prompt = prompt::read(self.prompt.clone(), self.file.as_deref(), &options.set)?;
        if options.effort.is_some() && !runtime.capabilities().effort {
            return Err(CliError::hinted(
                format!("the runtime `{}` takes no --effort", self.runtime),
                "leave it out, or use another runtime",
            ));
        }
        let sessions = runtimes::sessions(&environment);
        let project = self.project(runtime.project_files(), &environment);
        let mut spec = SessionSpec::new(prompt.clone(), self.cwd.clone(), environment);
        spec.session_dir = sessions;
        spec.project = project;
        spec.protected = runtimes::executed_anywhere(&[]);
        spec.model = self.model;
        spec.model_options.wire = self.wire;
        spec.program = self.program.map(absolute);
        spec.rules = options.rules(&ToolRules::default());
        spec.permission_mode = options.mode;
        spec.model_options.effort = options.effort;
        spec.system_prompt = options.system_prompt.map(SystemPrompt::Append);
        spec.limits = RunLimits {
            max_turns: self.max_turns,
            budget: self.budget,
            inactivity: self.inactivity.unwrap_or_default().0,
            wall_clock: self.timeout,
        };
        spec.asks = match attended {
            true => AskPolicy::Wait { deadline: self.ask_deadline, default: Default::default() },
            false => AskPolicy::Deny,
        };
        spec.resume = self.resume.map(|session| ResumeFrom {
            fork: self.fork,
            turn: self.turn,
            fresh_prompt: Some(prompt),
            ..ResumeFrom::of(SessionId::new(session))
        });
        spec.containment = Containment { host: Host::Dedicated, sweep: Sweep::Tree };
        let tools = Alone::new(&spec.prompt).and_then(|tools| {
            tools.offer(&mut spec)?;
            Ok(tools)
        });
        let tools = tools.map_err(|error| {
            let message = format!("the tools of the agent's own run cannot be served: {error}");
            CliError::hinted(message, "see that TMPDIR names a folder in which you can write")
        })?;
        let view: Box<dyn View> =
            if self.json { Box::new(JsonRenderer::default()) } else { Box::new(People::default()) };
        Ok(host(runtime.as_ref(), spec, tools, view).await)
    }

    /// What is agreed to of the files in the folder: all as they are now, or what `musher trust` agreed to there.
    fn project(&self, files: &[ProjectFile], environment: &Environment) -> ProjectTrust {
        let trusted = match self.trust_files {
            true => Snapshot::of_folder(&self.cwd, files).into_iter().collect(),
            false => {
                let variable = |name| environment.get(name);
                let state = home::repository_around(&self.cwd).ok().and_then(|repo| {
                    home::default_for(&repo, variable("XDG_STATE_HOME"), variable("HOME")).ok()
                });
                let accepted = state.and_then(|state| AcceptedFiles::read(&state).ok());
                accepted.unwrap_or_default().states.iter().map(|it| it.only(files)).collect()
            }
        };
        let how_to_agree = Some(HOW_TO_AGREE.to_owned());
        ProjectTrust { base: Snapshot::default(), trusted, how_to_agree }
    }

    fn reads_stdin(&self) -> bool {
        self.file.is_none() && self.prompt.as_deref().is_none_or(|prompt| prompt == "-")
    }

    fn environment(&self) -> Result<Environment, CliError> {
        let mut environment = Environment::of_this_process();
        for entry in &self.env {
            environment = match entry.split_once('=') {
                Some(("", _)) => {
                    return Err(CliError::hinted(
                        format!("--env {entry} has no name"),
                        "write KEY=VALUE",
                    ));
                }
                Some((name, value)) => environment.set(name, value),
                None if environment.get(entry).is_some() => environment.pass(entry),
                None => {
                    return Err(CliError::hinted(
                        format!("--env {entry}: {entry} is not set here"),
                        format!("set it first, or give a value with --env {entry}=VALUE"),
                    ));
                }
            };
        }
        Ok(environment)
    }
}

/// A path as seen from here; the agent starts in another folder.
fn absolute(path: PathBuf) -> PathBuf {
    // A bare name is looked up on PATH, as a shell does.
    if path.components().count() == 1 && !path.exists() {
        return path;
    }
    std::path::absolute(&path).unwrap_or(path)
}

fn budget(text: &str) -> Result<Usd, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(dollars) if dollars > 0.0 && dollars.is_finite() => Ok(Usd::from_dollars(dollars)),
        Ok(_) => Err("give an amount above 0".into()),
        Err(_) => Err("give an amount of dollars such as 2.50".into()),
    }
}

/// How long an agent may be silent; nothing is no limit.
#[derive(Debug, Clone, Copy)]
struct Silence(Option<Duration>);

impl Default for Silence {
    fn default() -> Self {
        Self(RunLimits::default().inactivity)
    }
}

fn silence(text: &str) -> Result<Silence, String> {
    match text {
        "off" => Ok(Silence(None)),
        _ => duration(text).map(|time| Silence(Some(time))),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "give a time such as 90s, 10m or 1h30m".to_owned();
    let parsed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    let time = Duration::try_from(parsed).map_err(|_| wrong())?;
    if time.is_zero() { Err("give a time above 0".into()) } else { Ok(time) }
}
