//! What only the system can do for us, and the only unsafe code: a child of its own, a wait that needs no signal, a turn on
//! the processor that comes soon, and memory that is kept or given back.
#![expect(
    unsafe_code,
    reason = "a session, a parent-death signal and a control group can only be set between fork and exec, tokio asks for a promise about descriptors, and no library sets the length of a thread's turns or trims the heap"
)]

use std::io::{self, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use super::cgroup::CgroupEntry;

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal, setsid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Gives the child a session of its own, puts it into the control group, and lets it die with us. If the child is not the
/// process that was forked but one that was made inside the group, its id is written into the pipe.
pub(super) fn isolate(command: &mut Command, group: Option<(CgroupEntry, PipeWriter)>) {
    let parent = getpid();
    // SAFETY: the closure makes a few system calls and allocates nothing, as the time after fork demands.
    unsafe {
        command.pre_exec(move || {
            if let Some((group, inside)) = &group {
                enter(group, inside);
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
fn enter(group: &CgroupEntry, inside: &PipeWriter) {
    let flags = CLONE_INTO_CGROUP | libc::CLONE_PARENT as u64;
    let cgroup = group.folder.as_raw_fd() as u64;
    let args = CloneArgs { flags, cgroup, ..CloneArgs::default() };
    // SAFETY: the kernel reads as much of the arguments as their size says. Without a shared memory the new process goes on
    // with a copy of this one, which has one thread.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) } {
        0 => {}
        pid @ 1.. => {
            let told = rustix::io::write(inside, &(pid as i32).to_ne_bytes());
            // SAFETY: it ends this process and returns to nobody.
            unsafe { libc::_exit(i32::from(told.is_err())) }
        }
        // It may not be ours to enter after all; then descent and the mark have to do.
        _ => drop(rustix::io::write(&group.processes, b"0")),
    }
}

/// How long a turn is that one who is prompt asks for; the kernel gives no shorter ones.
const SCHEDULER_SLICE: Duration = Duration::from_micros(100);

/// Asks the kernel for short turns on the processor that come soon after this thread was woken, also when others are busy.
/// It has no more of the processor for that, and what it starts is as it was. Kernels before 6.12 do not know of it.
pub fn act_promptly() -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: rustix::process::getpriority_process(None)?,
        sched_priority: 0,
        sched_runtime: SCHEDULER_SLICE.as_nanos() as u64,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel reads as much of the attributes as their size says, and keeps nothing of them.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How many heaps the threads of a process share.
const HEAPS: i32 = 2;

/// Lets the C library make a few heaps instead of one for almost every thread. Call it before there are threads.
pub fn share_heaps() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it is given numbers alone, and any thread may call it at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
    }
}

/// What may be free at the end of the heap before the C library gives it back by itself: as it does at first, and while much
/// memory is taken and left all the time.
const FREE: i32 = 128 * 1024;
const MUCH_FREE: i32 = 4 * 1024 * 1024;

/// Lets the C library keep memory that is free, because it will soon be needed again.
pub fn keep_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it is given numbers alone, and any thread may call it at any time.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, MUCH_FREE);
    }
}

/// Gives memory that is free back to the system, also what lies below something in use.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: as above.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, FREE);
        libc::malloc_trim(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> u64 {
        // SAFETY: all of its fields are numbers.
        let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::sched_attr>();
        // SAFETY: the kernel writes no more than the size that it is told.
        let done =
            unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
        attributes.sched_runtime
    }

    #[test]
    fn a_prompt_thread_has_short_turns_and_what_it_starts_has_the_usual_ones() {
        std::thread::spawn(|| {
            let usual = turn();
            act_promptly().unwrap();
            let short = SCHEDULER_SLICE.as_nanos() as u64;
            // An older kernel says nothing of turns.
            assert_eq!(turn(), if usual == 0 { 0 } else { short });
            assert_eq!(std::thread::spawn(turn).join().unwrap(), usual);
        })
        .join()
        .unwrap();
    }
}
