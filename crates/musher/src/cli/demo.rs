//! `musher demo`: three scripted agents work on three stories at once, in a repository made for it.

mod answers;
mod stage;
mod watch;

use std::time::{Duration, Instant};

use anstyle::AnsiColor;
use clap::Args;
use musher_core::pool::CommandReply;
use musher_core::{
    Actor, AgentName, CommandId, Outcome, RunId, RunOptions, ShownAsk, StoryId, Usd, Variables,
    Via, Who,
};
use uuid::Uuid;

use super::asking::STRAY_INPUT_WINDOW;
use super::diff::unified;
use super::http_listener::Web;
use super::signals::Signals;
use super::terminal::Typed;
use super::{CliError, CliExit, out, tell, terminal};
use crate::api::ask_digest;
use crate::journal::Views;
use crate::pool::{AcceptedCommand, RunName, Wish};
use crate::runner::launch;
use answers::{is_closed, marked, own_answer, typed, until_closed};
use musher_client::api::ApiDiff;
use stage::DemoServer;
use watch::{DemoAsk, DemoRun};

/// What is to be done, by whom, and in which colour.
const STORIES: &[(&str, &str, AnsiColor)] = &[
    ("Greet people by name", "greeter", AnsiColor::Green),
    ("Count what is in a file", "counter", AnsiColor::Cyan),
    ("Write the manual", "writer", AnsiColor::Magenta),
];
/// How often the logs are looked at; they are local and short.
const DEMO_POLL_INTERVAL: Duration = Duration::from_millis(30);

/// A demonstration that needs no key and no network.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Approve everything, and answer questions with the first option.
    #[arg(short, long)]
    yes: bool,
    /// Stay open until Ctrl-C, even if nobody is at the terminal.
    #[arg(long)]
    stay: bool,
    #[command(flatten)]
    web: Web,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let mut signals = Signals::heed();
        let (stage, door) = DemoServer::set(self.web.site()).await?;
        let latch = door.latch();
        out::prose(&format!(
            "Three scripted agents work at once in {}, which is removed at the end.",
            stage.repo().display()
        ))?;
        let unattended = self.yes || !terminal::can_ask();
        let stays = self.stay || !unattended;
        if unattended {
            out::prose("Nobody is asked: the demonstration answers for you, and says so.")?;
        }
        if stays {
            out::line(&format!("Watch it in a browser: {}\n", door.link()))?;
        }
        let (link, typed) = (door.link(), Typed::default());
        let mut show = Show { stage, link, unattended, typed, vanished: None, cast: Vec::new() };
        let played = async {
            let played = tokio::select! {
                played = show.play(stays) => played,
                () = signals.told_to_end() => {
                    tell("Ending everything.");
                    Ok(CliExit::Stopped)
                }
            };
            latch.close();
            played
        };
        let (served, played) = tokio::join!(door.serve(), played);
        show.end().await;
        served.and(played)
    }
}

struct Show {
    stage: DemoServer,
    /// Where a browser sees it.
    link: String,
    unattended: bool,
    typed: Typed,
    /// When an ask that was in front of the person was answered elsewhere.
    vanished: Option<Instant>,
    cast: Vec<(StoryId, DemoRun)>,
}

impl Show {
    async fn play(&mut self, stays: bool) -> Result<CliExit, CliError> {
        for (title, agent, colour) in STORIES {
            let add = Wish::AddStory {
                id: None,
                title: (*title).into(),
                text: String::new(),
                context: Variables::new(),
                spec: Default::default(),
            };
            let CommandReply::Story(story) = self.wish(add).await? else { return Err(odd()) };
            let name: AgentName =
                agent.parse().map_err(|error| CliError::user(format!("{error}")))?;
            let start = Wish::StartRun {
                story: story.clone(),
                agent: Some(name),
                model: None,
                prompt: None,
                options: RunOptions::default(),
            };
            let CommandReply::Run(run) = self.wish(start).await? else { return Err(odd()) };
            out::line(&format!("  {story}  {title:<26} {run} by {agent}"))?;
            self.cast.push((story, DemoRun::new(run, agent, *colour)));
        }
        out::line("")?;
        let bus = self.stage.supervisor.bus().clone();
        while self.cast.iter().any(|(_, watched)| watched.outcome.is_none()) {
            let mut asked = Vec::new();
            for (_, watched) in &mut self.cast {
                asked.extend(watched.look(&bus)?);
            }
            // The others work on while a person thinks; what they did is shown afterwards.
            for asked in asked {
                self.answer(asked).await?;
            }
            tokio::time::sleep(DEMO_POLL_INTERVAL).await;
            launch::reap();
        }
        for (_, watched) in &self.cast {
            self.finished(watched.run).await?;
        }
        self.show_work().await?;
        if stays {
            self.stay().await?;
        }
        let completed =
            |(_, watched): &(StoryId, DemoRun)| watched.outcome == Some(Outcome::Completed);
        Ok(if self.cast.iter().all(completed) { CliExit::Completed } else { CliExit::Failed })
    }

    /// Lets people look around in the browser until they have seen enough.
    async fn stay(&mut self) -> Result<(), CliError> {
        if self.unattended {
            out::line(&format!("\nThe web UI stays open: {}\nCtrl-C ends everything.", self.link))?;
            return std::future::pending().await;
        }
        // What is typed once the words are there counts.
        self.typed.listen();
        out::line(&format!("\nThe web UI stays open: {}", self.link))?;
        out::line("Read, review, start more there. Enter ends everything.")?;
        self.typed.next().await;
        Ok(())
    }

