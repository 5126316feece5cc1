//! What a process has used of the processors.

use std::time::Duration;

use anyhow::{Context as _, bail};

/// What one process had used at one moment. Neither count tells all: a server's threads come and go, and the time of those
/// that have ended is in the coarse count alone; an agent uses less than a tick of it in many seconds.
#[derive(Debug, Clone, Copy)]
pub struct Processor {
    /// By the threads that live, exactly.
    threads: Duration,
    /// By all that ever lived, in whole ticks.
    ticks: u64,
}

impl Processor {
    pub fn of(pid: u32) -> anyhow::Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let stat = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        // The name of the program is in parentheses and may hold blanks and parentheses itself.
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' '));
        let fields = fields.with_context(|| format!("{path} has no fields"))?;
        let ticks: Vec<u64> = fields.skip(11).take(2).filter_map(|it| it.parse().ok()).collect();
        let [user, system] = ticks[..] else { bail!("{path} tells no times") };
        Ok(Self { threads: of_threads(pid)?, ticks: user + system })
    }

    /// What was used since then. Each count is a lower bound, so the greater one counts.
    pub fn since(self, then: Self) -> anyhow::Result<Duration> {
        let ticks = self.ticks.checked_sub(then.ticks);
        let ticks = ticks.context("a process has used less than before")?;
        // User's and system's time are cut to whole ticks, each for itself.
        let ticks = ticks.saturating_sub(2) as f64;
        let whole = ticks / rustix::param::clock_ticks_per_second() as f64;
        Ok(self.threads.saturating_sub(then.threads).max(Duration::from_secs_f64(whole)))
    }

    /// What a process has used from then to now.
    pub fn used_since(then: Self, pid: u32) -> anyhow::Result<Duration> {
        Self::of(pid)?.since(then)
    }
}

/// What the threads of a process that live have used.
fn of_threads(pid: u32) -> anyhow::Result<Duration> {
    let mut nanos = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end while it is looked at.
        let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanos += text.split(' ').next().and_then(|run| run.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_time_of_a_thread_that_has_ended_still_counts() {
        let me = std::process::id();
        let before = Processor::of(me).unwrap();
        let busy = || {
            let (began, mut count) = (Instant::now(), 0_u64);
            // However busy the machine is, so much work is some ticks of time.
            while began.elapsed() < Duration::from_secs(5) && count < 30_000_000 {
                count = std::hint::black_box(count + 1);
            }
        };
        std::thread::spawn(busy).join().unwrap();
        let used = Processor::used_since(before, me).unwrap();
        assert!(used >= Duration::from_millis(20), "{used:?}");
    }

    #[test]
    fn the_greater_count_is_taken_and_a_time_that_runs_backwards_is_an_error() {
        let one = |ms, ticks| Processor { threads: Duration::from_millis(ms), ticks };
        let each = Duration::from_secs(1) / rustix::param::clock_ticks_per_second() as u32;
        // Less than a tick was used.
        assert_eq!(one(8, 1).since(one(5, 1)).unwrap(), Duration::from_millis(3));
        // Threads have ended that had used much.
        assert_eq!(one(100, 52).since(one(900, 40)).unwrap(), each * 10);
        assert!(one(0, 1).since(one(0, 2)).is_err());
    }
}
