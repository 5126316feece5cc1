//! What an attendant makes of a runner that says things in another order than they happened.

use musher_core::pool::{CommandReply, PoolLimits, Seat, Team};
use musher_core::{
    Actor, ErrorClass, ErrorInfo, Event, EventKind, EventScope, Origin, SessionEnded,
};
use musher_log::Writer;
use musher_log::wire::ToRunner;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;

use super::*;
use crate::journal::Journal;
use crate::pool::{AcceptedCommand, Pool, RunName, Wish};

fn command(id: &str) -> CommandId {
    id.parse().unwrap()
}

/// A pool with one live run.
async fn live(journal: Journal) -> (PoolHandle, RunId) {
    let seat = Seat { name: "coder".parse().unwrap(), model: None, budget: None, turns: false };
    let limits = PoolLimits { runs: 1, runs_per_agent: 1, runs_per_story: 1, day_usd: None };
    let team = Team { agents: vec![seat], limits };
    let (pool, _thread) = Pool::start(journal, team, || 1, drop).unwrap();
    let story = Wish::AddStory {
        id: None,
        title: "x".into(),
        text: String::new(),
        context: Default::default(),
        spec: Default::default(),
    };
    pool.command(story, command("c1"), Actor::POOL, None).await.unwrap();
    let story = "s1".parse().unwrap();
    let start = Wish::StartRun {
        story,
        agent: None,
        model: None,
        prompt: None,
        options: Default::default(),
    };
    pool.command(start, command("c2"), Actor::POOL, None).await.unwrap();
    let run = RunId::minted(1);
    pool.tell(PoolInput::Prepared { run, head: "0".repeat(40) }).await.unwrap();
    pool.tell(PoolInput::RunnerUp { run }).await.unwrap();
    (pool, run)
}

fn append(writer: &mut Writer, kind: EventKind) {
    let (seq, scope) = (writer.next_seq(), EventScope::Main);
    writer.append([&Event { seq, at: 1, kind, turn: None, scope, raw: None }]).unwrap();
    writer.sync().unwrap();
}

async fn until(wanted: impl AsyncFn() -> bool) {
    let waiting = async {
        while !wanted().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap();
}

#[tokio::test]
async fn what_a_runner_replied_before_its_end_is_heard_before_the_end_that_the_log_tells() {
    let top = tempfile::tempdir().unwrap();
    let journal = Journal::open(&top.path().join("journal.db"), 1).unwrap();
    let (pool, run) = live(journal).await;
    let bus = Bus::start(top.path().to_owned());
    let folder = bus.folder(run);
    std::fs::create_dir(&folder).unwrap();
    let listener = UnixListener::bind(folder.join("s")).unwrap();
    let mut writer = Writer::create(Lock::take(&folder).unwrap(), "r1").unwrap();
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let attendants = Attendants::new(bus.clone(), pool.clone(), tasks, stop.clone());
    attendants.attend(run);
    let (read, mut write) = listener.accept().await.unwrap().0.into_split();
    let mut say = async |said: FromRunner| {
        let mut line = serde_json::to_vec(&said).unwrap();
        line.push(b'\n');
        write.write_all(&line).await.unwrap();
    };
    say(FromRunner::Hello { protocol: PROTOCOL, run, pid: 1, takes_back: true, changes: true })
        .await;
    // A prompt that waits goes when the end is read, and so tells that it was.
    let (prompt, text, origin) = (Some("p".into()), "more".into(), Origin::Prompt);
    append(&mut writer, EventKind::UserMessage { prompt, text, origin, attachments: Vec::new() });
    until(async || !bus.queued(run).is_empty()).await;
    let interrupt = Wish::Interrupt { run: RunName::Id(run) };
    let offered = pool.command(interrupt, command("c3"), Actor::POOL, None).await.unwrap();
    let AcceptedCommand::Pending(pending) = offered else { panic!("{offered:?}") };
    attendants.mailbox(run).unwrap().post((command("c3"), RunCommand::Interrupt));
    let told = BufReader::new(read).lines().next_line().await.unwrap().unwrap();
    let told: ToRunner = serde_json::from_str(&told).unwrap();
    assert_eq!(told, ToRunner::Command { id: command("c3"), command: RunCommand::Interrupt });
    // It has carried it out, and its end is on the disk before its reply is on the wire.
    let end = SessionEnded::unbegun(ErrorInfo::new(ErrorClass::Startup, "no"));
    append(&mut writer, EventKind::SessionEnded(Box::new(end)));
    until(async || bus.queued(run).is_empty()).await;
    say(FromRunner::Reply { id: command("c3"), refused: None }).await;
    assert_eq!(pending.last_word().await.unwrap(), CommandReply::Sent);
    until(async || pool.inspect(move |it| it.runs[&run].phase.has_ended()).await.unwrap()).await;
    stop.cancel();
}
