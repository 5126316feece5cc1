//! Authors: each adds one story after the other, has it worked on, and speaks to the agent meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use musher_client::api::{ApiReceipt, ApiStory, Runs};
use serde_json::json;

use super::broken::{Broken, Promise};
use super::damage::Damage;
use super::dice::Dice;
use super::ledger::{self, How, Said};
use super::work::{End, Work};
use super::world::{PATIENCE, Phase, Told, World};

const LOOK: Duration = Duration::from_millis(100);
/// How long a person waits before she tries again what nobody answered.
const AGAIN: Duration = Duration::from_millis(50);
/// How long the end of the soak waits for a stop. An agent that ignores signals takes the whole stop ladder, about 14 s.
const IMPATIENT: Duration = Duration::from_secs(2);

pub(super) async fn author(world: Arc<World>, n: u64) -> anyhow::Result<()> {
    let mut dice = world.dice("author", n);
    for k in 0.. {
        if !world.works_after(dice.millis(0, 300)).await {
            break;
        }
        let author = Author { world: &world, story: format!("a{n}-{k}") };
        author.write(&mut dice).await?;
    }
    Ok(())
}

struct Author<'a> {
    world: &'a World,
    story: String,
}

impl Author<'_> {
    async fn write(&self, dice: &mut Dice) -> anyhow::Result<()> {
        let Work { text, end, prompts } = Work::roll(dice);
        self.add(&text).await?;
        let mut run = self.start().await?;
        for n in 0..prompts {
            self.world.works_after(dice.millis(50, 1500)).await;
            run = self.prompt(run, n, dice).await?;
        }
        let enough = match end {
            End::ByItself => PATIENCE / 2,
            End::Stopped | End::Killed => dice.millis(500, 3000),
        };
        let verb = if end == End::Killed { "kill" } else { "stop" };
        self.until_over(Instant::now() + enough, verb).await?;
        if !dice.one_in(4) {
            // Its worktree is free for the next one.
            self.want(&["stories", &self.story, "archive"]).await?;
        }
        self.world.count("stories worked on");
        Ok(())
    }

    async fn add(&self, text: &str) -> anyhow::Result<()> {
        let story = json!({ "id": self.story, "title": "Soak", "text": text });
        if self.world.damage == Some(Damage::LoseStory) && self.story == "a0-1" {
            // A client that takes silence for a yes.
            self.world.ledger().story(&format!("{}-lost", self.story), text);
        }
        let mut again = false;
        loop {
            match self.world.tell(&["stories"], &story).await? {
                Told::Yes(ApiReceipt::Added { .. }) => break,
                // The reply to the first one was lost.
                Told::No(problem) if problem.status == 409 && again => break,
                Told::Away => again = true,
                other @ (Told::Yes(_) | Told::No(_)) => return Err(self.odd("adding it", &other)),
            }
            tokio::time::sleep(AGAIN).await;
        }
        self.world.ledger().story(&self.story, text);
        self.world.count("stories added");
        Ok(())
    }

    async fn start(&self) -> anyhow::Result<String> {
        let run = loop {
            match self.world.tell(&["stories", &self.story, "start"], &json!({})).await? {
                Told::Yes(ApiReceipt::Queued { run }) => break run,
                Told::Away => {
                    tokio::time::sleep(AGAIN).await;
                    if let Some(run) = self.runs().await?.runs.first() {
                        break run.id.clone();
                    }
                }
                other @ (Told::Yes(_) | Told::No(_)) => return Err(self.odd("starting it", &other)),
            }
        };
        self.world.ledger().run(&run);
        self.world.count("runs begun");
        Ok(run)
    }

    /// Gives the agent more to do; gives the run that does it.
    async fn prompt(&self, run: String, n: u64, dice: &mut Dice) -> anyhow::Result<String> {
        let word = format!("word-{}-{n}.", self.story);
        let text = format!("[[work lines={} every_ms=10]] {word}", dice.between(1, 9));
        match self.world.tell(&["runs", &run, "prompt"], &json!({ "text": text })).await? {
            Told::Yes(ApiReceipt::Sent) => {
                let said = Said { run: run.clone(), word, how: How::Sent };
                // It is durable before anybody says that it is sent.
                ledger::prompt(self.world, &said)?;
                self.world.ledger().prompt(said);
                self.world.count("prompts sent");
                Ok(run)
            }
            Told::Yes(ApiReceipt::Queued { run }) => {
                let mut ledger = self.world.ledger();
                ledger.run(&run);
                ledger.prompt(Said { run: run.clone(), word, how: How::Begins });
                self.world.count("runs gone on with");
                Ok(run)
            }
            Told::Yes(ApiReceipt::Pending { .. }) | Told::Away => Ok(run),
            Told::No(problem) if (400..500).contains(&problem.status) => {
                self.world.count("prompts refused");
                Ok(run)
            }
            other @ (Told::Yes(_) | Told::No(_)) => Err(self.odd("prompting it", &other)),
        }
    }

    /// Waits until no run of the story is left, and ends those that take too long.
    async fn until_over(&self, enough: Instant, verb: &str) -> anyhow::Result<()> {
        let last = enough + PATIENCE;
        let mut told = None;
        loop {
            let story: Option<ApiStory> = self.world.look(&["stories", &self.story], &[]).await?;
            if story.is_some_and(|story| story.runs.live == 0) {
                return Ok(());
            }
            let now = Instant::now();
            if now > enough || self.world.phase() != Phase::Working {
                let live = self.runs().await?.runs.into_iter().filter(|run| !run.is_over());
                let since = *told.get_or_insert(now);
                let hurries = self.world.phase() != Phase::Working && now - since > IMPATIENT;
                let verb = if hurries { "kill" } else { verb };
                for run in live {
                    if now > last {
                        let seen = format!("{run:?} was told to {verb} and goes on");
                        return Err(Broken::error(Promise::Progress, seen));
                    }
                    self.want(&["runs", &run.id, verb]).await?;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn runs(&self) -> anyhow::Result<Runs> {
        let runs: Option<Runs> = self.world.look(&["runs"], &[("story", &self.story)]).await?;
        let runs = runs.unwrap_or_default();
        runs.runs.iter().for_each(|run| self.world.ledger().run(&run.id));
        Ok(runs)
    }

    /// Wants something that may be refused.
    async fn want(&self, path: &[&str]) -> anyhow::Result<()> {
        match self.world.tell(path, &json!({})).await? {
            Told::Yes(_) | Told::Away => Ok(()),
            Told::No(problem) if (400..500).contains(&problem.status) => Ok(()),
            other => Err(self.odd(&format!("{path:?}"), &other)),
        }
    }

    fn odd(&self, doing: &str, told: &Told) -> anyhow::Error {
        let seen = format!("{doing}, the story {}, was replied to with {told:?}", self.story);
        Broken::error(Promise::Server, seen)
    }
}
