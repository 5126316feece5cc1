//! Ten thousand subscribers, of which half never read, beside agents at work: whether anybody feels them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure, percentile, sorted};
use crate::row::{Needs, Rounds, Row};
use crate::setup::Setup;
use crate::slow::Slow;
use crate::stage::conductor::{Conductor, Players, Score};
use crate::stage::heard::Heard;
use crate::stage::memory::{Memory, mib};
use crate::stage::place::Place;
use crate::stage::subscriber::{Got, Subscriber, number};
use crate::stand_in::Playing;

const NONE: &str = "no subscribers";

pub const ROW: Row = Row {
    name: "load-subscribers",
    about: "10,000 subscribers of which half never read, 100 agents × 2 events/s",
    measures: &[
        Measure::beside("p50", "agent's write → log, p50", "µs", NONE, Bar::None),
        Measure::beside(
            "p99",
            "agent's write → log, p99",
            "µs",
            NONE,
            Bar::RatioAtMostOrWithin(1.25),
        ),
        // The reader shares two processors with all the others, which are served beside it.
        Measure::beside("heard_p50", "agent's write → a reader, p50", "µs", NONE, Bar::None),
        Measure::beside("heard_p99", "agent's write → a reader, p99", "µs", NONE, Bar::None),
        Measure::alone("worst", "a reader among them, p99", "ms", Bar::AtMost(250.0)),
        Measure::alone("lost", "of them lost something", "", Bar::AtMost(0.0)),
        // Beside none it cannot be measured here: a server keeps for the next ones what they have cost it.
        Measure::alone("server", "server with them", "MiB", Bar::None),
    ],
    rounds: Rounds::Many,
    needs: Needs::Crowd,
    run: |bench| Box::pin(run(bench)),
};

const SUBSCRIBERS: u64 = 10_000;
const AGENTS: u64 = 100;
const SCORE: Score = Score { lines: 24, together: 1, every: Duration::from_millis(500) };
/// File handles that are needed for everything else.
const RESERVED: usize = 1_500;
/// So many connect at once, which the listener's queue can hold.
const AT_ONCE: usize = 100;
/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(20);

/// With so few nothing is timed.
const FEW: usize = 500;
const FEW_AGENTS: usize = 10;
/// More than the connection of one that does not read can hold.
const BURST: Score = Score { lines: 2_000, together: 2_000, every: Duration::ZERO };

/// Agents that say what time it is, each with a reader that listens.
struct Stage {
    place: Place,
    players: Players,
    heard: Arc<Heard>,
    /// Looks at the logs where they are written.
    logs: Playing,
    runs: Vec<String>,
    _reading: JoinSet<anyhow::Result<Got>>,
    _folder: TempDir,
}

impl Stage {
    async fn open(setup: &Setup, agents: usize) -> anyhow::Result<Self> {
        let conductor = Conductor::open().await?;
        let folder = TempDir::new_in(&setup.folder)?;
        let place = Place::with_agent(setup, &conductor.agent(setup, folder.path())?)?;
        let heard = Arc::new(Heard::new(Slow::NONE));
        let (mut reading, mut runs) = (JoinSet::new(), Vec::new());
        for _ in 0..agents {
            let run = place.begin("go").await?;
            let (listener, heard) = (Subscriber::connect(&place, &run).await?, heard.clone());
            reading.spawn(listener.watch(move |line| heard.line(line)));
            runs.push(run);
        }
        let players = conductor.gather(agents).await?;
        // What each says when it starts is heard first.
        heard.wait(agents).await?;
        let folders = runs.iter().map(|run| place.folder(run).into_os_string());
        let logs = Playing::start(setup, std::iter::once("follow".into()).chain(folders))?;
        Ok(Self { place, players, heard, logs, runs, _reading: reading, _folder: folder })
    }

