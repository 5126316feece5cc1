//! `musher runner`, hidden: hosts the one run whose folder it is given.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use musher_os::tuning::act_promptly;
use musher_runtime::{Environment, now_ms};

use super::{CliError, CliExit};
use crate::logging;
use crate::runner::{self, launch};

/// Hosts one run; the server starts it.
#[derive(Debug, Args)]
pub struct RunnerArgs {
    /// The run's folder.
    folder: PathBuf,
}

impl RunnerArgs {
    /// The runner that arguments ask for, if they are just those by which a server starts one.
    pub fn among(args: impl Iterator<Item = OsString>) -> Option<Self> {
        let args: Vec<OsString> = args.skip(1).take(3).collect();
        let [verb, folder] = &args[..] else { return None };
        // A folder has its whole path, so that it is no option.
        (verb == "runner" && Path::new(folder).is_absolute())
            .then(|| Self { folder: folder.into() })
    }

    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        // The terminal of whoever started the server must not reach the run.
        let _already_its_own = rustix::process::setsid();
        logging::start_in_runner();
        // What it does is short, and the agent's words are not to wait until others have had a long turn. A kernel that does
        // not grant it gives the usual one.
        let _usual = act_promptly();
        let ready = || {
            let mut out = std::io::stdout();
            // A server that is gone does not need to hear it, and the run goes on.
            let _gone = out.write_all(launch::READY.as_bytes()).and_then(|()| out.flush());
        };
        // Not as a task: whoever looks for its last words when it has let go of its run must find them, so that nothing may
        // come between the two.
        runner::host(&self.folder, Environment::of_this_process(), now_ms, ready)
            .await
            .map_err(|error| CliError::Unavailable(error.to_string()))?;
        Ok(CliExit::Completed)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Cli, Verb};
    use super::*;

    fn among(args: &[&str]) -> Option<PathBuf> {
        RunnerArgs::among(args.iter().map(OsString::from)).map(|runner| runner.folder)
    }

    #[test]
    fn a_runner_is_told_from_other_verbs_as_the_whole_command_line_tells_it() {
        let args = ["musher", "runner", "/state/runs/r1"];
        let Verb::Runner(parsed) = Cli::parse_from(args).verb else { panic!("it is a runner") };
        assert_eq!(among(&args), Some(parsed.folder));
        for other in [
            &["musher"][..],
            &["musher", "runner"],
            &["musher", "runner", "--help"],
            &["musher", "runner", "runs/r1"],
            &["musher", "runner", "/state/runs/r1", "/state/runs/r2"],
            &["musher", "runners", "/state/runs/r1"],
            &["musher", "serve", "/state"],
        ] {
            assert_eq!(among(other), None, "{other:?}");
        }
    }
}
