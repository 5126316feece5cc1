//! Beside the design that one would write first: what is taken in, what it costs to keep, and what is lost.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::bench::{Bench, Side};
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};
use crate::setup::Setup;
use crate::stage::alone::{agent_that_feeds, has_last, let_go};
use crate::stage::corpus::Corpus;
use crate::stage::fetch::body;
use crate::stage::memory::{Memory, mib};
use crate::stage::place::Place;
use crate::stage::subscriber::Subscriber;
use crate::stand_in::Playing;

const NAIVE: &str = "the naive pool";

pub const ROW: Row = Row {
    name: "naive",
    about: "one agent prints recorded frames, and its reader looks away until it is done",
    measures: &[
        Measure::beside("lines", "taken in", "k lines/s", NAIVE, Bar::None),
        Measure::beside("memory", "memory for 100,000 lines", "MiB", NAIVE, Bar::None),
        Measure::beside("lost", "lost by the reader", "events", NAIVE, Bar::AtMost(0.0)),
    ],
    rounds: Rounds::Once,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const BYTES: u64 = 115_000_000;
const PATIENCE: Duration = Duration::from_secs(300);
/// A reader that hears nothing for so long has heard all.
const SILENCE: Duration = Duration::from_secs(2);

/// What was seen of one of them.
#[derive(Debug, Default)]
struct Seen {
    seconds: f64,
    mib: f64,
    lost: f64,
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let corpus = Corpus::mixed(usize::try_from(bench.setup.effort.of(BYTES))?)?;
    let path = corpus.write(folder.path(), "corpus")?;
    while bench.another_round()? {
        let (mut ours, mut naive) = (Seen::default(), Seen::default());
        for side in bench.order() {
            match side {
                Side::Ours => ours = see_ours(bench, &path).await?,
                Side::Baseline => naive = see_naive(&bench.setup, &path, corpus.lines).await?,
            }
        }
        let lines = corpus.lines as f64;
        let per = 100_000.0 / lines;
        bench.pair("lines", lines / ours.seconds / 1e3, lines / naive.seconds / 1e3)?;
        bench.pair("memory", ours.mib * per, naive.mib * per)?;
        bench.pair("lost", ours.lost, naive.lost)?;
    }
    Ok(())
}

/// A server and a runner: their memory together.
async fn see_ours(bench: &Bench, corpus: &Path) -> anyhow::Result<Seen> {
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let agent = agent_that_feeds(&bench.setup, corpus, folder.path())?;
    // Recordings end many turns, and none of them is the end here.
    let place = Place::with_settings(&bench.setup, &agent, 0, "linger = '1h'\n")?;
    let run = place.begin("go").await?;
    let mut subscriber = Subscriber::connect(&place, &run).await?;
    let before = Memory::at_rest(place.pid()).await?.rss;
    let began = Instant::now();
    let_go(folder.path()).await?;
    while !has_last(&place.folder(&run))? {
        ensure!(began.elapsed() < PATIENCE, "the last line never came");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let seconds = bench.slow.lengthen(began).as_secs_f64();
    let server = Memory::at_rest(place.pid()).await?.rss.saturating_sub(before);
    let runner = Memory::of(place.runner(&run)?)?.private;
    let last = place.last(&run);
    let got = subscriber.read_to(last).await?;
    let lost = (last - got.last + got.strays) as f64;
    Ok(Seen { seconds, mib: mib(server + runner), lost })
}

async fn see_naive(setup: &Setup, corpus: &Path, lines: u64) -> anyhow::Result<Seen> {
    let playing = Playing::start(setup, ["naive".as_ref(), corpus.as_os_str()])?;
    let address = &playing.ready;
    let mut reader = ask(address, "GET /events").await?;
    let before = Memory::at_rest(playing.pid()).await?.rss;
    let began = Instant::now();
    ask(address, "POST /go").await?;
    loop {
        let count = body(address, "/count", "").await?;
        let count: u64 = String::from_utf8_lossy(&count).trim().parse().context("no count")?;
        if count >= lines {
            break;
        }
        ensure!(began.elapsed() < PATIENCE, "the naive pool took in {count} of {lines} lines");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let seconds = began.elapsed().as_secs_f64();
    let after = Memory::at_rest(playing.pid()).await?.rss;
    let (mut got, mut buffer) = (0, vec![0; 256 * 1024]);
    while let Ok(read) = tokio::time::timeout(SILENCE, reader.read(&mut buffer)).await {
        let count = read?;
        if count == 0 {
            break;
        }
        got += memchr::memmem::find_iter(&buffer[..count], b"\n\n").count() as u64;
    }
    let lost = lines.saturating_sub(got) as f64;
    Ok(Seen { seconds, mib: mib(after.saturating_sub(before)), lost })
}

async fn ask(address: &str, what: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("{what} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.readable().await?;
    Ok(stream)
}
