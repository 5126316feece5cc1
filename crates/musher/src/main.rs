//! The `musher` command: drives a team of coding agents.

use std::process::ExitCode;

fn main() -> ExitCode {
    musher::cli::main()
}
