//! What only the system can do for us, and the only unsafe code of this crate: a child of its own, and a wait that needs no
//! signal.
#![expect(
    unsafe_code,
    reason = "a session, a parent-death signal and a control group can only be set between fork and exec, and tokio asks for a promise about descriptors"
)]

use std::fs::File;
use std::io::{self, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::cgroup::CgroupEntry;

use rustix::io::FdFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal, setsid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Gives the child a session of its own, puts it into the control group, and lets it die with us. If the child is not the
/// process that was forked but one that was made inside the group, its id is written into the pipe. It also enters the groups that
/// limit it. The descriptor stays open. `niceness` is added to ours.
pub(super) fn isolate(
    command: &mut Command,
    group: Option<(CgroupEntry, PipeWriter)>,
    limited: Vec<File>,
    kept: Option<OwnedFd>,
    niceness: u8,
) {
    let parent = getpid();
    // SAFETY: the closure makes a few system calls and allocates nothing, as the time after fork demands.
    unsafe {
        command.pre_exec(move || {
            if let Some((group, inside)) = &group {
                enter(group, inside)?;
            }
            for group in &limited {
                // Without its limits it is not started.
                rustix::io::write(group, b"0")?;
            }
            if let Some(kept) = &kept {
                rustix::io::fcntl_setfd(kept, FdFlags::empty())?;
            }
            if niceness > 0 {
                rustix::process::nice(niceness.into())?;
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

/// The arguments of `clone3`, as of Linux 5.7.
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    unused: [u64; 9],
    cgroup: u64,
}

/// The C library knows this flag as a number that is too small for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Returns inside the control group, in the forked process or in another one that takes its place.
///
/// A process that enters a group holds up every fork on the machine until all processors have been idle once, which
/// takes 10 to 20 ms. One that is made inside it holds up nobody. So the forked process makes another one there, as a
/// child of its own parent, and ends.
fn enter(group: &CgroupEntry, inside: &PipeWriter) -> io::Result<()> {
    let flags = CLONE_INTO_CGROUP | libc::CLONE_PARENT as u64;
    let cgroup = group.folder.as_raw_fd() as u64;
    let args = CloneArgs { flags, cgroup, ..CloneArgs::default() };
    // SAFETY: the kernel reads as much of the arguments as their size says. Without a shared memory the new process goes on
    // with a copy of this one, which has one thread.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) } {
        0 => Ok(()),
        pid @ 1.. => {
            let told = rustix::io::write(inside, &(pid as i32).to_ne_bytes());
            // SAFETY: it ends this process and returns to nobody.
            unsafe { libc::_exit(i32::from(told.is_err())) }
        }
        _ => match rustix::io::write(&group.processes, b"0") {
            Err(why) if group.required => Err(why.into()),
            // It may not be ours to enter after all; then descent and the mark have to do.
            Ok(_) | Err(_) => Ok(()),
        },
    }
}

/// Tells when a child has exited, without a handler for SIGCHLD that the host would have to share.
#[derive(Debug)]
pub(super) struct ExitWatch {
    pidfd: AsyncFd<OwnedFd>,
}

impl ExitWatch {
    pub(super) fn of(pid: Pid) -> io::Result<Self> {
        let pidfd = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
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