    /// Lets every agent speak.
    async fn speak(&mut self, score: Score, slow: Slow) -> anyhow::Result<Late> {
        let lines = self.runs.len() * score.lines as usize;
        let mut ask = || self.logs.ask(&slow.factor().to_string());
        let _before = ask()?;
        self.players.speak(score).await?;
        let heard = self.heard.wait(lines).await?;
        let stored: Vec<f64> = serde_json::from_str(&ask()?)?;
        ensure!(stored.len() == lines, "{} of {lines} lines were seen in the logs", stored.len());
        Ok(Late { stored: sorted(stored), heard })
    }
}

/// How late the lines were in the log and with their reader, in microseconds, least first.
#[derive(Debug, Default)]
struct Late {
    stored: Vec<f64>,
    heard: Vec<f64>,
}

/// Subscribers of all runs; every other one reads.
struct Subscribers {
    readers: Vec<Reader>,
    _reading: JoinSet<anyhow::Result<Got>>,
    /// They are connected, and that is all.
    silent: Vec<(String, Subscriber)>,
}

/// How far one that reads has come.
struct Reader {
    run: String,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    last: AtomicU64,
    /// Events that did not have the number after the last one's.
    strays: AtomicU64,
}

impl Seen {
    fn line(&self, line: &[u8]) {
        let Some(id) = line.strip_prefix(b"id: ") else { return };
        let dot = memchr::memchr(b'.', id).map_or(id.len(), |dot| dot + 1);
        let (seq, due) = (number(&id[dot..]), self.last.load(Ordering::Relaxed) + 1);
        match seq == due {
            true => self.last.store(seq, Ordering::Relaxed),
            false => _ = self.strays.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Waits until it has come so far, or can come no further.
    async fn reaches(&self, last: u64) -> anyhow::Result<bool> {
        let began = Instant::now();
        while self.last.load(Ordering::Relaxed) < last {
            if self.strays.load(Ordering::Relaxed) > 0 {
                return Ok(false);
            }
            ensure!(began.elapsed() < PATIENCE, "a subscriber does not come to the end");
            tokio::time::sleep(LOOK).await;
        }
        Ok(self.strays.load(Ordering::Relaxed) == 0)
    }
}

impl Subscribers {
    async fn come(stage: &Stage, count: usize) -> anyhow::Result<Self> {
        let (mut readers, mut reading, mut silent) = (Vec::new(), JoinSet::new(), Vec::new());
        for n in (0..count).step_by(AT_ONCE) {
            let connecting = (n..count.min(n + AT_ONCE)).map(|n| async move {
                let run = stage.runs[n / 2 % stage.runs.len()].clone();
                let subscriber = Subscriber::connect(&stage.place, &run).await?;
                anyhow::Ok((n, run, subscriber))
            });
            for (n, run, subscriber) in futures_util::future::try_join_all(connecting).await? {
                if n % 2 == 0 {
                    silent.push((run, subscriber));
                    continue;
                }
                let seen = Arc::new(Seen::default());
                readers.push(Reader { run, seen: seen.clone() });
                reading.spawn(subscriber.watch(move |line| seen.line(line)));
            }
        }
        // What was said before they came is not what is measured.
        for Reader { run, seen } in &readers {
            seen.reaches(stage.place.last(run)).await?;
        }
        Ok(Self { readers, _reading: reading, silent })
    }

    /// How many did not get everything that was said, when those who never read do so at last.
    async fn lost(&mut self, place: &Place) -> anyhow::Result<usize> {
        let mut lost = 0;
        for Reader { run, seen } in &self.readers {
            lost += usize::from(!seen.reaches(place.last(run)).await?);
        }
        for some in self.silent.chunks_mut(AT_ONCE) {
            let reading = some.iter_mut().map(|(run, subscriber)| async {
                let last = place.last(run);
                let got = tokio::time::timeout(PATIENCE, subscriber.read_to(last)).await;
                anyhow::Ok(got.context("one that reads at last does not come to the end")??)
                    .map(|got| got.whole(last).is_err())
            });
            let reading = futures_util::future::try_join_all(reading).await?;
            lost += reading.into_iter().filter(|lost| *lost).count();
        }
        Ok(lost)
    }

    /// They hang up, and the server has noticed it when this returns.
    async fn leave(self, place: &Place, others: usize) -> anyhow::Result<()> {
        drop(self);
        let began = Instant::now();
        while place.open_files()? > others {
            ensure!(began.elapsed() < PATIENCE, "the server does not notice that they have left");
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let agents = bench.setup.effort.of(AGENTS) as usize;
    let room = bench.setup.files.saturating_sub(RESERVED);
    let most = (bench.setup.effort.of(SUBSCRIBERS) as usize).min(room);
    if most == room {
        bench.note(format!("only {most} subscribers: no more files may be open"));
    }
    let mut stage = Stage::open(&bench.setup, agents).await?;
    // Whatever else is open comes and goes, but not by the hundred.
    let others = stage.place.open_files()? + most / 10;
    while bench.another_round()? {
        let (mut with, mut without) = (Late::default(), Late::default());
        let (mut memory, mut lost) = (0, 0);
        for side in bench.order() {
            match side {
                Side::Ours => {
                    let mut subscribers = Subscribers::come(&stage, most).await?;
                    with = stage.speak(SCORE, bench.slow).await?;
                    memory = Memory::of(stage.place.pid())?.rss;
                    lost = subscribers.lost(&stage.place).await?;
                    subscribers.leave(&stage.place, others).await?;
                }
                Side::Baseline => without = stage.speak(SCORE, Slow::NONE).await?,
            }
        }
        for (stored, heard, percent) in [("p50", "heard_p50", 50.0), ("p99", "heard_p99", 99.0)] {
            let of = |delays: &[f64]| percentile(delays, percent);
            bench.pair(stored, of(&with.stored), of(&without.stored))?;
            bench.pair(heard, of(&with.heard), of(&without.heard))?;
        }
        bench.alone("worst", percentile(&with.heard, 99.0) / 1e3)?;
        bench.alone("server", mib(memory))?;
        bench.alone("lost", lost as f64)?;
    }
    Ok(())
}

/// What was seen when nothing was timed.
#[derive(Debug)]
pub(super) struct Untimed {
    subscribers: usize,
    heard: usize,
    due: usize,
    lost: usize,
}

impl Untimed {
    pub(super) fn is_well(&self) -> bool {
        self.lost == 0 && self.heard >= self.due
    }
}

impl fmt::Display for Untimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subscribers, heard, due, lost } = self;
        write!(
            f,
            "{subscribers} subscribers, half of which never read: {heard} of {due} lines were heard \
             meanwhile, and {lost} of them lost something"
        )
    }
}

/// Agents say more than a connection can hold, and each line is heard although half of the subscribers do not read.
pub(super) async fn untimed(setup: &Setup) -> anyhow::Result<Untimed> {
    let mut stage = Stage::open(setup, FEW_AGENTS).await?;
    let mut subscribers = Subscribers::come(&stage, FEW).await?;
    let heard = stage.speak(BURST, Slow::NONE).await?.heard.len();
    let due = FEW_AGENTS * BURST.lines as usize;
    let lost = subscribers.lost(&stage.place).await?;
    Ok(Untimed { subscribers: FEW, heard, due, lost })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn reaches(ids: &[u64], last: u64) -> bool {
        let seen = Seen::default();
        ids.iter().for_each(|id| seen.line(format!("id: 1.{id}").as_bytes()));
        seen.line(b"data: {}");
        seen.reaches(last).await.unwrap()
    }

    #[tokio::test]
    async fn a_reader_that_misses_an_event_or_gets_one_twice_has_lost_something() {
        assert!(reaches(&[1, 2, 3], 3).await);
        assert!(!reaches(&[1, 3], 3).await);
        assert!(!reaches(&[1, 2, 2, 3], 3).await);
    }

    #[test]
    fn nothing_is_well_when_somebody_lost_something_or_a_line_was_not_heard() {
        let seen = |heard, lost| Untimed { subscribers: 2, heard, due: 10, lost };
        assert!(seen(10, 0).is_well());
        assert!(!seen(9, 0).is_well() && !seen(10, 1).is_well());
    }
}
