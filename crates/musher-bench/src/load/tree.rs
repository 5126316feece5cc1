//! All processes of a place, by what they are: the server, its runners, and the agents.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::stage::memory::{Memory, processor_time};
use crate::stage::place::Place;

#[derive(Debug)]
pub(super) struct Tree {
    pub(super) server: u32,
    pub(super) runners: Vec<u32>,
    /// The agents, and whatever else lives.
    pub(super) others: Vec<u32>,
}

/// What each process had used of the processors at one moment.
#[derive(Debug)]
pub(super) struct Used {
    server: Vec<One>,
    runners: Vec<One>,
    others: Vec<One>,
}

/// What one process had used. Neither count tells all: a server's threads come and go, and the time of those that have
/// ended is in the coarse count alone; an agent uses less than a tick of it in many seconds.
#[derive(Debug, Clone, Copy)]
struct One {
    /// By the threads that live, exactly.
    threads: Duration,
    /// By all that ever lived, in whole ticks.
    ticks: u64,
}

/// What each part takes of memory, in KiB; shared pages are divided among those who share them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) server: u64,
    pub(super) runners: u64,
    pub(super) others: u64,
    /// What the greediest runner has for itself.
    pub(super) greediest: u64,
}

impl Tree {
    pub(super) fn of(place: &Place, runners: usize) -> anyhow::Result<Self> {
        let (hosts, others): (Vec<_>, Vec<_>) =
            place.left()?.into_iter().partition(|left| left.line.starts_with("musher runner "));
        let pids = |left: Vec<crate::stage::left::Left>| left.iter().map(|left| left.pid).collect();
        ensure!(hosts.len() == runners, "there are {} runners, not {runners}", hosts.len());
        Ok(Self { server: place.pid(), runners: pids(hosts), others: pids(others) })
    }

    pub(super) fn used(&self) -> anyhow::Result<Used> {
        let all =
            |pids: &[u32]| pids.iter().map(|pid| One::of(*pid)).collect::<anyhow::Result<_>>();
        Ok(Used {
            server: all(&[self.server])?,
            runners: all(&self.runners)?,
            others: all(&self.others)?,
        })
    }

    pub(super) fn taken(&self) -> anyhow::Result<Taken> {
        let (mut runners, mut greediest, mut others) = (0, 0, 0);
        for pid in &self.runners {
            let memory = Memory::of(*pid)?;
            runners += memory.pss;
            greediest = greediest.max(memory.private);
        }
        for pid in &self.others {
            others += Memory::of(*pid)?.pss;
        }
        Ok(Taken { server: Memory::of(self.server)?.pss, runners, others, greediest })
    }
}

impl Used {
    /// How many cores each part has kept busy since then: the server, its runners, the others.
    pub(super) fn cores_since(&self, earlier: &Self, time: Duration) -> anyhow::Result<[f64; 3]> {
        let cores = |now: &[One], then: &[One]| {
            let used = now.iter().zip(then).map(|(now, then)| now.since(*then));
            anyhow::Ok(used.sum::<anyhow::Result<Duration>>()?.as_secs_f64() / time.as_secs_f64())
        };
        Ok([
            cores(&self.server, &earlier.server)?,
            cores(&self.runners, &earlier.runners)?,
            cores(&self.others, &earlier.others)?,
        ])
    }
}

impl One {
    fn of(pid: u32) -> anyhow::Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let stat = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        // The name of the program is in parentheses and may hold blanks and parentheses itself.
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' '));
        let fields = fields.with_context(|| format!("{path} has no fields"))?;
        let ticks: Vec<u64> = fields.skip(11).take(2).filter_map(|it| it.parse().ok()).collect();
        let [user, system] = ticks[..] else { bail!("{path} tells no times") };
        Ok(Self { threads: processor_time(pid)?, ticks: user + system })
    }

    /// What was used since then. Each count is a lower bound, so the greater one counts.
    fn since(self, then: Self) -> anyhow::Result<Duration> {
        let ticks = self.ticks.checked_sub(then.ticks);
        let ticks = ticks.context("a process has used less than before")?;
        // User's and system's time are cut to whole ticks, each for itself.
        let ticks = ticks.saturating_sub(2) as f64;
        let whole = ticks / rustix::param::clock_ticks_per_second() as f64;
        Ok(self.threads.saturating_sub(then.threads).max(Duration::from_secs_f64(whole)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_time_of_a_thread_that_has_ended_still_counts() {
        let me = std::process::id();
        let before = One::of(me).unwrap();
        let busy = || {
            let (began, mut count) = (Instant::now(), 0_u64);
            // However busy the machine is, so much work is some ticks of time.
            while began.elapsed() < Duration::from_secs(5) && count < 30_000_000 {
                count = std::hint::black_box(count + 1);
            }
        };
        std::thread::spawn(busy).join().unwrap();
        let used = One::of(me).unwrap().since(before).unwrap();
        assert!(used >= Duration::from_millis(20), "{used:?}");
    }

    #[test]
    fn the_greater_count_is_taken_and_a_time_that_runs_backwards_is_an_error() {
        let one = |ms, ticks| One { threads: Duration::from_millis(ms), ticks };
        let each = Duration::from_secs(1) / rustix::param::clock_ticks_per_second() as u32;
        // Less than a tick was used.
        assert_eq!(one(8, 1).since(one(5, 1)).unwrap(), Duration::from_millis(3));
        // Threads have ended that had used much.
        assert_eq!(one(100, 52).since(one(900, 40)).unwrap(), each * 10);
        assert!(one(0, 1).since(one(0, 2)).is_err());
    }
}
