//! The feed: headlines, facts and run logs over one connection, taken up where it broke off.

use musher_core::pool::{PoolInput, RunReport};
use musher_core::{Ask, AskId, EventKind};
use serde_json::json;

use crate::rig::{Rig, order};
use crate::sse::{Message, Sse};

/// Reads up to the end of the beginning.
async fn opening(feed: &mut Sse) -> Vec<Message> {
    let mut seen = Vec::new();
    loop {
        let message = feed.next().await.unwrap();
        if message.event == "ready" {
            return seen;
        }
        seen.push(message);
    }
}

#[tokio::test]
async fn a_feed_begins_with_everything_that_is_current() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    rig.add("Other").await;
    rig.add("Away").await;
    rig.post("/api/v1/stories/s3/archive", &json!({})).await;
    let mut log = rig.log(run);
    let ask: AskId = "a1".into();
    let body = Ask::Plan { plan: "Sure?".into() };
    let seq = log.append(EventKind::AskOpened {
        ask: ask.clone(),
        body,
        deadline: None,
        rule: None,
        settled: false,
    });
    rig.tell(PoolInput::Heard { run, seq, what: RunReport::AskOpened { ask, settled: false } })
        .await;
    rig.settled().await;
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    let seen = opening(&mut feed).await;
    assert!(
        seen.iter().all(|message| message.event == "headline" && message.id.is_empty()),
        "{seen:?}"
    );
    let headlines: Vec<_> = seen.iter().map(Message::json).collect();
    let stories: Vec<_> =
        headlines.iter().filter_map(|line| line["story"]["id"].as_str()).collect();
    assert_eq!(stories, ["s2", "s1"]);
    let runs: Vec<_> = headlines.iter().filter_map(|line| line["run"]["id"].as_str()).collect();
    assert_eq!(runs, ["r1"]);
    let asks: Vec<_> = headlines.iter().filter(|line| line["ask"].is_object()).collect();
    assert_eq!(asks[0]["ask"]["body"]["plan"], "Sure?");
}

#[tokio::test]
async fn a_page_can_tell_that_the_server_was_replaced() {
    let rig = Rig::new().await;
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    let ready = feed.until("ready").await.json();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(ready, json!({"facts": 0, "build": "build-1", "version": version}));
}

#[tokio::test]
async fn each_fact_comes_with_the_headlines_of_what_it_touched() {
    let rig = Rig::new().await;
    let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
    opening(&mut feed).await;
    let story = rig.add("New").await;
    let fact = feed.next().await.unwrap();
    assert_eq!((fact.event.as_str(), fact.json()["n"].clone()), ("fact", json!(1)));
    assert_eq!(fact.json()["fact"], json!({"type": "story_added", "story": "s1"}));
    let headline = feed.until("headline").await.json();
    assert_eq!(headline["story"]["title"], "New");
    let edit = order(
        axum::http::Method::PATCH,
        &format!("/api/v1/stories/{story}"),
        r#"{"title":"Newer"}"#,
    );
    rig.send(edit).await;
    assert_eq!(feed.until("headline").await.json()["story"]["title"], "Newer");
    let run = rig.queue(&story).await;
    loop {
        let headline = feed.until("headline").await.json();
        if headline["run"]["id"] == run.to_string() {
            assert_eq!(headline["run"]["story"], "s1");
            break;
        }
        assert_eq!(headline["story"]["runs"]["live"], 1, "what a run does shows on its story");
    }
}

#[tokio::test]
async fn run_logs_and_facts_share_one_stream_and_one_place() {
    let rig = Rig::new().await;
    let (one, two) = (rig.live().await, rig.live().await);
    let (mut first, mut second) = (rig.log(one), rig.log(two));
    first.notices(3);
    second.notices(2);
    let path = format!("/api/v1/feed?runs={one}:1.1,{two}");
    let mut feed = Sse::open(&rig, &path, None).await;
    opening(&mut feed).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let message = feed.until("run").await.json();
        assert_eq!(message["event"]["type"], "notice");
        seen.push(format!(
            "{} {}",
            message["run"].as_str().unwrap(),
            message["id"].as_str().unwrap()
        ));
    }
    seen.sort();
    assert_eq!(seen, ["r1 1.2", "r1 1.3", "r2 1.1", "r2 1.2"]);
    first.end();
    assert_eq!(feed.until("run").await.json()["event"]["type"], "session_ended");
    assert_eq!(feed.until("end").await.json(), json!({"run": "r1"}));
    second.notices(1);
    assert_eq!(feed.until("run").await.json()["id"], "1.3", "the others go on");
}

