//! The `musher` command: drives a team of coding agents.

use std::process::ExitCode;

use musher::cli::{self, RunnerArgs};

fn main() -> ExitCode {
    if let Some(inside) = cli::inside::among(std::env::args_os()) {
        return cli::inside::enter(inside);
    }
    if cli::inside::is_forwarder(std::env::args_os()) {
        return cli::inside::carry_on();
    }
    // There may be a thousand runners, and the whole command line takes more memory than the rest of one.
    match RunnerArgs::among(std::env::args_os()) {
        Some(runner) => cli::host(runner),
        None => cli::any_verb(),
    }
}
