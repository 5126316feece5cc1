//! The end: everything that was acknowledged, every log, every answer and every process is looked at once more.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use musher_client::api::{ApiAsks, ApiRun, Runs};
use musher_core::{Event, EventKind};

use super::answers;
use super::books;
use super::broken::{Broken, Promise};
use super::inspect;
use super::ledger::{self, How, Said};
use super::logs;
use super::processes;
use super::world::World;

/// How long the last processes may take to leave when all is over.
const LEAVE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

pub(super) async fn reckon(world: &World) -> anyhow::Result<()> {
    // Once more a server that knows nothing but what is on the disk.
    world.kill_server()?;
    tokio::task::block_in_place(|| world.serve_again())?;
    let runs = all_runs(world).await?;
    acknowledged(world, &runs).await?;
    for run in runs.values() {
        if !run.is_over() {
            return Err(Broken::error(
                Promise::Progress,
                format!("at the end {run:?} is not over"),
            ));
        }
        whole(world, run)?;
    }
    answers(world)?;
    books::balance(world, runs.values())?;
    told(world, &runs)?;
    ensure!(world.seen().warm > 0, "it was too short to see what a server takes at first");
    inspect::flat(world)?;
    tokio::task::block_in_place(|| world.end_server())?;
    nobody_left(world).await
}

async fn all_runs(world: &World) -> anyhow::Result<BTreeMap<String, ApiRun>> {
    let (mut all, mut before) = (BTreeMap::new(), None);
    loop {
        let mut query = vec![("limit", "1000".to_owned())];
        query.extend(before.take().map(|before| ("before", before)));
        let query: Vec<(&str, &str)> =
            query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let page: Runs = world.look(&["runs"], &query).await?.context("there are no runs")?;
        all.extend(page.runs.into_iter().map(|run| (run.id.clone(), run)));
        before = page.next;
        if before.is_none() {
            return Ok(all);
        }
    }
}

async fn acknowledged(world: &World, runs: &BTreeMap<String, ApiRun>) -> anyhow::Result<()> {
    ledger::look_for_fresh(world).await?;
    let (stories, known, prompts, answers) = {
        let ledger = world.ledger();
        let answers: Vec<(String, String)> = ledger.answers.keys().cloned().collect();
        (ledger.stories.clone(), ledger.runs.clone(), ledger.prompts.clone(), answers)
    };
    for id in stories.keys() {
        ledger::story(world, id).await?;
    }
    let gone: Vec<_> = known.iter().filter(|id| !runs.contains_key(*id)).collect();
    if !gone.is_empty() {
        let seen = format!("at the end the runs {gone:?} are gone");
        return Err(Broken::error(Promise::Acknowledged, seen));
    }
    prompts.iter().try_for_each(|said| ledger::prompt(world, said))?;
    answers.iter().try_for_each(|(run, ask)| ledger::answer(world, run, ask))?;
    let open: ApiAsks = world.look(&["asks"], &[]).await?.unwrap_or_default();
    match open.asks.first() {
        None => Ok(()),
        Some(ask) => {
            Err(Broken::error(Promise::Asks, format!("at the end {ask:?} waits for an answer")))
        }
    }
}

/// A log is numbered without gaps, ends once, and closes every ask that it opens.
fn whole(world: &World, run: &ApiRun) -> anyhow::Result<()> {
    let events = logs::events(&world.folder(&run.id))?;
    for (n, event) in (1..).zip(&events) {
        if event.seq != n {
            let seen = format!("in the log of {} the event {} is the {n}th", run.id, event.seq);
            return Err(Broken::error(Promise::Numbers, seen));
        }
    }
    let ends = |event: &Event| matches!(event.kind, EventKind::SessionEnded(_));
    let ended = events.iter().filter(|event| ends(event)).count();
    if !events.is_empty() && (ended != 1 || !events.last().is_some_and(ends)) {
        let last = events.last();
        let seen = format!("the log of {} has {ended} ends, and ends with {last:?}", run.id);
        return Err(Broken::error(Promise::Numbers, seen));
    }
    let mut asks: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for event in &events {
        if let EventKind::AskOpened { ask, .. } = &event.kind {
            asks.entry(ask.as_str()).or_default().0 += 1;
        }
        if let EventKind::AskClosed { ask, .. } = &event.kind {
            asks.entry(ask.as_str()).or_default().1 += 1;
        }
    }
    world.count("logs read whole");
    match asks.iter().find(|(_, counts)| **counts != (1, 1)) {
        None => Ok(()),
        Some((ask, (opened, closed))) => {
            let run = &run.id;
            let seen = format!("{ask} of {run} was opened {opened} times and closed {closed}");
            Err(Broken::error(Promise::Asks, seen))
        }
    }
}

/// Counts the answers that came as far as their agents.
fn answers(world: &World) -> anyhow::Result<()> {
    let heard = answers::heard(world)?;
    for (_, ask) in world.ledger().answers.keys() {
        // An agent that was killed in that moment may have heard nothing.
        world.count(match heard.contains_key(ask) {
            true => "answers that agents heard",
            false => "answers that died with their agents",
        });
    }
    Ok(())
}

/// What was sent was said to an agent, if its run, or the one in its place, came to a good end.
fn told(world: &World, runs: &BTreeMap<String, ApiRun>) -> anyhow::Result<()> {
    let told = std::fs::read_to_string(world.worker_home.join("told")).unwrap_or_default();
    for Said { run, word, how } in &world.ledger().prompts {
        let mut at = runs.get(run);
        while let Some(lost) = at.filter(|run| run.outcome.as_deref() == Some("lost")) {
            let after =
                |run: &&ApiRun| run.kind == "restart" && run.of.as_deref() == Some(&lost.id);
            at = runs.values().find(after);
        }
        let well = at.is_some_and(|run| run.outcome.as_deref() == Some("completed"));
        let heard = told.lines().filter(|line| line.contains(word.as_str())).count();
        if well && heard == 0 {
            let how = match how {
                How::Sent => "sent",
                How::Begins => "to begin with",
            };
            let seen = format!("the prompt `{word}` ({how}) of {run} never reached its agent");
            return Err(Broken::error(Promise::Acknowledged, seen));
        }
        world.count(if heard > 0 { "prompts that agents heard" } else { "prompts cut off" });
    }
    Ok(())
}

/// When all runs are over and the server has ended, nothing is left.
async fn nobody_left(world: &World) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let left = tokio::task::block_in_place(|| world.left())?;
        let agents = super::faults::agents(world);
        let spawned = std::fs::read_to_string(world.worker_home.join("effects"));
        let spawned = spawned.unwrap_or_default();
        let children = spawned.lines().filter_map(|line| line.strip_prefix("spawned "));
        let children = children.filter_map(|line| line.rsplit(' ').next()?.parse::<i32>().ok());
        // A number may long be used by somebody else.
        let children = children.filter_map(processes::alive);
        let children: Vec<_> =
            children.filter(|child| child.line.contains("worker-agent")).collect();
        if left.is_empty() && agents.is_empty() && children.is_empty() {
            return Ok(());
        }
        if began.elapsed() > LEAVE {
            let seen = format!("all is over, and there live {left:?}, {agents:?}, {children:?}");
            return Err(Broken::error(Promise::Orphans, seen));
        }
        tokio::time::sleep(LOOK).await;
    }
}