#[tokio::test]
async fn a_feed_that_broke_off_goes_on_without_a_gap_and_without_a_duplicate() {
    let mut rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    let path = format!("/api/v1/feed?runs={run}");
    let (mut facts, mut events) = (Vec::new(), Vec::new());
    let begun = *rig.pool.facts().borrow();
    let mut last: Option<String> = None;
    for round in 0..12_u64 {
        let mut feed = Sse::open(&rig, &path, last.as_deref()).await;
        opening(&mut feed).await;
        rig.add(&format!("Story {round}")).await;
        log.notices(1 + round * 7 % 5);
        rig.add(&format!("More {round}")).await;
        // It breaks off somewhere in the middle of what there is.
        for _ in 0..1 + round % 4 {
            let message = feed.next().await.unwrap();
            match message.event.as_str() {
                "fact" => facts.push(message.json()["n"].as_u64().unwrap()),
                "run" => events.push(message.json()["event"]["seq"].as_u64().unwrap()),
                _ => {}
            }
        }
        last = Some(feed.id.clone());
        drop(feed);
        if round == 6 {
            rig = rig.again().await;
        }
    }
    let (end, total) = (log.end(), *rig.pool.facts().borrow());
    let mut feed = Sse::open(&rig, &path, last.as_deref()).await;
    opening(&mut feed).await;
    while facts.last() != Some(&total) || events.last() != Some(&end) {
        let message = feed.next().await.unwrap();
        match message.event.as_str() {
            "fact" => facts.push(message.json()["n"].as_u64().unwrap()),
            "run" => events.push(message.json()["event"]["seq"].as_u64().unwrap()),
            _ => {}
        }
    }
    assert_eq!(facts, (begun + 1..=total).collect::<Vec<_>>());
    assert_eq!(events, (1..=end).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_place_in_another_journal_is_told_by_a_reset() {
    let rig = Rig::new().await;
    rig.add("One").await;
    rig.settled().await;
    let mut feed = Sse::open(&rig, "/api/v1/feed", Some("f99")).await;
    let reset = feed.next().await.unwrap();
    assert_eq!((reset.event.as_str(), reset.json()), ("reset", json!({"facts": 1})));
    opening(&mut feed).await;
    rig.add("Two").await;
    assert_eq!(feed.until("fact").await.json()["n"], 2);
}

#[tokio::test]
async fn a_run_that_is_not_there_ends_at_once_and_text_in_flight_is_marked_with_its_run() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    let mut feed = Sse::open(&rig, &format!("/api/v1/feed?runs=r99,{run}&deltas=1"), None).await;
    opening(&mut feed).await;
    assert_eq!(feed.until("end").await.json(), json!({"run": "r99"}));
    log.notices(1);
    feed.until("run").await;
    rig.bus.pass_on(run, r#"{"text":"Hi"}"#.into());
    assert_eq!(feed.until("delta").await.json(), json!({"run": "r1", "delta": {"text": "Hi"}}));
}

#[tokio::test]
async fn feeds_share_what_they_read() {
    let rig = Rig::new().await;
    let mut feeds = Vec::new();
    for _ in 0..50 {
        let mut feed = Sse::open(&rig, "/api/v1/feed", None).await;
        opening(&mut feed).await;
        feeds.push(feed);
    }
    for n in 0..40 {
        rig.add(&format!("Story {n}")).await;
    }
    for mut feed in feeds {
        for n in 1..=40 {
            assert_eq!(feed.until("fact").await.json()["n"], n);
        }
    }
}
