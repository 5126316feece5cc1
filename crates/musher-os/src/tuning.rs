//! Turns on the processor that come soon, and memory that is kept or given back: what only the system can do for us.
#![expect(unsafe_code, reason = "no library sets the length of a thread's turns or trims the heap")]

use std::io;
use std::time::Duration;

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
