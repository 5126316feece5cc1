//! The inspector: processes, memory and what agents have heard, once a second.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use musher::runner::spec::RunSpec;

use super::answers;
use super::broken::{Broken, Promise};
use super::processes;
use super::world::{OUTCOME, Phase, World};
use crate::stage::memory::{Memory, mib};

const EVERY: Duration = Duration::from_secs(1);
/// What the server may take more at the end than after its warm-up, in KiB.
pub(super) const GROWTH: u64 = 16 * 1024;
/// What a runner may have for itself, in KiB. Programs that are not built for release need more.
pub(super) const RUNNER: u64 = if cfg!(debug_assertions) { 8 * 1024 } else { 3 * 1024 };
/// So many runners are looked at each time.
const RUNNERS: usize = 8;

/// What memory was seen, in KiB.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// The most that a server took after the warm-up.
    pub(super) warm: u64,
    /// And in the last part of the work.
    pub(super) late: u64,
    pub(super) runner: u64,
}

pub(super) async fn inspect(world: Arc<World>) -> anyhow::Result<()> {
    let mut marks = BTreeMap::new();
    let mut dice = world.dice("inspector", 0);
    while world.goes_on_after(EVERY).await {
        let look = || -> anyhow::Result<()> {
            orphans(&world.runs(), &mut marks)?;
            answers::heard(&world)?;
            panics(&world)
        };
        tokio::task::block_in_place(look)?;
        world.count("looks at all processes");
        let door = world.door();
        let mut seen = Seen::default();
        // A server that was killed meanwhile has no memory.
        if let Ok(memory) = Memory::of(door.pid) {
            let part = world.began.elapsed().as_secs_f64() / world.time.as_secs_f64();
            match part {
                ..0.4 => seen.warm = memory.rss,
                0.75.. => seen.late = memory.rss,
                _ => {}
            }
        }
        let runners = processes::runners(&world.runs());
        for _ in 0..RUNNERS.min(runners.len()) {
            let Some((run, runner)) = dice.pick(&runners) else { break };
            let Ok(memory) = Memory::of(runner.pid.unsigned_abs()) else { continue };
            seen.runner = seen.runner.max(memory.private);
            if memory.private > RUNNER {
                let (found, bar) = (mib(memory.private), mib(RUNNER));
                let seen = format!("the runner of {run} takes {found:.1} MiB, more than {bar:.1}");
                return Err(Broken::error(Promise::Memory, seen));
            }
        }
        world.saw(seen);
        if world.phase() == Phase::Working {
            flat(&world)?;
        }
    }
    Ok(())
}

/// Fails if the server takes much more than it did.
pub(super) fn flat(world: &World) -> anyhow::Result<()> {
    let Seen { warm, late, .. } = world.seen();
    if warm > 0 && late > warm + GROWTH {
        let (warm, late, bar) = (mib(warm), mib(late), mib(GROWTH));
        let seen = format!(
            "a server took {warm:.1} MiB at first and {late:.1} MiB later, more than {bar:.0} on top"
        );
        return Err(Broken::error(Promise::Memory, seen));
    }
    Ok(())
}

/// When a run has ended, nothing that carries its mark lives.
fn orphans(runs: &Path, marks: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    // First who has ended, and then who lives.
    for folder in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        let run = folder.file_name().to_string_lossy().into_owned();
        let ended = folder.path().join(OUTCOME).exists();
        if ended && !marks.values().any(|known| *known == run) {
            let mark = RunSpec::read(&folder.path()).map(|spec| spec.mark);
            marks.extend(mark.ok().map(|mark| (mark, run)));
        }
    }
    for (found, process) in processes::marked() {
        if let Some(run) = found.iter().find_map(|mark| marks.get(mark)) {
            let seen = format!("{run} has ended, and of it lives {process:?}");
            return Err(Broken::error(Promise::Orphans, seen));
        }
    }
    Ok(())
}

fn panics(world: &World) -> anyhow::Result<()> {
    let said = std::fs::read_to_string(&world.server_log).unwrap_or_default();
    match said.contains("panicked") {
        false => Ok(()),
        true => Err(Broken::error(Promise::Server, format!("it said {said}"))),
    }
}
