//! The helper inside: what namespaces leave open is taken away, and the process becomes the program, keeps the sandbox for others,
//! or is a guest in one that is kept.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use landlock::{Ruleset, RulesetAttr, Scope};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

use crate::rules::AllowedPlaces;
use crate::{enter, filter, forward, rules};

/// Descriptors from here on are none of the program's business.
const FIRST_FOREIGN_FD: libc::c_uint = 3;

/// What the helper is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsideOptions {
    pub restrictions: Restrictions,
    /// The places of the machine that are left, where no namespace holds the program.
    pub places: Option<AllowedPlaces>,
    pub part: InsidePart,
}

/// What the helper takes from itself, and so from all that it becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Namespaces may be made inside.
    pub nested: bool,
    /// How many processes and threads there may be at the same time.
    pub processes: Option<u64>,
}

/// What the helper is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsidePart {
    /// It becomes the program that the sandbox was made for; with `proxy` connections go through the proxy of the runner.
    Program { proxy: bool, program: InsideProgram },
    /// It keeps a sandbox until its input ends, so that others can enter it.
    Holder { proxy: bool },
    /// It enters a sandbox that is kept, and starts a program there.
    Guest { entrance: SandboxEntrance, program: InsideProgram },
}

/// The way into a sandbox that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxEntrance {
    /// A descriptor for the process that keeps it.
    pub holder: RawFd,
    /// It has a network of its own. That of the machine cannot be entered, which is where one is already.
    pub network: bool,
    /// Where the program is to work.
    pub folder: PathBuf,
}

/// A program inside, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsideProgram {
    pub path: PathBuf,
    pub args: Vec<OsString>,
}

/// Whom a confined process may send signals to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalScope {
    /// What it has started.
    OwnProcesses,
    /// Whatever it sees, which is the sandbox that it entered: one command ends a server that another has started.
    Sandbox,
}

/// Does what the helper is for, and gives back the exit code of the process.
pub fn inside(options: InsideOptions) -> io::Result<u8> {
    let InsideOptions { restrictions, places, part } = options;
    match part {
        InsidePart::Program { proxy, program } => {
            // What carries connections is confined as the program is, because the program could take it over.
            match &places {
                Some(places) => restrict_alone(restrictions, places)?,
                None => restrict(restrictions, SignalScope::OwnProcesses)?,
            }
            close_foreign(libc::CLOSE_RANGE_CLOEXEC)?;
            if proxy {
                forward::start()?;
            }
            Err(program.become_it())
        }
        InsidePart::Holder { proxy } => hold(restrictions, proxy).map(|()| 0),
        InsidePart::Guest { entrance, program } => {
            // Until it has become the program, its child shares this process's memory, and others inside can see it.
            set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
            enter::enter(&entrance)?;
            restrict(restrictions, SignalScope::Sandbox)?;
            close_foreign(libc::CLOSE_RANGE_CLOEXEC)?;
            enter::start(&program)
        }
    }
}

impl InsideProgram {
    #[expect(
        clippy::disallowed_methods,
        reason = "whatever it starts or becomes is confined as it is"
    )]
    pub(crate) fn command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.path);
        command.args(&self.args);
        command
    }

    pub(crate) fn unstarted(&self, error: &io::Error) -> io::Error {
        let message = format!("{} cannot be started: {error}", self.path.display());
        io::Error::new(error.kind(), message)
    }

    fn become_it(&self) -> io::Error {
        self.unstarted(&self.command().exec())
    }
}

/// Keeps the sandbox, as the first process in it: nothing inside can end it, and orphans are taken in by the kernel for it.
fn hold(restrictions: Restrictions, proxy: bool) -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    restrict(restrictions, SignalScope::OwnProcesses)?;
    close_foreign(0)?;
    leave_no_zombies()?;
    if proxy {
        forward::begin()?;
    }
    let mut ready = io::stdout();
    ready.write_all(b"ready\n").and_then(|()| ready.flush())?;
    let mut ignored = [0; 64];
    loop {
        match io::stdin().read(&mut ignored) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // Signals that have handlers reach even the first process.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn restrict(restrictions: Restrictions, signals: SignalScope) -> io::Result<()> {
    limit(restrictions)?;
    let scope = match signals {
        SignalScope::OwnProcesses => Scope::AbstractUnixSocket | Scope::Signal,
        SignalScope::Sandbox => Scope::AbstractUnixSocket.into(),
    };
    let scoped = Ruleset::default().scope(scope).and_then(|ruleset| ruleset.create());
    scoped.and_then(|ruleset| ruleset.restrict_self()).map_err(io::Error::other)?;
    filter_calls(restrictions)
}

/// The same without namespaces around: files are held by rules, and the superuser's capabilities by nothing but giving them up.
fn restrict_alone(restrictions: Restrictions, places: &AllowedPlaces) -> io::Result<()> {
    limit(restrictions)?;
    enter::give_up_capabilities()?;
    rules::restrict(places)?;
    filter_calls(restrictions)
}

fn limit(restrictions: Restrictions) -> io::Result<()> {
    let limit = |count| Rlimit { current: Some(count), maximum: Some(count) };
    setrlimit(Resource::Core, limit(0))?;
    if let Some(processes) = restrictions.processes {
        // Set in a namespace of its own, it counts what is in there and nothing else of the user.
        setrlimit(Resource::Nproc, limit(processes))?;
    }
    Ok(())
}

fn filter_calls(restrictions: Restrictions) -> io::Result<()> {
    for filter in filter::filters(restrictions.nested).map_err(io::Error::other)? {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok(())
}

/// bubblewrap passes every open descriptor on, and a folder that was left open is a way around everything else.
#[expect(unsafe_code, reason = "no safe library closes all descriptors from a number on")]
fn close_foreign(flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: descriptors are closed when the program begins, or by a holder that has not opened any of its own yet.
    let closed =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST_FOREIGN_FD, libc::c_uint::MAX, flags) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the kernel take in the children that this process never waits for.
#[expect(unsafe_code, reason = "no safe library ignores a signal")]
fn leave_no_zombies() -> io::Result<()> {
    // SAFETY: no handler is set, so none can run at a bad moment.
    let before = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}
