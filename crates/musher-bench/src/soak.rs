//! Many agents and viewers at work for a while, under faults, with the promises checked all along.

mod answers;
mod authors;
mod books;
mod broken;
mod damage;
mod dice;
mod faults;
mod garbage;
mod inspect;
mod ledger;
mod logs;
mod processes;
mod reckoning;
mod report;
mod viewers;
mod work;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use clap::Args;
use tokio::task::JoinSet;

use crate::setup::{Build, Programs, Setup};
use broken::Broken;
use damage::Damage;
use report::Report;
use world::{Phase, World};

#[derive(Debug, Clone, Args)]
pub struct Soak {
    /// How long the agents work; what they have begun is then brought to its end.
    #[arg(long, conflicts_with = "seconds")]
    minutes: Option<u64>,
    /// The same in seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// So many stories are worked on at once.
    #[arg(long, default_value_t = 12)]
    agents: u64,
    /// So many follow runs as they work.
    #[arg(long, default_value_t = 24)]
    viewers: u64,
    /// The server is killed about every so many seconds; never with 0.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    kill_server_every: u64,
    /// What is rolled begins with this; a random one is told when left out.
    #[arg(long)]
    seed: Option<u64>,
    /// Where the project and its state are made. By default beside this program.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Takes the programs beside this one as they are.
    #[arg(long)]
    no_build: bool,
    /// A musher of another build: every second server is one of it, and takes up what the other has begun.
    #[arg(long, value_name = "FILE")]
    other_build: Option<PathBuf>,
    /// Damages one thing on purpose, to see that it is noticed.
    #[arg(long = "break", value_name = "NAME", hide = true)]
    damage: Option<Damage>,
}

/// How long the work goes on when nobody says.
const USUAL: Duration = Duration::from_secs(60);

impl Soak {
    /// Works, checks and reports. A broken promise ends it at once.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let time = match (self.minutes, self.seconds) {
            (Some(minutes), _) => Duration::from_secs(minutes * 60),
            (None, Some(seconds)) => Duration::from_secs(seconds),
            (None, None) => USUAL,
        };
        let seed = self.seed.unwrap_or_else(random);
        let again = self.again(time, seed);
        println!("{again}");
        // Servers are started in another folder.
        let other_build = self.other_build.as_deref().map(Path::canonicalize).transpose()?;
        let world = World::open(&self.setup()?, seed, time, self.damage, other_build)?;
        let mut report = Report::begin(Instant::now());
        let worked = self.work(&world, time).await;
        report.fill(&world);
        let kept = worked.is_err().then(|| world.keep());
        // What is left of it is ended before anything is said, whatever has happened.
        world.close();
        if let Some(kept) = kept {
            println!("repository, state and logs are kept in {}", kept.display());
        }
        match worked {
            Ok(()) => {
                println!("{report}");
                println!("soak: every promise was kept");
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => match error.downcast_ref::<Broken>() {
                Some(broken) => {
                    println!("{report}");
                    println!("BROKEN: {broken}\nseed {seed}; again with: {again}");
                    Ok(ExitCode::FAILURE)
                }
                None => Err(error.context(format!("seed {seed}; again with: {again}"))),
            },
        }
    }

    fn again(&self, time: Duration, seed: u64) -> String {
        let Self { agents, viewers, kill_server_every, damage, other_build, .. } = self;
        let seconds = time.as_secs();
        let damage = damage.map(|damage| format!(" --break {}", damage.name()));
        let other = other_build.as_ref().map(|file| format!(" --other-build {}", file.display()));
        format!(
            "musher-bench soak --seconds {seconds} --agents {agents} --viewers {viewers} \
             --kill-server-every {kill_server_every} --seed {seed}{}{}",
            damage.unwrap_or_default(),
            other.unwrap_or_default()
        )
    }

    fn setup(&self) -> anyhow::Result<Setup> {
        if !cfg!(debug_assertions) && !self.no_build {
            Programs::find(Build::Now)?;
        }
        Setup::unmeasured(self.folder.clone())
    }

    async fn work(&self, world: &Arc<World>, time: Duration) -> anyhow::Result<()> {
        let (mut actors, mut watchers) = (JoinSet::new(), JoinSet::new());
        for n in 0..self.agents {
            actors.spawn(authors::author(world.clone(), n));
        }
        for n in 0..self.viewers {
            actors.spawn(viewers::viewer(world.clone(), n));
        }
        if self.kill_server_every > 0 {
            let every = Duration::from_secs(self.kill_server_every);
            actors.spawn(faults::kill_servers(world.clone(), every));
        }
        actors.spawn(faults::kill_runners(world.clone()));
        actors.spawn(faults::kill_agents(world.clone()));
        actors.spawn(garbage::talk(world.clone()));
        watchers.spawn(answers::desk(world.clone()));
        watchers.spawn(inspect::inspect(world.clone()));
        if let Some(damage) = self.damage {
            watchers.spawn(damage::plant(world.clone(), damage));
        }
        let settle = tokio::time::sleep(time);
        tokio::pin!(settle);
        let mut settling = false;
        loop {
            tokio::select! {
                () = &mut settle, if !settling => {
                    settling = true;
                    world.enter(Phase::Settling);
                }
                Some(watched) = watchers.join_next() => watched.context("a watcher died")??,
                acted = actors.join_next() => match acted {
                    Some(acted) => acted.context("an actor died")??,
                    None => break,
                },
            }
        }
        world.enter(Phase::Over);
        while let Some(watched) = watchers.join_next().await {
            watched.context("a watcher died")??;
        }
        reckoning::reckon(world).await
    }
}

fn random() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    dice::Dice::of(u64::from(now.subsec_nanos()), "seed", now.as_secs()).roll(1_000_000)
}
