//! The command line: one verb, one file.

mod demo;
mod exit;
mod render;
mod run;
mod terminal;
mod text;

use clap::{Parser, Subcommand};

pub(crate) use exit::{CliError, Exit};
pub(crate) use terminal::tell;

/// Drives a team of coding agents.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
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
}

impl Cli {
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        match self.verb {
            Verb::Run(run) => run.run().await,
            Verb::Demo(demo) => demo.run().await,
        }
    }
}
