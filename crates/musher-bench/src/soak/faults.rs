//! Kills: of the server, of runners, of agents.

use std::sync::Arc;
use std::time::Duration;

use super::ledger;
use super::processes::{self, Process};
use super::world::World;

/// Kills the server about so often, and starts it again after a moment.
pub(super) async fn kill_servers(world: Arc<World>, every: Duration) -> anyhow::Result<()> {
    let mut dice = world.dice("kills of the server", 0);
    let every = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
    while world.works_after(dice.millis(every / 2, every + every / 2)).await {
        world.kill_server()?;
        world.count("servers killed");
        tokio::time::sleep(dice.millis(0, 700)).await;
        tokio::task::block_in_place(|| world.serve_again())?;
        ledger::look_for_fresh(&world).await?;
    }
    Ok(())
}

pub(super) async fn kill_runners(world: Arc<World>) -> anyhow::Result<()> {
    let mut dice = world.dice("kills of runners", 0);
    while world.works_after(dice.millis(1000, 5000)).await {
        let runners = processes::runners(&world.runs());
        if let Some((_, runner)) = dice.pick(&runners)
            && processes::kill(runner)
        {
            world.count("runners killed");
        }
    }
    Ok(())
}

pub(super) async fn kill_agents(world: Arc<World>) -> anyhow::Result<()> {
    let mut dice = world.dice("kills of agents", 0);
    while world.works_after(dice.millis(1000, 6000)).await {
        if let Some(agent) = dice.pick(&agents(&world))
            && processes::kill(agent)
        {
            world.count("agents killed");
        }
    }
    Ok(())
}

/// The agents that live, as they have written themselves down.
pub(super) fn agents(world: &World) -> Vec<Process> {
    let starts = std::fs::read_to_string(world.worker_home.join("starts")).unwrap_or_default();
    let lives = |line: &str| {
        let mut words = line.split(' ');
        let (pid, started) = (words.next()?.parse().ok()?, words.next()?.parse::<u64>().ok()?);
        processes::alive(pid).filter(|process| process.started == started)
    };
    starts.lines().filter_map(lives).collect()
}
