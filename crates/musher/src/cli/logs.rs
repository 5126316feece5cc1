//! `musher logs`: what a run did, and with `-f` what it does.

mod flow;
mod in_place;

use std::io;

use clap::Args;
use musher_core::{Event, EventKind};
use musher_runtime::SessionOutput;

use super::place::{PlaceArgs, WorkLocation};
use super::render::{People, View};
use super::run_name::RunNameArg;
use super::terminal::Interrupts;
use super::{CliError, CliExit, out, tell};
use flow::{Flow, LogChunk};
use in_place::InPlace;
use musher_client::api::{ApiRun, ApiTokens, Events};
use musher_client::{ApiProblem, Client, ClientError, SseMessage, StreamFollower, StreamUpdate};
use musher_log::Cursor;
use musher_log::wire::DeltaLine;

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// Follow the run until it ends.
    #[arg(short, long)]
    follow: bool,
    /// Only events after this cursor, such as `1.42`.
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
    /// Only the last events.
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "after")]
    last: Option<u64>,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Pieces of text that may wait for the events before them.
const HELD: usize = 256;

impl Logs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        // The name is settled once: after a restart it might stand for another run.
        let run: ApiRun = client.read(&["runs", &self.run.wire()], &[]).await?;
        let mut reader = Reader::new(&place, run.id, &client).await;
        let mut after = self.after.map(|cursor| cursor.to_string());
        if !self.follow || self.last.is_some() {
            after = reader.pages(&client, after, self.last).await?;
        }
        if self.follow {
            return match reader.follow(&place, after).await? {
                Followed::Ended(_) => Ok(CliExit::Completed),
                Followed::Left => Ok(CliExit::Stopped),
            };
        }
        reader.finish()?;
        Ok(CliExit::Completed)
    }
}

/// Shows what a run does until it is over; the exit tells how it ended.
pub(crate) async fn follow(place: &WorkLocation, run: &str) -> Result<CliExit, CliError> {
    let mut reader = Reader::new(place, run.to_owned(), &place.client()?).await;
    match reader.follow(place, None).await? {
        Followed::Ended(exit) => Ok(exit),
        Followed::Left => {
            tell(&format!("the run continues; `musher stop {run}` stops it"));
            Ok(CliExit::Stopped)
        }
    }
}

/// Why following ended.
enum Followed {
    /// The run is over.
    Ended(CliExit),
    /// The person has seen enough.
    Left,
}

/// Shows the events of one run.
struct Reader {
    run: String,
    view: Show,
    exit: CliExit,
}

enum Show {
    /// The lines as they are.
    Json,
    People {
        view: Box<People>,
        flow: Flow,
        /// The last event that was shown.
        seq: u64,
        /// Text that came before the events that it follows.
        held: Vec<DeltaLine>,
    },
}

impl Reader {
    async fn new(place: &WorkLocation, run: String, client: &Client) -> Self {
        let view = match place.json() {
            true => Show::Json,
            false => {
                // Without their names, holders of tokens are told by their ids.
                let known = client.read::<ApiTokens>(&["tokens"], &[]).await;
                let known = known.map(|known| known.tokens).unwrap_or_default();
                let holders = known.into_iter().map(|token| (token.id, token.name)).collect();
                let view = Box::new(People::reading(run.clone(), holders));
                Show::People { view, flow: Flow::default(), seq: 0, held: Vec::new() }
            }
        };
        Self { run, view, exit: CliExit::Completed }
    }

    /// Shows what is there, and gives the place where it ends.
    async fn pages(
        &mut self,
        client: &Client,
        mut after: Option<String>,
        last: Option<u64>,
    ) -> Result<Option<String>, CliError> {
        let last = last.map(|last| last.to_string());
        let mut first = true;
        loop {
            let mut query = vec![("limit", "5000")];
            match (&after, &last) {
                (None, Some(last)) if first => query.push(("last", last)),
                (after, _) => query.extend(after.as_deref().map(|after| ("after", after))),
            }
            first = false;
            let page: Events = client.read(&["runs", &self.run, "events"], &query).await?;
            if page.reset {
                lost_events();
            }
            for line in &page.events {
                self.line(line.get())?;
            }
            after = Some(page.next);
            if page.end {
                return Ok(after);
            }
        }
    }

