//! Subscribers of a run in which nothing happens: what each of them costs.

use std::time::{Duration, Instant};

use crate::memory::{Memory, mib};
use crate::place::{Place, Programs};
use crate::subscriber::Subscriber;
use crate::table::Table;

/// What one idle subscriber may cost, in KiB.
const EACH: f64 = 28.0;
/// File handles that the server needs for itself, and this program too.
const RESERVED: usize = 500;
/// How long the server may take to notice that thousands have left.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// So many connect at once, which the listener's queue can hold.
const AT_ONCE: usize = 100;

pub(crate) async fn measure(
    programs: &Programs,
    most: usize,
    files: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let place = Place::open(programs).await?;
    let held = place.begin_held("[[work lines=1]]").await?;
    // The first ones pay for what all share.
    let mut subscribers = connect(&place, &held.run, AT_ONCE).await?;
    let before = Memory::at_rest(place.pid()).await?;
    let room = files.saturating_sub(RESERVED);
    let most = most.min(room);
    if most == room {
        table.note("idle subscribers", format!("only {most}: the limit of open files is {files}"));
    }
    for count in [most / 10, most] {
        while subscribers.len() < AT_ONCE + count {
            let more = AT_ONCE.min(AT_ONCE + count - subscribers.len());
            subscribers.extend(connect(&place, &held.run, more).await?);
        }
        let now = Memory::at_rest(place.pid()).await?;
        let each = now.rss.saturating_sub(before.rss) as f64 / count as f64;
        table.at_most(format!("each of {count} idle subscribers"), each, EACH, "KiB");
        table.note(format!("server with {count} idle subscribers"), shown(now));
    }
    let gone = Instant::now();
    drop(subscribers);
    while place.open_files()? > RESERVED && gone.elapsed() < PATIENCE {
        tokio::time::sleep(LOOK).await;
    }
    let noticed = gone.elapsed().as_secs_f64();
    let what = "the server notices that they have left within";
    table.at_most(what, noticed, PATIENCE.as_secs_f64(), "s");
    let after = Memory::at_rest(place.pid()).await?;
    table.note("server after they have left", shown(after));
    // What is free inside the process serves the next ones.
    let again = connect(&place, &held.run, most.min(1000)).await?;
    let after = Memory::at_rest(place.pid()).await?;
    table.note(format!("and when {} come again", again.len()), shown(after));
    Ok(())
}

/// Connects and reads what there is, so that each of them waits for more.
async fn connect(place: &Place, run: &str, count: usize) -> anyhow::Result<Vec<Subscriber>> {
    let last = place.last(run);
    let connecting = (0..count).map(|_| async {
        let mut subscriber = Subscriber::connect(place, run).await?;
        subscriber.read_to(last).await?.whole(last)?;
        Ok(subscriber)
    });
    futures_util::future::try_join_all(connecting).await
}

fn shown(memory: Memory) -> String {
    format!("RSS {:.1} MiB, PSS {:.1} MiB", mib(memory.rss), mib(memory.pss))
}
