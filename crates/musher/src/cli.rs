//! The command line: one verb, one file.

mod age;
mod agents;
mod answer;
mod approve;
mod ask;
mod asking;
mod asks;
mod cap;
mod demo;
mod deny;
mod diff;
mod doctor;
mod ending;
mod exit;
mod fork;
mod grants;
mod help;
mod http_listener;
mod init;
pub mod inside;
mod interrupt;
mod kill;
mod login;
mod logs;
mod mcp;
mod merge;
mod mode;
mod model;
mod money;
mod network;
mod open;
mod open_ask;
mod out;
mod place;
mod prompt;
mod ps;
mod receipt;
mod render;
mod resume;
mod retry;
mod rules;
mod run;
mod run_name;
mod run_options;
mod runner;
mod runners;
mod serve;
mod show;
mod signals;
mod start;
mod state;
mod steer;
mod stop;
mod story;
mod table;
mod take_back;
mod terminal;
mod text;
mod token;
mod trust;
mod usage;
mod wait;
mod words;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use exit::{CliError, CliExit};
use musher_os::tuning::share_heaps;
pub use runner::RunnerArgs;
use terminal::tell;
use tokio::runtime::Builder;

/// Drives a team of coding agents.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true, after_help = help::AFTER)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run one agent on one prompt in this folder, without a server.
    Run(run::RunArgs),
    /// Watch three scripted agents work; no key and no network needed.
    Demo(demo::Demo),
    /// Serve this project: the web UI, the API and the agents' runs.
    Serve(serve::Serve),
    #[command(hide = true)]
    Runner(RunnerArgs),
    /// Open the web UI in the browser, signed in.
    Open(open::OpenArgs),
    /// Create the project file of this repository.
    Init(init::InitArgs),
    /// Review and trust what the project file may run.
    Trust(trust::TrustArgs),
    /// Sign an agent in to its vendor, inside its sandbox.
    Login(login::LoginArgs),
    /// Add, list and change stories.
    Story(story::StoryArgs),
    /// Start an agent on a story.
    Start(start::StartArgs),
    /// List active runs.
    Ps(ps::Ps),
    /// Show everything about a run.
    Show(show::ShowArgs),
    /// Show a run's transcript; -f follows it.
    Logs(logs::Logs),
    /// Send a message to a run (resumes it if it has ended).
    Prompt(prompt::Prompt),
    /// Withdraw a queued message, or list queued messages.
    TakeBack(take_back::TakeBack),
    /// Send a message into the running turn.
    Steer(steer::Steer),
    /// End the running turn and keep the session.
    Interrupt(interrupt::Interrupt),
    /// Change the model of a live run.
    Model(model::ModelArgs),
    /// Change the permission mode of a live run.
    Mode(mode::ModeArgs),
    /// Stop runs.
    Stop(stop::StopArgs),
    /// Kill runs at once.
    Kill(kill::Kill),
    /// Continue an ended run.
    Resume(resume::ResumeArgs),
    /// Start an ended run again from its prompt.
    Retry(retry::Retry),
    /// Continue a copy of a run in its own worktree.
    Fork(fork::Fork),
    /// List approvals and questions.
    Asks(asks::AsksArgs),
    /// Approve requests.
    Approve(approve::Approve),
    /// Deny requests.
    Deny(deny::Deny),
    /// Answer an agent's questions.
    Answer(answer::AnswerArgs),
    /// List and revoke saved permissions.
    Grants(grants::Grants),
    /// Show which tool rule decides about a call.
    Rules(rules::RulesArgs),
    /// Show or set the daily limit.
    Cap(cap::Cap),
    /// List, add and revoke access tokens.
    Token(token::TokenArgs),
    /// Show what a run changed.
    Diff(diff::DiffArgs),
    /// Merge a story's branch into the base branch.
    Merge(merge::MergeArgs),
    /// Show usage and cost.
    Usage(usage::UsageArgs),
    /// Wait until runs need you or have ended.
    Wait(wait::WaitArgs),
    /// Serve Musher's tools to an assistant over standard input and output (MCP).
    Mcp(mcp::Mcp),
    /// Show the agents on this machine, and what each still needs.
    Agents(agents::AgentsArgs),
    /// Check this machine and project, and suggest fixes.
    Doctor(doctor::DoctorArgs),
}

