//! A program in a sandbox that a person uses at a terminal, such as the login of a vendor.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

use musher_sandbox::Sandbox;
use rustix::io::FdFlags;

use super::confined::ConfinedProgram;
use super::{Confinement, Environment, RunMark};

/// It has the terminal of this process, and dies with it.
#[derive(Debug)]
pub struct InteractiveProgram {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub environment: Environment,
}

impl InteractiveProgram {
    /// Runs it to its end, in a folder of the sandbox.
    #[expect(clippy::disallowed_methods, reason = "bubblewrap ends it with this process")]
    pub fn run(&self, sandbox: Sandbox, cwd: &Path) -> io::Result<ExitStatus> {
        let confinement = Confinement::of(Arc::new(Sandbox { terminal: true, ..sandbox }));
        let env = self.environment.select(&["TERM", "COLORTERM"], &["NO_COLOR"]);
        let (program, args, mark) = (&self.program, &self.args, &RunMark::new(None));
        let program = ConfinedProgram { program, args, cwd, env: &env, mark };
        let start = confinement.start(&program)?;
        // This process does nothing else meanwhile, so nobody but this program gets the descriptor.
        rustix::io::fcntl_setfd(&start.kept, FdFlags::empty())?;
        std::process::Command::new(&start.program)
            .args(start.args)
            .env_clear()
            .envs(start.env)
            .status()
    }
}
