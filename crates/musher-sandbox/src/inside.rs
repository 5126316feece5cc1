//! The last step before the program: what namespaces leave open is taken away, and the process becomes the program.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use landlock::{Ruleset, RulesetAttr, Scope};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::{filter, forward};

/// Descriptors from here on are none of the program's business.
const FIRST_FOREIGN_FD: libc::c_uint = 3;

/// What the helper is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsideOptions {
    /// Namespaces may be made inside.
    pub nested: bool,
    /// How many processes and threads there may be at the same time.
    pub processes: Option<u64>,
    /// Connections go through the proxy of the runner.
    pub proxy: bool,
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// Gives up what the program must not have, and becomes it. It returns only with the reason why that could not be.
pub fn become_program(options: InsideOptions) -> io::Error {
    let InsideOptions { nested, processes, proxy, program, args } = options;
    // What carries connections is confined as the program is, because the program could take it over.
    let ready = restrict(nested, processes);
    if let Err(error) = ready.and_then(|()| if proxy { forward::start() } else { Ok(()) }) {
        return error;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "no process is started: this one becomes the program"
    )]
    let error = std::process::Command::new(&program).args(args).exec();
    io::Error::new(error.kind(), format!("{} cannot be started: {error}", program.display()))
}

fn restrict(nested: bool, processes: Option<u64>) -> io::Result<()> {
    let limit = |count| Rlimit { current: Some(count), maximum: Some(count) };
    setrlimit(Resource::Core, limit(0))?;
    if let Some(processes) = processes {
        // Set in a namespace of its own, it counts what is in there and nothing else of the user.
        setrlimit(Resource::Nproc, limit(processes))?;
    }
    let scope = Scope::AbstractUnixSocket | Scope::Signal;
    let scoped = Ruleset::default().scope(scope).and_then(|ruleset| ruleset.create());
    scoped.and_then(|ruleset| ruleset.restrict_self()).map_err(io::Error::other)?;
    for filter in filter::filters(nested).map_err(io::Error::other)? {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    }
    close_foreign()
}

/// bubblewrap passes every open descriptor on, and a folder that was left open is a way around everything else.
#[expect(unsafe_code, reason = "no safe library closes all descriptors from a number on")]
fn close_foreign() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: it marks descriptors to be closed when the program begins, and closes none that this process still uses.
    let closed =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST_FOREIGN_FD, libc::c_uint::MAX, flags) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
