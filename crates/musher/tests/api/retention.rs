//! What was cleaned away: whoever comes back to a place in it is told, and goes on with what is still there.

use musher_core::RunId;
use musher_log::{Lock, Writer};
use serde_json::{Value as Json, json};

use crate::rig::{Log, Rig};
use crate::sse::Sse;

/// A live run whose first ten events were cleaned away with their segment; events 11 to 15 are there.
async fn cleaned(rig: &Rig) -> (RunId, Log) {
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(10);
    let folder = log.folder.clone();
    drop(log);
    // A log that is opened again begins a new segment.
    let writer = Writer::reopen(Lock::take(&folder).unwrap()).unwrap();
    let mut log = Log { writer, folder };
    assert_eq!(log.writer.next_seq(), 11);
    log.notices(5);
    for ending in ["jsonl", "idx"] {
        let _not_every_segment_has_an_index =
            std::fs::remove_file(log.folder.join(format!("events-00000001.{ending}")));
    }
    assert!(!log.folder.join("events-00000001.jsonl").exists());
    (run, log)
}

fn numbers(page: &Json) -> Vec<u64> {
    page["events"].as_array().unwrap().iter().map(|it| it["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn promise_14_a_page_after_a_place_that_was_cleaned_away_says_so() {
    let rig = Rig::new().await;
    let (run, _log) = cleaned(&rig).await;
    let page =
        async |query: &str| rig.get(&format!("/api/v1/runs/{run}/events?{query}")).await.json();
    let late = page("after=1.4").await;
    assert_eq!((&late["reset"], numbers(&late)), (&json!(true), vec![11, 12, 13, 14, 15]));
    assert_eq!((&late["first"], &late["last"]), (&json!(11), &json!(15)));
    assert_eq!(late["next"], "2.15");
    let whole = page("").await;
    assert_eq!((&whole["reset"], numbers(&whole)), (&json!(false), vec![11, 12, 13, 14, 15]));
    assert_eq!(whole["first"], 11, "and nobody takes it for the beginning");
    let just = page("after=1.10").await;
    assert_eq!((&just["reset"], numbers(&just)), (&json!(false), vec![11, 12, 13, 14, 15]));
    let back = page("before=13&limit=10").await;
    assert_eq!((numbers(&back), &back["prev"]), (vec![11, 12], &json!(null)));
    let gone = page("before=4").await;
    assert_eq!((numbers(&gone), &gone["prev"]), (vec![], &json!(null)));
}

#[tokio::test]
async fn promise_14_a_stream_that_comes_back_to_what_was_cleaned_away_gets_a_reset() {
    let rig = Rig::new().await;
    let (run, mut log) = cleaned(&rig).await;
    let path = format!("/api/v1/runs/{run}/events/stream");
    let mut stream = Sse::open(&rig, &path, Some("1.4")).await;
    let reset = stream.next().await.unwrap();
    assert_eq!((reset.event.as_str(), reset.json()), ("reset", json!({"cursor": "2.10"})));
    assert_eq!(stream.id, "2.10");
    for seq in 11..=15 {
        assert_eq!(stream.next().await.unwrap().json()["seq"], seq);
    }
    log.notices(1);
    assert_eq!(stream.next().await.unwrap().json()["seq"], 16);
    let mut stream = Sse::open(&rig, &path, Some("1.10")).await;
    assert_eq!(
        stream.next().await.unwrap().json()["seq"],
        11,
        "nothing was missed, nothing is told"
    );
}

#[tokio::test]
async fn promise_14_a_feed_that_comes_back_to_what_was_cleaned_away_gets_a_reset_for_that_run() {
    let rig = Rig::new().await;
    let (run, _log) = cleaned(&rig).await;
    let other = rig.live().await;
    let mut whole = rig.log(other);
    whole.notices(3);
    let path = format!("/api/v1/feed?runs={run},{other}");
    let facts = *rig.pool.facts().borrow();
    let mut feed = Sse::open(&rig, &path, Some(&format!("f{facts}_{run}-1.4_{other}-1.2"))).await;
    feed.until("ready").await;
    let (mut seen, mut reset) = (Vec::new(), Vec::new());
    while seen.len() < 6 {
        let message = feed.next().await.unwrap();
        match message.event.as_str() {
            "reset" => reset.push(message.json()),
            "run" => {
                let json = message.json();
                seen.push((json["run"].clone(), json["event"]["seq"].as_u64().unwrap()));
            }
            _ => {}
        }
    }
    assert_eq!(reset, [json!({"run": run.to_string(), "cursor": "2.10"})]);
    seen.sort_by_key(|(run, seq)| (run.to_string(), *seq));
    let ours = (11..=15).map(|seq| (json!(run.to_string()), seq));
    let wanted: Vec<_> = ours.chain([(json!(other.to_string()), 3)]).collect();
    assert_eq!(seen, wanted);
}

#[tokio::test]
async fn what_is_still_there_can_be_searched_outlined_and_exported() {
    let rig = Rig::new().await;
    let (run, _log) = cleaned(&rig).await;
    let found = rig.get(&format!("/api/v1/runs/{run}/search?q=event&after=3")).await.json();
    assert_eq!((&found["matches"][0]["seq"], &found["scanned"]), (&json!(11), &json!(5)));
    let outline = rig.get(&format!("/api/v1/runs/{run}/outline")).await;
    assert_eq!(outline.status, 200, "{}", outline.text());
    let lines = rig.get(&format!("/api/v1/runs/{run}/export?as=jsonl")).await.text();
    assert_eq!(lines.lines().count(), 5);
}
