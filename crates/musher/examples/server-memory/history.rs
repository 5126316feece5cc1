//! One long run, read by many from its beginning as it grows: the server's memory does not depend on its length.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::memory::{Memory, mib};
use crate::place::{Place, Programs};
use crate::subscriber::Subscriber;
use crate::table::{Holds, Table};

/// Where to look, in thousandths of the run.
const LOOKS: [u64; 4] = [100, 250, 500, 1000];
/// How much more than at the first look the server may ever take.
const GROWTH: f64 = 8.0;

pub(crate) async fn measure(
    programs: &Programs,
    events: u64,
    readers: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let place = Place::open(programs).await?;
    let alone = Memory::at_rest(place.pid()).await?;
    table.note("server alone", shown(alone));
    let held = place.begin_held(&format!("[[work lines={events} size=80]]")).await?;
    let mut reading = JoinSet::new();
    let mut progress = Vec::new();
    for _ in 0..readers {
        let subscriber = Subscriber::connect(&place, &held.run).await?;
        progress.push(subscriber.progress());
        reading.spawn(subscriber.read_all());
    }
    let begun = Memory::at_rest(place.pid()).await?;
    table.note(format!("0 events, {readers} readers"), shown(begun));
    let began = Instant::now();
    place.let_go(&held).await?;
    let mut looks = Vec::new();
    for look in LOOKS {
        let goal = events / 1000 * look;
        let slowest = || progress.iter().map(|seq| seq.load(Ordering::Relaxed)).min().unwrap_or(0);
        while slowest() < goal {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let look = Memory::of(place.pid())?;
        looks.push(look.rss);
        table.note(format!("{goal} events, read by all {readers}"), shown(look));
    }
    let mut got = Vec::new();
    while let Some(read) = reading.join_next().await {
        got.push(read??);
    }
    let took = began.elapsed();
    let written = place.last(&held.run);
    let whole = got.iter().filter(|got| got.whole(written).is_ok()).count();
    let after = Memory::at_rest(place.pid()).await?;
    table.note("after, nobody connected", shown(after));
    let rate = written as f64 * readers as f64 / took.as_secs_f64() / 1e6;
    table.note("delivered", format!("{rate:.2} M events/s, {:.1} s in all", took.as_secs_f64()));
    table.holds(
        format!("readers that got all {written} events in order"),
        whole.to_string(),
        &format!("all {readers}"),
        Holds::from(whole == readers),
    );
    let (first, most) = (looks[0], looks.iter().max().copied().unwrap_or(0));
    let growth = mib(most.saturating_sub(first));
    let verdict = if growth <= GROWTH { "FLAT" } else { "GREW" };
    table.at_most(format!("most, above the first tenth: {verdict}"), growth, GROWTH, "MiB");
    Ok(())
}

fn shown(memory: Memory) -> String {
    format!("RSS {:.1} MiB, PSS {:.1} MiB", mib(memory.rss), mib(memory.pss))
}
