//! All processes of a place, by what they are: the server, its runners, and the agents.

use std::time::Duration;

use anyhow::ensure;

use crate::stage::memory::Memory;
use crate::stage::place::Place;
use crate::stage::processor::Processor;

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
    server: Vec<Processor>,
    runners: Vec<Processor>,
    others: Vec<Processor>,
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
        let all = |pids: &[u32]| {
            pids.iter().map(|pid| Processor::of(*pid)).collect::<anyhow::Result<_>>()
        };
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
        let cores = |now: &[Processor], then: &[Processor]| {
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
