//! Subscribers that never read while much is written: what each of them costs, and that nobody else feels it.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::memory::{Memory, mib, of_sockets};
use crate::pace::Pace;
use crate::place::{Place, Programs};
use crate::subscriber::{Got, Subscriber};
use crate::table::{Holds, Table};

/// What one stalled subscriber may cost, in KiB.
const EACH: f64 = 1024.0;
/// How much longer an agent may take for the same work beside them.
const HELD_UP: f64 = 2.0;
/// The agent beside: so many lines, one every so many milliseconds.
const LINES: u64 = 300;
const EVERY: u64 = 10;

/// What was seen of one round.
struct Round {
    took: Duration,
    prompt: Got,
    written: u64,
    pace: Pace,
}

pub(crate) async fn measure(
    programs: &Programs,
    stalled: usize,
    events: u64,
    table: &mut Table,
) -> anyhow::Result<()> {
    let place = Place::open(programs).await?;
    let (free, _) = round(&place, 0, events).await?;
    table.note("agent beside a busy run, nobody stalled", free.pace.shown());
    let before = Memory::at_rest(place.pid()).await?;
    let sockets = of_sockets()?;
    let (beside, subscribers) = round(&place, stalled, events).await?;
    let after = Memory::at_rest(place.pid()).await?;
    let sockets = of_sockets()?.saturating_sub(sockets) as f64 / stalled.max(1) as f64;
    table.note(format!("agent beside it, {stalled} stalled"), beside.pace.shown());
    let each = after.rss.saturating_sub(before.rss) as f64 / stalled.max(1) as f64;
    table.at_most(
        format!("each of {stalled} that did not read {} events", beside.written),
        each,
        EACH,
        "KiB",
    );
    table.at_most("kernel's buffers for each, both ends", sockets, EACH, "KiB");
    table.note("server with them", format!("RSS {:.1} MiB", mib(after.rss)));
    let whole = Holds::from(beside.prompt.whole(beside.written).is_ok());
    table.holds("prompt reader beside them got", beside.prompt.last.to_string(), "all", whole);
    let ratio = beside.took.as_secs_f64() / free.took.as_secs_f64();
    let times =
        format!("{:.2} s, {:.2} s beside them", free.took.as_secs_f64(), beside.took.as_secs_f64());
    table.note(format!("agent's own time for {events} lines"), times);
    table.at_most("agent's own time, with and without them", ratio, HELD_UP, "×");
    let began = Instant::now();
    let mut reading = JoinSet::new();
    for subscriber in subscribers {
        reading.spawn(subscriber.read_all());
    }
    let mut whole = 0;
    while let Some(read) = reading.join_next().await {
        whole += usize::from(read??.whole(beside.written).is_ok());
    }
    let rate = stalled as f64 * beside.written as f64 / began.elapsed().as_secs_f64() / 1e6;
    table.note("when they read at last, they get", format!("{rate:.2} M events/s"));
    let holds = Holds::from(whole == stalled);
    table.holds("and all events came to", whole.to_string(), "all", holds);
    Ok(())
}

/// One agent writes as fast as it can, another at its pace; each has one prompt reader.
async fn round(
    place: &Place,
    stalled: usize,
    events: u64,
) -> anyhow::Result<(Round, Vec<Subscriber>)> {
    let busy = place.begin_held(&format!("[[work lines={events} size=80]]")).await?;
    let paced = place.begin_held(&format!("[[work lines={LINES} every_ms={EVERY}]]")).await?;
    let mut subscribers = Vec::new();
    for _ in 0..stalled {
        subscribers.push(Subscriber::connect(place, &busy.run).await?);
    }
    let mut reading = JoinSet::new();
    reading.spawn(Subscriber::connect(place, &busy.run).await?.read_all());
    let mut pacing = JoinSet::new();
    pacing.spawn(Pace::of(Subscriber::connect(place, &paced.run).await?));
    place.let_go(&paced).await?;
    let began = Instant::now();
    place.let_go(&busy).await?;
    place.until_logged(&busy.run, events).await?;
    let took = began.elapsed();
    let prompt = reading.join_next().await.unwrap_or(Ok(Ok(Got::default())))??;
    let written = place.last(&busy.run);
    let (pace, _) = match pacing.join_next().await {
        Some(paced) => paced??,
        None => anyhow::bail!("nobody looked at the pace"),
    };
    Ok((Round { took, prompt, written, pace }, subscribers))
}
