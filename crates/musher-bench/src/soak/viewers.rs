//! Viewers: they come, read, stall, leave and come back where they were, and hold every event against the log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use musher_client::{SseMessage, Stream};
use musher_log::Cursor;
use serde_json::Value as Json;

use super::broken::{Broken, Promise};
use super::damage::Damage;
use super::dice::Dice;
use super::logs::Lines;
use super::world::{PATIENCE, World};

/// The event at which a damaged viewer errs.
const ERRS_AT: u64 = 12;

pub(super) async fn viewer(world: Arc<World>, n: u64) -> anyhow::Result<()> {
    let mut dice = world.dice("viewer", n);
    while world.works_after(dice.millis(0, 300)).await {
        let run = {
            let ledger = world.ledger();
            // Mostly those that work now.
            let from = ledger.runs.len().saturating_sub(if dice.one_in(4) { 200 } else { 16 });
            dice.pick(&ledger.runs[from..]).cloned()
        };
        let Some(run) = run else { continue };
        let source = if dice.one_in(5) { Source::Feed } else { Source::Log };
        let damage = world.damage.filter(|_| n == 0 && source == Source::Log);
        let lines = Lines::of(world.folder(&run));
        let id = format!("viewer {n}");
        let world: &World = &world;
        Viewer { world, id, run, source, lines, damage, seen: 0, facts: None, last: None }
            .follow(&mut dice)
            .await?;
        world.count("logs seen to their end");
    }
    Ok(())
}

/// Where a viewer looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Log,
    /// The run as a part of everything.
    Feed,
}

/// How one visit goes.
struct Visit {
    /// It leaves after so many messages.
    messages: u64,
    /// It does not read for a while before this one.
    stalls_at: u64,
    stall: Duration,
}

impl Visit {
    fn roll(dice: &mut Dice) -> Self {
        let messages = if dice.one_in(3) { dice.between(1, 60) } else { u64::MAX };
        let stall = if dice.one_in(8) { dice.millis(500, 4000) } else { dice.millis(0, 50) };
        Self { messages, stalls_at: dice.roll(40), stall }
    }
}

struct Viewer<'a> {
    world: &'a World,
    id: String,
    run: String,
    source: Source,
    lines: Lines,
    damage: Option<Damage>,
    /// The number of the last event.
    seen: u64,
    /// The number of the last fact.
    facts: Option<u64>,
    /// Where to go on.
    last: Option<String>,
}