    async fn follow(
        &mut self,
        place: &WorkLocation,
        after: Option<String>,
    ) -> Result<Followed, CliError> {
        let path = ["runs", self.run.as_str(), "events", "stream"];
        let deltas: &[(&str, &str)] = match self.view {
            Show::Json => &[],
            Show::People { .. } => &[("deltas", "1")],
        };
        let mut interrupts = Interrupts::listen();
        let mut follow = StreamFollower::new(|| place.find(), &path, deltas, after);
        let mut in_place = match self.view {
            Show::Json => None,
            Show::People { .. } => InPlace::at_a_terminal(&self.run),
        };
        loop {
            let typed = async {
                match &mut in_place {
                    Some(in_place) => in_place.next().await,
                    None => std::future::pending().await,
                }
            };
            let heard = tokio::select! {
                heard = follow.next() => heard,
                line = typed => {
                    if let Some(in_place) = &mut in_place
                        && let Some(words) = in_place.line(place, line).await
                    {
                        self.ask(&words)?;
                    }
                    continue;
                }
                () = interrupts.next() => {
                    self.finish()?;
                    return Ok(Followed::Left);
                }
            };
            match heard {
                Ok(StreamUpdate::Message(message)) => {
                    if let Some(ended) = self.message(&message)? {
                        return Ok(ended);
                    }
                    if let Some(in_place) = &mut in_place
                        && message.event.is_none()
                        && let Some(words) = in_place.heard(place, &message.data).await?
                    {
                        self.ask(&words)?;
                    }
                }
                Ok(StreamUpdate::Lost { why, wait }) => {
                    self.broke_off()?;
                    tell(&format!(
                        "lost the server ({why}); trying again in {} ms",
                        wait.as_millis()
                    ));
                }
                Ok(StreamUpdate::Back) => tell("the server is back"),
                Err(error) => {
                    self.finish()?;
                    return Err(error.into());
                }
            }
        }
    }

    fn message(&mut self, message: &SseMessage) -> Result<Option<Followed>, CliError> {
        match message.event.as_deref() {
            None => self.line(&message.data)?,
            Some("delta") => self.delta(&message.data)?,
            Some("reset") => {
                self.broke_off()?;
                lost_events();
            }
            Some("end") => {
                self.finish()?;
                return Ok(Some(Followed::Ended(self.exit)));
            }
            Some("problem") => {
                self.finish()?;
                let problem: ApiProblem = serde_json::from_str(&message.data).unwrap_or_default();
                return Err(ClientError::Refused(Box::new(problem)).into());
            }
            // A newer server may say more.
            Some(_) => {}
        }
        Ok(None)
    }

    /// Shows one event.
    fn line(&mut self, line: &str) -> Result<(), CliError> {
        let event: Option<Event> = serde_json::from_str(line).ok();
        if let Some(EventKind::SessionEnded(end)) = event.as_ref().map(|event| &event.kind) {
            self.exit = CliExit::of(end);
        }
        match &mut self.view {
            Show::Json => out::document(line),
            Show::People { view, flow, seq, held } => {
                // People can do without an event of a newer version; programs get it with --json.
                let Some(event) = event else { return Ok(()) };
                if let EventKind::ItemDone { item, .. } = &event.kind {
                    flow.done(item);
                }
                *seq = event.seq;
                view.show(&SessionOutput::Event(event), false).map_err(CliError::Output)?;
                let due = held.extract_if(.., |line| line.after <= *seq).collect::<Vec<_>>();
                due.into_iter().try_for_each(|line| piece(view, flow, line))
            }
        }
    }

    fn delta(&mut self, line: &str) -> Result<(), CliError> {
        let Show::People { view, flow, seq, held } = &mut self.view else { return Ok(()) };
        let Ok(line) = serde_json::from_str::<DeltaLine>(line) else { return Ok(()) };
        if line.after > *seq {
            // What does not fit is in the event that follows.
            if held.len() < HELD {
                held.push(line);
            }
            return Ok(());
        }
        piece(view, flow, line)
    }

    fn broke_off(&mut self) -> Result<(), CliError> {
        if let Show::People { held, .. } = &mut self.view {
            held.clear();
        }
        self.people(|view, flow| {
            *flow = Flow::default();
            view.broke_off()
        })
    }

    /// Puts an ask to the person.
    fn ask(&mut self, words: &str) -> Result<(), CliError> {
        self.people(|view, _| {
            view.ask(words);
            Ok(())
        })
    }

    /// Leaves the terminal as it was found.
    fn finish(&mut self) -> Result<(), CliError> {
        self.people(|view, _| view.finish())
    }

    fn people(
        &mut self,
        act: impl FnOnce(&mut People, &mut Flow) -> io::Result<()>,
    ) -> Result<(), CliError> {
        match &mut self.view {
            Show::Json => Ok(()),
            Show::People { view, flow, .. } => act(view, flow).map_err(CliError::Output),
        }
    }
}

/// Shows a piece of text in flight.
fn piece(view: &mut People, flow: &mut Flow, line: DeltaLine) -> Result<(), CliError> {
    let shown = match flow.take(line) {
        LogChunk::Show(delta) => view.show(&SessionOutput::Delta(delta), false),
        LogChunk::BrokeOff => view.broke_off(),
        LogChunk::Nothing => Ok(()),
    };
    shown.map_err(CliError::Output)
}

fn lost_events() {
    tell("the last events before a crash were lost; going on from what was kept");
}
