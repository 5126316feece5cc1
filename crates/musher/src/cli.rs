//! The command line: one verb, one file.

mod demo;
mod exit;
mod render;
mod run;
mod runner;
mod serve;
mod terminal;
mod text;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::{CliError, Exit};
use terminal::tell;
use tokio::runtime::Builder;

/// Drives a team of coding agents.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const EXIT_CODES: &str = "\
Exit codes: 0 completed, 1 a bug in Musher, 2 something to correct in the command or its files, 3 failed or lost, \
4 stopped or interrupted, 5 ended by a limit, 6 a program or server is missing.";

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one, and it is made once")]
enum Verb {
    /// Run one agent on one prompt in this folder, without a server.
    Run(run::Run),
    /// Watch a scripted agent do a short, real piece of work; no key and no network needed.
    Demo(demo::Demo),
    /// Serve one project: give its stories to agents, record what they do, and answer over HTTP.
    Serve(serve::Serve),
    #[command(hide = true)]
    Runner(runner::Runner),
}

impl Verb {
    /// A runner has one thing to do and there may be a thousand of them, so it has one thread.
    fn runtime(&self) -> Builder {
        match self {
            Self::Runner(_) => Builder::new_current_thread(),
            Self::Run(_) | Self::Demo(_) | Self::Serve(_) => {
                let mut builder = Builder::new_multi_thread();
                builder.worker_threads(2);
                builder
            }
        }
    }
}

impl Cli {
    async fn run(self) -> Result<Exit, CliError> {
        match self.verb {
            Verb::Run(run) => run.run().await,
            Verb::Demo(demo) => demo.run().await,
            Verb::Serve(serve) => serve.run().await,
            Verb::Runner(runner) => runner.run().await,
        }
    }
}

/// Runs the verb that the command line names and gives the exit code that tells how it went.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // Orphans of our agents come to us instead of vanishing out of reach. Without it the mark still finds most.
    let _unsupported = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let runtime = match cli.verb.runtime().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tell(&format!("error: the machine gave no threads to work with: {error}"));
            return Exit::Unavailable.into();
        }
    };
    match runtime.block_on(cli.run()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            error.print();
            error.exit().into()
        }
    }
}
