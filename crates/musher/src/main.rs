//! The `musher` command: drives a team of coding agents.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    // Orphans of our agents come to us instead of vanishing out of reach. Without it the mark still finds most.
    let _unsupported = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                cli::tell(&format!("error: the machine gave no threads to work with: {error}"));
                return cli::Exit::Unavailable.into();
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
