//! The processes that it leaves behind: they make a session of their own, lose their parent or their environment.

use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use musher_testkit::session::{leave_session, wait_for_session};

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