    async fn answer(&mut self, asked: DemoAsk) -> Result<(), CliError> {
        let Some((_, watched)) = self.cast.iter().find(|(_, watched)| watched.run == asked.run)
        else {
            return Ok(());
        };
        let answer = match self.unattended {
            true => {
                let (answer, said) = own_answer(&asked.body);
                watched.say(&marked(&asked.body, &answer))?;
                watched.say(&format!("› {said} (answered by the demonstration)"))?;
                answer
            }
            false => {
                out::line("")?;
                out::line(&format!("{} asks:", watched.agent))?;
                let pool = self.stage.supervisor.pool();
                let startled = self.vanished.is_some_and(|at| at.elapsed() < STRAY_INPUT_WINDOW);
                let answer = tokio::select! {
                    answer = typed(&asked.body, &mut self.typed, startled) => Some(answer?),
                    () = until_closed(pool, asked.run, &asked.ask) => None,
                };
                let Some(answer) = answer else {
                    self.vanished = Some(Instant::now());
                    return out::line("› answered in the browser\n");
                };
                out::line("")?;
                answer
            }
        };
        let run = RunName::Id(asked.run);
        let pool = self.stage.supervisor.pool();
        pool.until_heard(&run, &asked.ask).await;
        let digest = serde_json::to_value(&asked.body)
            .map(|body| ask_digest(asked.run, &asked.ask, &body))
            .ok();
        // What was shown was read in the log a moment ago.
        let seen = ShownAsk { shown: digest.clone(), logged: digest };
        let wish = Wish::Answer { run, ask: asked.ask.clone(), answer, seen };
        match self.wish(wish).await {
            // The browser was quicker.
            Err(_) if is_closed(pool, asked.run, &asked.ask).await => {
                out::line("› answered in the browser\n")
            }
            answered => answered.map(|_| ()),
        }
    }

    /// Waits until what a run left is committed.
    async fn finished(&self, run: RunId) -> Result<(), CliError> {
        let mut facts = self.stage.supervisor.pool().facts();
        while self.view(|views| views.run(run))?.is_some_and(|view| !view.phase.is_over()) {
            if facts.changed().await.is_err() {
                return Err(CliError::Unavailable("the pool has ended".into()));
            }
        }
        Ok(())
    }

    async fn show_work(&self) -> Result<(), CliError> {
        let mut total = Usd::default();
        for (story, watched) in &self.cast {
            let Some(view) = self.view(|views| views.run(watched.run))? else { continue };
            let branch = view.branch.clone().unwrap_or_default();
            let cost = view.spent.cost_usd.map(Usd::from_dollars);
            let told = cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string());
            out::line(&format!("\n{story} by {} on branch {branch}, {told}", watched.agent))?;
            total = total.plus(Usd::from_dollars(view.spent.known_cost_usd));
            if let Some(slot) = view.slot {
                for file in &self.changes(slot).await?.files {
                    out::line(&unified(file))?;
                }
            }
        }
        out::line(&format!(
            "\nThe bill: {total} for three stories (a script's money is not real)."
        ))?;
        out::prose(
            "In a repository of yours: `musher init`, `musher serve`, `musher story add`, `musher start`.",
        )
    }

    async fn changes(&self, slot: musher_core::SlotId) -> Result<ApiDiff, CliError> {
        let diff = self.stage.supervisor.changes(slot).await;
        let diff = diff.map_err(|error| CliError::Unavailable(error.to_string()))?;
        serde_json::to_value(diff)
            .and_then(serde_json::from_value)
            .map_err(|error| CliError::Unavailable(error.to_string()))
    }

    fn view<T>(
        &self,
        look: impl FnOnce(&Views) -> Result<T, crate::journal::JournalError>,
    ) -> Result<T, CliError> {
        look(self.stage.supervisor.views())
            .map_err(|error| CliError::Unavailable(error.to_string()))
    }

    async fn wish(&self, wish: Wish) -> Result<CommandReply, CliError> {
        let id: CommandId = Uuid::new_v4()
            .to_string()
            .parse()
            .map_err(|error| CliError::user(format!("{error}")))?;
        let by = Actor { who: Who::Owner, via: Via::Cli };
        let accepted = self.stage.supervisor.pool().command(wish, id, by, None).await;
        let reply = match accepted {
            Ok(AcceptedCommand::Final(reply)) => Ok(reply),
            Ok(AcceptedCommand::Pending(pending)) => pending.last_word().await,
            Err(error) => Err(error),
        };
        reply.map_err(|error| CliError::user(error.to_string()))
    }

    /// Ends whatever is still at work, also what was started in the browser, and takes the stage away.
    async fn end(self) {
        // A run that ends makes room for one that waits, so they are looked at anew each time.
        while let Some(run) = self.stage.supervisor.live().await.pop() {
            // It may have ended by itself in the meantime.
            let _ended = self.wish(Wish::Kill { run: RunName::Id(run) }).await;
            let _ended = self.finished(run).await;
        }
        self.stage.strike().await;
        launch::reap();
    }
}

fn odd() -> CliError {
    CliError::Unavailable("the pool gave another reply than was asked for".into())
}
