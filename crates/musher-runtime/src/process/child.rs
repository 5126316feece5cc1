//! A process that we have started, whether by a fork or inside its control group.

use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, ExitStatus};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::linux;
use super::spawner::Start;

/// A child of this process. It must be waited for.
#[derive(Debug)]
pub(super) struct AgentChild {
    pid: Pid,
    status: Option<ExitStatus>,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

impl AgentChild {
    /// Starts a command in a session of its own and inside the group; it dies with the thread that calls this.
    pub(super) fn spawn(start: Start) -> io::Result<Self> {
        let Start { mut command, entrance, limited, kept, niceness } = start;
        let (mut inside, group) = match entrance {
            Some(group) => {
                let (inside, tell) = io::pipe()?;
                rustix::io::ioctl_fionbio(&inside, true)?;
                (Some(inside), Some((group, tell)))
            }
            None => (None, None),
        };
        linux::isolate(&mut command, group, limited, kept, niceness);
        let spawned = command.spawn();
        // The forked process writes the id before it exits, and `spawn` returns only after that exit.
        let inside = inside.as_mut().map_or(Ok(None), told)?;
        match spawned {
            Ok(mut forked) => {
                let (stdin, stdout) = (forked.stdin.take(), forked.stdout.take());
                let stderr = forked.stderr.take();
                let pid = inside.unwrap_or_else(|| Pid::from_child(&forked));
                if inside.is_some() {
                    // It ended when it had made the other one.
                    forked.wait()?;
                }
                Ok(Self { pid, status: None, stdin, stdout, stderr })
            }
            Err(error) => {
                // The library has waited for the one that it knows of; the other one could not become the program either.
                if let Some(pid) = inside {
                    let _already_reaped = waitpid(Some(pid), WaitOptions::empty());
                }
                Err(error)
            }
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// How it ended, if it has.
    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_with(WaitOptions::NOHANG)
    }

    /// Waits until it has ended.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        self.wait_with(WaitOptions::empty()).map(drop)
    }

    pub(super) fn kill(&self) -> io::Result<()> {
        match self.status {
            // Its number may be another's by now.
            Some(_) => Ok(()),
            None => Ok(kill_process(self.pid, Signal::KILL)?),
        }
    }

    fn wait_with(&mut self, options: WaitOptions) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let ended = rustix::io::retry_on_intr(|| waitpid(Some(self.pid), options))?;
            self.status = ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw()));
        }
        Ok(self.status)
    }
}

/// The process that was made inside the group, if one was.
fn told(inside: &mut PipeReader) -> io::Result<Option<Pid>> {
    let mut pid = [0; 4];
    match inside.read(&mut pid) {
        Ok(4) => Ok(Pid::from_raw(i32::from_ne_bytes(pid))),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::{Command, Stdio};

    use super::super::cgroup::{Cgroup, CgroupEntry};
    use super::super::mark::RunMark;
    use super::*;

    fn start(command: Command, entrance: Option<CgroupEntry>) -> Start {
        Start { command, entrance, limited: Vec::new(), kept: None, niceness: 0 }
    }

    #[expect(clippy::disallowed_methods, reason = "the module under test owns processes")]
    fn cat() -> Command {
        let mut cat = Command::new("cat");
        cat.stdin(Stdio::piped()).stdout(Stdio::piped());
        cat
    }

    /// A group of its own, where this machine lets us make one.
    fn group() -> Option<Cgroup> {
        Cgroup::make(&RunMark::new(None))
    }

    fn ends(mut child: AgentChild) {
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(child.try_wait().unwrap().is_some_and(|status| status.success()));
        child.kill().unwrap();
    }

    #[test]
    fn a_child_is_ours_and_in_its_group_whether_it_was_made_there_or_entered() {
        let Some(group) = group() else { return };
        let made = AgentChild::spawn(start(cat(), group.entrance())).unwrap();
        assert_eq!(group.members(), [made.id()]);
        let processes = group.entrance().unwrap().processes;
        let folder = File::open("/").unwrap();
        let no_group = CgroupEntry { processes, folder, required: true };
        let entered = AgentChild::spawn(start(cat(), Some(no_group))).unwrap();
        assert!(group.members().contains(&entered.id()), "{:?}", group.members());
        for child in [made, entered, AgentChild::spawn(start(cat(), None)).unwrap()] {
            let stat = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let parent = format!("PPid:\t{}\n", std::process::id());
            assert!(stat.contains(&parent), "{stat}");
            ends(child);
        }
        assert_eq!(group.members(), [0; 0]);
    }

    #[test]
    fn what_cannot_enter_the_group_of_its_limits_is_not_started() {
        let entry = |required| {
            // Neither can be entered: the one is no group, the other cannot be written.
            let (processes, folder) = (File::open("/dev/null").unwrap(), File::open("/").unwrap());
            Some(CgroupEntry { processes, folder, required })
        };
        assert!(AgentChild::spawn(start(cat(), entry(true))).is_err());
        ends(AgentChild::spawn(start(cat(), entry(false))).unwrap());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the module under test owns processes")]
    fn a_program_that_cannot_be_started_says_why_and_leaves_no_child() {
        let Some(group) = group() else { return };
        let error =
            AgentChild::spawn(start(Command::new("/no/such"), group.entrance())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(group.members(), [0; 0], "nor a dead one, which would still be listed");
    }
}
