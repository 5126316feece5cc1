//! The processes that it leaves behind: they make a session of their own, lose their parent or their environment.

use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::setsid;

use crate::directive::Escape;

/// No relative lives longer than this, so that a failed test leaves nothing for ever.
const LONGEST: Duration = Duration::from_secs(300);

/// The parts that this program plays besides its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relative {
    Sleeper,
    /// The middle of a double fork: it prints the pid of its child and leaves.
    Middle,
}

impl Relative {
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Sleeper, Self::Middle].into_iter().find(|relative| relative.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sleeper => "__sleep",
            Self::Middle => "__middle",
        }
    }

    pub(crate) fn live(self) -> io::Result<()> {
        match self {
            Self::Sleeper => {
                leave_session()?;
                std::thread::sleep(LONGEST);
                Ok(())
            }
            Self::Middle => {
                let child = quiet(&mut Self::Sleeper.command()?).spawn()?;
                wait_for_session(&child)?;
                io::Write::write_all(&mut io::stdout(), child.id().to_string().as_bytes())
            }
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this program exists to start processes that escape, which the product must then find"
    )]
    fn command(self) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(self.name()).stdin(Stdio::null());
        Ok(command)
    }
}

/// Starts a sleeper and gives its pid once it has escaped.
pub(crate) fn spawn(escape: Escape) -> io::Result<u32> {
    match escape {
        Escape::Setsid => settled(&Relative::Sleeper.command()?.spawn()?),
        Escape::ClearEnv => settled(&quiet(Relative::Sleeper.command()?.env_clear()).spawn()?),
        Escape::Daemon => {
            let mut middle = Relative::Middle.command()?.stdout(Stdio::piped()).spawn()?;
            let mut pid = String::new();
            middle.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?.read_to_string(&mut pid)?;
            middle.wait()?;
            pid.parse().map_err(|_| io::Error::other("the middle of the double fork failed"))
        }
    }
}

fn settled(child: &Child) -> io::Result<u32> {
    wait_for_session(child)?;
    Ok(child.id())
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

/// A process that already leads its group cannot leave its session; then it is in one of its own anyway.
fn leave_session() -> io::Result<()> {
    match setsid() {
        Ok(_) => Ok(()),
        Err(_) if session_of(std::process::id())? == std::process::id() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The child makes its session itself; what is said of it must not be ahead of that.
fn wait_for_session(child: &Child) -> io::Result<()> {
    let start = Instant::now();
    while session_of(child.id())? != child.id() {
        if start.elapsed() > Duration::from_secs(10) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Read from the process table, because a session led from outside this pid namespace has the number 0, which
/// `getsid` of the library takes for impossible.
fn session_of(pid: u32) -> io::Result<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let session = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(3));
    session.and_then(|number| number.parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
