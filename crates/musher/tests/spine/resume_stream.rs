//! Streams that break off anywhere and go on where they were, across the death of the server too.

use std::time::Duration;

use musher_client::{Client, SseMessage};
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use crate::dice::Dice;
use crate::rig::{PATIENCE, Project, Server};

const KILLS: u64 = 5;

/// Where the server is now, and how to be let in.
type Place = (String, String);

/// Follows a stream to its end with one client after another, each of which leaves after a while.
async fn follow(
    place: watch::Receiver<Place>,
    path: &[&str],
    query: &[(&str, &str)],
    mut dice: Dice,
    mut is_last: impl FnMut(&SseMessage) -> bool,
) -> Vec<SseMessage> {
    let (mut heard, mut last): (Vec<SseMessage>, Option<String>) = (Vec::new(), None);
    loop {
        let (url, token) = place.borrow().clone();
        let client = Client::new(&url, &token).unwrap();
        let Ok(mut stream) = client.stream(path, query, last.as_deref()).await else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        for _ in 0..dice.roll(40) {
            let Ok(Some(message)) = stream.next().await else { break };
            last = message.id.clone().or(last);
            let done = is_last(&message);
            heard.push(message);
            if done {
                return heard;
            }
        }
    }
}

/// Kills the server again and again, and tells where the next one is.
async fn kill_again_and_again(
    project: &Project,
    mut server: Server,
    place: &watch::Sender<Place>,
) -> Server {
    let mut dice = Dice(20_261_118);
    for kill in 0..KILLS {
        for n in 0..5 {
            server.post("/stories", &json!({ "title": format!("Kill {kill}, story {n}") })).await;
            tokio::time::sleep(Duration::from_millis(dice.roll(100))).await;
        }
        server.kill();
        server = project.serve().await;
        place.send_replace((server.url.clone(), server.token.clone()));
    }
    server
}

#[tokio::test]
async fn promise_14_a_client_that_reconnects_anywhere_hears_every_event_once_and_in_order() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=400 every_ms=8]]").await;
    let (sender, place) = watch::channel((server.url.clone(), server.token.clone()));
    let path = ["runs", &run, "events", "stream"];
    let is_end = |message: &SseMessage| message.event.as_deref() == Some("end");
    let clients = (0..4).map(|n| follow(place.clone(), &path, &[], Dice(n), is_end));
    let clients = futures_util::future::join_all(clients);
    let clients = tokio::time::timeout(PATIENCE, clients);
    let (server, heard) = tokio::join!(kill_again_and_again(&project, server, &sender), clients);
    assert_eq!(server.until_over(&run).await["outcome"], "completed");
    project.whole(&run, 400);
    let log = project.events(&run);
    for heard in heard.unwrap() {
        let named: Vec<_> = heard.iter().filter_map(|message| message.event.as_deref()).collect();
        assert_eq!(named, ["end"], "no reset and no problem on the way");
        let (_, heard) = heard.split_last().unwrap();
        assert_eq!(heard.len(), log.len());
        for (message, event) in heard.iter().zip(&log) {
            assert_eq!(message.id, Some(format!("1.{}", event.seq)));
            assert_eq!(message.data, serde_json::to_string(event).unwrap());
        }
    }
}

#[tokio::test]
async fn promise_14_a_feed_that_breaks_off_goes_on_without_a_gap_or_a_second_telling() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (_, run) = server.begin("[[work lines=300 every_ms=8]]").await;
    let (sender, place) = watch::channel((server.url.clone(), server.token.clone()));
    let query = [("runs", run.as_str())];
    let clients = (0..3).map(|n| {
        let (mut run_over, mut last_told) = (false, false);
        let is_last = move |message: &SseMessage| {
            run_over |= message.event.as_deref() == Some("end");
            last_told |=
                message.event.as_deref() == Some("fact") && message.data.contains("the-last");
            run_over && last_told
        };
        follow(place.clone(), &["feed"], &query, Dice(100 + n), is_last)
    });
    let clients = futures_util::future::join_all(clients);
    let clients = tokio::time::timeout(PATIENCE, clients);
    let working = async {
        let server = kill_again_and_again(&project, server, &sender).await;
        server.until_over(&run).await;
        server.post("/stories", &json!({ "id": "the-last", "title": "Last" })).await;
        server
    };
    let (server, heard) = tokio::join!(working, clients);
    let log = project.events(&run);
    for heard in heard.unwrap() {
        let of = |kind: &'static str| {
            let told = heard.iter().filter(move |message| message.event.as_deref() == Some(kind));
            told.map(|message| serde_json::from_str::<Json>(&message.data).unwrap())
        };
        let events: Vec<u64> = of("run").map(|it| it["event"]["seq"].as_u64().unwrap()).collect();
        assert_eq!(events, log.iter().map(|event| event.seq).collect::<Vec<_>>());
        let ready = of("ready").next().unwrap()["facts"].as_u64().unwrap();
        let facts: Vec<u64> = of("fact").map(|fact| fact["n"].as_u64().unwrap()).collect();
        let count = facts.len() as u64;
        assert!(count >= KILLS * 5, "{count}");
        assert_eq!(facts, (ready + 1..=ready + count).collect::<Vec<_>>());
        assert_eq!(of("reset").count() + of("problem").count(), 0);
    }
    drop(server);
}
