//! A pool over a journal of its own, without a server: for what is decided, and for what was decided long ago.

use std::path::Path;
use std::thread::JoinHandle;

use anyhow::{Context as _, bail};
use musher::journal::Journal;
use musher::pool::{AcceptedCommand, Pool, PoolHandle, Wish};
use musher_core::pool::{CommandReply, PoolInput, PoolLimits, RunReport, Seat, Team};
use musher_core::{Actor, AgentName, CommandId, Outcome, RunId, RunOptions, StoryId, Variables};
use musher_runtime::now_ms;

/// A pool at work. It is closed with [`Deciding::close`].
#[derive(Debug)]
pub struct Deciding {
    handle: PoolHandle,
    thread: JoinHandle<()>,
}

impl Deciding {
    pub fn open(journal: &Path) -> anyhow::Result<Self> {
        let name = AgentName::parse("worker")?;
        let most = 100_000;
        let limits =
            PoolLimits { runs: most, runs_per_agent: most, runs_per_story: most, day_usd: None };
        let team =
            Team { agents: vec![Seat { name, model: None, budget: None, turns: false }], limits };
        let journal = Journal::open(journal, now_ms())?;
        let (handle, thread) = Pool::start(journal, team, now_ms, |_| ())?;
        Ok(Self { handle, thread })
    }

    pub fn handle(&self) -> PoolHandle {
        self.handle.clone()
    }

    pub async fn close(self) -> anyhow::Result<()> {
        self.handle.close().await;
        let joined = tokio::task::spawn_blocking(|| self.thread.join()).await?;
        joined.map_err(|_| anyhow::anyhow!("the pool panicked"))
    }
}

/// Adds a story; when this returns, that is durable.
pub async fn add(handle: &PoolHandle, name: &str) -> anyhow::Result<StoryId> {
    let text = "Something is to be done, and this is how one sees that it is.".to_owned();
    let (id, context) = (Some(StoryId::parse(name)?), Variables::new());
    let spec = Default::default();
    let wish = Wish::AddStory { id, title: name.to_owned(), text, context, spec };
    let reply = wished(handle, wish, &format!("add-{name}")).await?;
    let CommandReply::Story(story) = reply else {
        bail!("a story was added, and {reply:?} was said");
    };
    Ok(story)
}

/// A run from its start to its end, as the journal knows it.
pub async fn live(handle: &PoolHandle, story: &StoryId) -> anyhow::Result<RunId> {
    let wish = Wish::StartRun {
        story: story.clone(),
        agent: None,
        model: None,
        prompt: None,
        options: RunOptions::default(),
    };
    let reply = wished(handle, wish, &format!("start-{story}")).await?;
    let CommandReply::Run(run) = reply else {
        bail!("a run was started, and {reply:?} was said");
    };
    let head = "0123456789012345678901234567890123456789".to_owned();
    let what = RunReport::Ended { outcome: Outcome::Completed, error: None, session: None };
    for input in [
        PoolInput::Prepared { run, head },
        PoolInput::RunnerUp { run },
        PoolInput::Heard { run, seq: 1, what },
        PoolInput::Finished { run, commit: None, error: None },
    ] {
        handle.tell(input).await?;
    }
    Ok(run)
}

async fn wished(handle: &PoolHandle, wish: Wish, command: &str) -> anyhow::Result<CommandReply> {
    let accepted = handle.command(wish, CommandId::parse(command)?, Actor::POOL, None).await;
    match accepted.with_context(|| command.to_owned())? {
        AcceptedCommand::Final(reply) => Ok(reply),
        AcceptedCommand::Pending(_) => bail!("{command} is still to be settled"),
    }
}
