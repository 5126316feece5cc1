//! Subscribers that are dead or slow: nobody waits for them, and they cost the server little.

use std::time::Duration;

use musher_client::Client;
use musher_core::{Event, EventKind};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::rig::{Project, Server, runner_pid};

const AGENTS: usize = 20;
const DEAD: usize = 300;
const SLOW: usize = 50;
/// More than the kernel holds for one who does not read, at a pace that leaves the machine time for other tests.
const WORK: &str = "[[work ask=go]] [[work lines=100 every_ms=15 size=12000]]";
/// What one subscriber may cost the server, whatever it does not read.
const EACH: u64 = 256 * 1024;

#[tokio::test]
async fn promise_13_dead_and_slow_subscribers_hold_up_no_agent_and_cost_the_server_little() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let held = hold(&server).await;
    let alone = let_go(&project, &server, &held).await;
    let before = server.memory();

    let held = hold(&server).await;
    let mut dead = Vec::new();
    for (run, _) in held.iter().cycle().take(DEAD) {
        dead.push(subscribe(&server, run).await);
    }
    let mut slow = JoinSet::new();
    for (run, _) in held.iter().cycle().take(SLOW) {
        slow.spawn(read_slowly(subscribe(&server, run).await));
    }
    let (run, _) = &held[0];
    let mut prompt = JoinSet::new();
    prompt.spawn(follow(Client::new(&server.url, &server.token).unwrap(), run.clone()));
    let beside = let_go(&project, &server, &held).await;
    let got = prompt.join_next().await.unwrap().unwrap();
    let grown = server.memory().saturating_sub(before);

    let written: Vec<u64> = project.events(run).iter().map(|event| event.seq).collect();
    assert_eq!(got, written, "the prompt one got everything, in order");
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    let each = grown / (DEAD + SLOW) as u64;
    println!(
        "agents took {alone:?} alone, {beside:?} beside {DEAD} dead and {SLOW} slow: {ratio:.2}×"
    );
    println!("the server grew by {} KiB, {} KiB for each", grown / 1024, each / 1024);
    assert!(ratio <= 2.0, "the agents were held up: {alone:?} alone, {beside:?} beside them");
    assert!(each <= EACH, "each costs the server {each} bytes");
}

#[tokio::test]
async fn the_server_may_open_many_files_and_an_agent_as_many_as_it_is_used_to() {
    let project = Project::of_workers();
    let server = project.serve_after("ulimit -S -n 300").await;
    let (_, run) = server.begin("[[work lines=1 hang=1]]").await;
    server.until_live(&run).await;
    let runner = runner_pid(&project.run_folder(&run)).unwrap();
    assert_eq!(open_files(runner).0, "300");
    let (soft, hard) = open_files(server.pid());
    assert_eq!(soft, hard);
}

/// The limits of a process, the one in force and the highest that it may take.
fn open_files(pid: i32) -> (String, String) {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    (words.next().unwrap(), words.next().unwrap())
}

/// Starts the agents, each of which waits for a word; gives the runs and what they ask.
async fn hold(server: &Server) -> Vec<(String, String)> {
    let mut held = Vec::new();
    for _ in 0..AGENTS {
        held.push(server.begin(WORK).await.1);
    }
    let mut asks = Vec::new();
    for run in held {
        let ask = server.until_ask(&run).await;
        asks.push((run, ask));
    }
    asks
}

/// Lets them all work; gives the time that the slowest took from the word to its end, as its log tells.
async fn let_go(project: &Project, server: &Server, held: &[(String, String)]) -> Duration {
    for (run, ask) in held {
        let yes = json!({ "answer": { "decision": "allow" } });
        server.post(&format!("/runs/{run}/asks/{ask}/answer"), &yes).await;
    }
    let mut slowest = Duration::ZERO;
    for (run, _) in held {
        assert_eq!(server.until_over(run).await["outcome"], "completed");
        let events = project.events(run);
        let at = |is: fn(&Event) -> bool| events.iter().find(|event| is(event)).unwrap().at;
        let began = at(|event| matches!(event.kind, EventKind::AskClosed { .. }));
        let ended = at(|event| matches!(event.kind, EventKind::TurnEnded(_)));
        slowest = slowest.max(Duration::from_millis(u64::try_from(ended - began).unwrap()));
    }
    slowest
}

/// A connection that has asked for a run's log and gets it, and has read none of it.
async fn subscribe(server: &Server, run: &str) -> TcpStream {
    let host = server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!(
        "GET /api/v1/runs/{run}/events/stream HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\r\n",
        server.token.trim()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.readable().await.unwrap();
    stream
}

/// A client on a bad line.
async fn read_slowly(mut stream: TcpStream) {
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let mut few = [0; 512];
    while stream.read(&mut few).await.is_ok_and(|count| count > 0) {
        tick.tick().await;
    }
}

/// Reads a run's log to its end; gives the numbers of its events.
async fn follow(client: Client, run: String) -> Vec<u64> {
    let mut stream = client.stream(&["runs", &run, "events", "stream"], &[], None).await.unwrap();
    let mut numbers = Vec::new();
    while let Some(message) = stream.next().await.unwrap() {
        match message.event.as_deref() {
            None => numbers.push(serde_json::from_str::<Event>(&message.data).unwrap().seq),
            Some("end") => break,
            Some(other) => panic!("{other}: {}", message.data),
        }
    }
    numbers
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_binary_has_a_fixed_address_so_that_runners_share_its_tables() {
    let head = std::fs::read(env!("CARGO_BIN_EXE_musher")).unwrap();
    // The kind of an ELF file: 2 is for a fixed address, 3 for any.
    assert_eq!((&head[..4], head[16]), (&b"\x7fELF"[..], 2));
}