impl Verb {
    /// Whether an agent hangs on this very process; all others hang on runners.
    fn hosts_an_agent(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Runner(_))
    }

    /// A runner has one thing to do and there may be a thousand of them, so it has one thread.
    fn runtime(&self) -> Builder {
        match self {
            Self::Runner(_) => Builder::new_current_thread(),
            Self::Run(_) | Self::Demo(_) | Self::Serve(_) => {
                // Threads that look at files come and go, and each heap keeps what was once free in it.
                share_heaps();
                let mut builder = Builder::new_multi_thread();
                builder.worker_threads(2);
                builder
            }
            // The rest asks something of a server or of a file, and then prints it.
            Self::Open(_)
            | Self::Init(_)
            | Self::Trust(_)
            | Self::Login(_)
            | Self::Story(_)
            | Self::Start(_)
            | Self::Ps(_)
            | Self::Show(_)
            | Self::Logs(_)
            | Self::Prompt(_)
            | Self::TakeBack(_)
            | Self::Steer(_)
            | Self::Interrupt(_)
            | Self::Model(_)
            | Self::Mode(_)
            | Self::Stop(_)
            | Self::Kill(_)
            | Self::Resume(_)
            | Self::Retry(_)
            | Self::Fork(_)
            | Self::Asks(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::Answer(_)
            | Self::Grants(_)
            | Self::Rules(_)
            | Self::Cap(_)
            | Self::Token(_)
            | Self::Diff(_)
            | Self::Merge(_)
            | Self::Usage(_)
            | Self::Wait(_)
            | Self::Mcp(_)
            | Self::Agents(_)
            | Self::Doctor(_) => Builder::new_current_thread(),
        }
    }
}

/// How long work that nobody waits for may go on when the program ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

// Neither of the two that follow is merged into `main`, for a frame takes all its memory at once.
/// Hosts the run that a runner is for.
#[inline(never)]
pub fn host(runner: RunnerArgs) -> ExitCode {
    work(Builder::new_current_thread(), true, Box::pin(runner.run()))
}

/// Runs the verb that the command line names and gives the exit code that tells how it went.
#[inline(never)]
pub fn any_verb() -> ExitCode {
    let matches = help::grouped(Cli::command()).get_matches();
    let Cli { verb } = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    work(verb.runtime(), verb.hosts_an_agent(), async {
        match verb {
            Verb::Run(run) => run.run().await,
            Verb::Demo(demo) => demo.run().await,
            Verb::Serve(serve) => serve.run().await,
            Verb::Runner(runner) => runner.run().await,
            Verb::Open(open) => open.run().await,
            Verb::Init(init) => init.run().await,
            Verb::Trust(trust) => trust.run().await,
            Verb::Login(login) => login.run().await,
            Verb::Story(story) => story.run().await,
            Verb::Start(start) => start.run().await,
            Verb::Ps(ps) => ps.run().await,
            Verb::Show(show) => show.run().await,
            Verb::Logs(logs) => logs.run().await,
            Verb::Prompt(prompt) => prompt.run().await,
            Verb::TakeBack(take_back) => take_back.run().await,
            Verb::Steer(steer) => steer.run().await,
            Verb::Interrupt(interrupt) => interrupt.run().await,
            Verb::Model(model) => model.run().await,
            Verb::Mode(mode) => mode.run().await,
            Verb::Stop(stop) => stop.run().await,
            Verb::Kill(kill) => kill.run().await,
            Verb::Resume(resume) => resume.run().await,
            Verb::Retry(retry) => retry.run().await,
            Verb::Fork(fork) => fork.run().await,
            Verb::Asks(asks) => asks.run().await,
            Verb::Approve(approve) => approve.run().await,
            Verb::Deny(deny) => deny.run().await,
            Verb::Answer(answer) => answer.run().await,
            Verb::Grants(grants) => grants.run().await,
            Verb::Rules(rules) => rules.run().await,
            Verb::Cap(cap) => cap.run().await,
            Verb::Token(token) => token.run().await,
            Verb::Diff(diff) => diff.run().await,
            Verb::Merge(merge) => merge.run().await,
            Verb::Usage(usage) => usage.run().await,
            Verb::Wait(wait) => wait.run().await,
            Verb::Mcp(mcp) => mcp.run().await,
            Verb::Agents(agents) => agents.run().await,
            Verb::Doctor(doctor) => doctor.run().await,
        }
    })
}

fn work(
    mut builder: Builder,
    hosts_an_agent: bool,
    verb: impl Future<Output = Result<CliExit, CliError>>,
) -> ExitCode {
    if hosts_an_agent {
        // Its orphans come to us instead of vanishing out of reach. Without it the mark still finds most.
        let _unsupported = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tell(&format!("error: the machine gave no threads to work with: {error}"));
            return CliExit::Unavailable.into();
        }
    };
    let code = match runtime.block_on(verb) {
        Ok(exit) => exit.into(),
        Err(error) => {
            error.print();
            error.exit().into()
        }
    };
    // A look at a file that hangs must not hold up the end of the program.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    code
}
