//! What only the kernel can do for us, and the only unsafe code: a child of its own, and a wait that needs no signal.
#![expect(
    unsafe_code,
    reason = "a session and a parent-death signal can only be set between fork and exec, and tokio asks for a promise about descriptors"
)]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal, setsid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Gives the child a session of its own, puts it into the control group, and lets it die with us.
pub(super) fn isolate(command: &mut Command, group: Option<File>) {
    let parent = getpid();
    // SAFETY: the closure makes a few system calls and allocates nothing, as the time after fork demands.
    unsafe {
        command.pre_exec(move || {
            if let Some(group) = &group {
                // It may not be ours to enter after all; then descent and the mark have to do.
                let _refused = rustix::io::write(group, b"0");
            }
            setsid()?;
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // Had the parent died before the signal was armed, it would never come.
            if getppid() != Some(parent) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Ok(())
        });
    }
}

/// Tells when a child has exited, without a handler for SIGCHLD that the host would have to share.
#[derive(Debug)]
pub(super) struct ExitWatch {
    pidfd: AsyncFd<OwnedFd>,
}

impl ExitWatch {
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::NONBLOCK)?;
        // SAFETY: the descriptor is owned by what is registered and is closed only together with it.
        let pidfd = unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE)? };
        Ok(Self { pidfd })
    }

    /// Waits for the exit; after it, answers at once.
    pub(super) async fn exited(&self) {
        // An error means that the runtime is shutting down, and then the task is dropped anyway.
        let _readable = self.pidfd.readable().await;
    }
}