impl Viewer<'_> {
    async fn follow(mut self, dice: &mut Dice) -> anyhow::Result<()> {
        let mut heard = Instant::now();
        loop {
            let before = (self.seen, self.facts);
            if let Some(mut stream) = self.open(dice).await? {
                let ended = self.visit(&mut stream, Visit::roll(dice)).await?;
                self.last = stream.last_id().map(str::to_owned).or(self.last.take());
                if ended {
                    return self.ended();
                }
            }
            if (self.seen, self.facts) != before || self.world.lives(&self.run) {
                heard = Instant::now();
            }
            if heard.elapsed() > PATIENCE {
                return Err(self.wrong(Promise::Progress, "its stream never ended"));
            }
            tokio::time::sleep(dice.millis(0, 100)).await;
        }
    }

    async fn open(&mut self, dice: &mut Dice) -> anyhow::Result<Option<Stream>> {
        let deltas = if dice.one_in(4) { "1" } else { "0" };
        let client = self.world.door().client;
        let last = self.last.as_deref();
        let opened = match self.source {
            Source::Log => {
                let path = ["runs", &self.run, "events", "stream"];
                client.stream(&path, &[("deltas", deltas)], last).await
            }
            Source::Feed => {
                if last.is_none() {
                    self.facts = None;
                }
                let query = [("runs", self.run.as_str()), ("deltas", deltas)];
                client.stream(&["feed"], &query, last).await
            }
        };
        match opened {
            Ok(stream) => {
                self.world.count("streams opened");
                Ok(Some(stream))
            }
            Err(error) if error.passes() => Ok(None),
            Err(error) => {
                let seen = format!("its stream after {last:?} was refused: {error}");
                Err(self.wrong(Promise::Server, &seen))
            }
        }
    }

    /// Reads for a while; tells whether the run has ended.
    async fn visit(&mut self, stream: &mut Stream, visit: Visit) -> anyhow::Result<bool> {
        for n in 0..visit.messages {
            if n == visit.stalls_at {
                tokio::time::sleep(visit.stall).await;
            }
            match stream.next().await {
                Ok(Some(message)) => {
                    if self.take(&message).await? {
                        return Ok(true);
                    }
                }
                // The server is gone.
                Ok(None) => return Ok(false),
                Err(error) => return Err(self.wrong(Promise::Numbers, &error.to_string())),
            }
        }
        self.world.count("streams left by their viewers");
        Ok(false)
    }

    /// Takes a message in; tells whether it says that the run has ended.
    async fn take(&mut self, message: &SseMessage) -> anyhow::Result<bool> {
        let SseMessage { event, id, data } = message;
        match (self.source, event.as_deref()) {
            (Source::Log, None) => {
                let place = id.as_deref().unwrap_or_default();
                self.event(place, data).await?;
            }
            (Source::Feed, Some("run")) => {
                let parts = data.strip_prefix(&format!(r#"{{"run":"{}","id":""#, self.run));
                let parts = parts.and_then(|rest| rest.strip_suffix('}'));
                let Some((place, line)) = parts.and_then(|rest| rest.split_once(r#"","event":"#))
                else {
                    return Err(self.wrong(Promise::Numbers, &format!("odd: {data}")));
                };
                self.event(place, line).await?;
            }
            (Source::Feed, Some("ready")) => {
                let facts = serde_json::from_str::<Json>(data)?["facts"].as_u64();
                self.facts = self.facts.or(facts);
            }
            (Source::Feed, Some("fact")) => {
                let n = serde_json::from_str::<Json>(data)?["n"].as_u64();
                if n != self.facts.map(|facts| facts + 1) {
                    let seen = format!("the fact {n:?} came after {:?}", self.facts);
                    return Err(self.wrong(Promise::Numbers, &seen));
                }
                self.facts = n;
                self.world.count("facts seen");
            }
            (_, Some("delta")) => self.world.count("deltas seen"),
            (Source::Feed, Some("headline")) => {}
            (_, Some("end")) => return Ok(true),
            (_, other) => {
                let seen = format!("it was told `{}`: {data}", other.unwrap_or("message"));
                return Err(self.wrong(Promise::Numbers, &seen));
            }
        }
        Ok(false)
    }

    async fn event(&mut self, place: &str, line: &str) -> anyhow::Result<()> {
        match self.damage {
            Some(Damage::DropEvent) if self.seen + 1 == ERRS_AT => {
                self.damage = None;
                return Ok(());
            }
            Some(Damage::DoubleEvent) if self.seen == ERRS_AT => {
                self.damage = None;
                self.held_against_the_log(place, line).await?;
            }
            _ => {}
        }
        self.held_against_the_log(place, line).await
    }

    async fn held_against_the_log(&mut self, place: &str, line: &str) -> anyhow::Result<()> {
        let seq = place.parse::<Cursor>().ok().map(|cursor| cursor.seq);
        if seq != Some(self.seen + 1) {
            let seen = format!("{place} came after the event {}", self.seen);
            return Err(self.wrong(Promise::Numbers, &seen));
        }
        let logged = self.lines.seen().await?;
        if logged.as_deref() != Some(line.as_bytes()) {
            let logged = logged.map(|logged| String::from_utf8_lossy(&logged).into_owned());
            let seen = format!("at {place} it saw {line}, and the log has {logged:?}");
            return Err(self.wrong(Promise::Numbers, &seen));
        }
        self.seen += 1;
        self.world.count("events seen");
        Ok(())
    }

    /// At the end the log has nothing that was not seen.
    fn ended(mut self) -> anyhow::Result<()> {
        match self.lines.next()? {
            None => Ok(()),
            Some(line) => {
                let line = String::from_utf8_lossy(&line).into_owned();
                let seen = format!("it was told that the run has ended before it saw {line}");
                Err(self.wrong(Promise::Numbers, &seen))
            }
        }
    }

    fn wrong(&self, promise: Promise, seen: &str) -> anyhow::Error {
        let Self { id, run, source, .. } = self;
        Broken::error(promise, format!("{id} of {run} ({source:?}): {seen}"))
    }
}
