//! Subscribers of a run in which nothing happens: what each of them costs.

use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::stage::memory::Memory;
use crate::stage::place::Place;
use crate::stage::subscriber::Subscriber;

pub const ROW: Row = Row {
    name: "memory-idle",
    about: "10,000 subscribers of a run in which nothing happens",
    measures: &[
        Measure::alone(
            "each_of_some",
            "server, for each of the first 1,000",
            "KiB",
            Bar::AtMost(28.0),
        ),
        Measure::alone("each", "server, for each of 10,000", "KiB", Bar::AtMost(28.0)),
        Measure::alone("noticed", "server notices that they left within", "s", Bar::AtMost(5.0)),
    ],
    rounds: Rounds::Once,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const MOST: u64 = 10_000;
/// File handles that the server needs for itself, and this program too.
const RESERVED: usize = 500;
/// How long the server may take to notice that thousands have left.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// So many connect at once, which the listener's queue can hold.
const AT_ONCE: usize = 100;

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    while bench.another_round()? {
        let place = Place::open(&bench.setup)?;
        let held = place.begin_held("[[work lines=1]]").await?;
        // The first ones pay for what all share.
        let mut subscribers = connect(&place, &held.run, AT_ONCE).await?;
        let before = Memory::at_rest(place.pid()).await?;
        let room = bench.setup.files.saturating_sub(RESERVED);
        let most = (bench.setup.effort.of(MOST) as usize).min(room);
        if most == room {
            bench.note(format!("only {most} subscribers: no more files may be open"));
        }
        for (key, count) in [("each_of_some", most / 10), ("each", most)] {
            let wanted = AT_ONCE + count;
            while subscribers.len() < wanted {
                let more = AT_ONCE.min(wanted - subscribers.len());
                subscribers.extend(connect(&place, &held.run, more).await?);
            }
            let now = Memory::at_rest(place.pid()).await?;
            // A slowdown of memory is that so many count as one: more of them would need more files than may be open.
            let each = now.rss.saturating_sub(before.rss) as f64 / count as f64;
            bench.alone(key, each * bench.slow.factor())?;
            bench.note(format!("with {count}: {now}"));
        }
        let gone = Instant::now();
        drop(subscribers);
        while place.open_files()? > RESERVED && gone.elapsed() < PATIENCE {
            tokio::time::sleep(LOOK).await;
        }
        bench.alone("noticed", gone.elapsed().as_secs_f64())?;
        bench.note(format!("after they have left: {}", Memory::at_rest(place.pid()).await?));
        // What is free inside the process serves the next ones.
        let again = connect(&place, &held.run, most.min(1000)).await?;
        let now = Memory::at_rest(place.pid()).await?;
        bench.note(format!("when {} come again: {now}", again.len()));
    }
    Ok(())
}

/// Connects and reads what there is, so that each of them waits for more.
pub async fn connect(place: &Place, run: &str, count: usize) -> anyhow::Result<Vec<Subscriber>> {
    let last = place.last(run);
    let connecting = (0..count).map(|_| async {
        let mut subscriber = Subscriber::connect(place, run).await?;
        subscriber.read_to(last).await?.whole(last)?;
        Ok(subscriber)
    });
    futures_util::future::try_join_all(connecting).await
}
