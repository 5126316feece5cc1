//! A damaged log at every door: what is lost is told in its place, and nothing is told that is no JSON.

use musher_core::RunId;
use serde_json::Value as Json;

use crate::rig::{Log, Rig};
use crate::sse::Sse;

/// What every door must say.
const TOLD: &str = "events 20 to 22 cannot be read: events-00000001.jsonl is damaged after byte";

/// A run that has ended, in whose log three events cannot be read: no JSON, a hole, and a number that lies.
async fn damaged(rig: &Rig) -> (RunId, Log) {
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(100);
    let last = log.end();
    log.writer.sync().unwrap();
    let path = log.folder.join("events-00000001.jsonl");
    let mut bytes = std::fs::read(&path).unwrap();
    for (seq, at, by) in [(20, 40, b'"'), (21, 45, 0), (22, 7, b'9')] {
        let start = format!("{{\"seq\":{seq},");
        let start = bytes.windows(start.len()).position(|part| part == start.as_bytes()).unwrap();
        bytes[start + at] = by;
    }
    std::fs::write(path, bytes).unwrap();
    rig.end(run, last).await;
    (run, log)
}

fn texts(page: &Json) -> Vec<String> {
    let events = page["events"].as_array().unwrap().iter();
    events.filter_map(|event| Some(event["text"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn a_damaged_log_is_told_with_its_place_at_every_door() {
    let rig = Rig::new().await;
    let (run, _log) = damaged(&rig).await;
    let get = async |path: &str| {
        let reply = rig.get(&format!("/api/v1/runs/{run}/{path}")).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        reply
    };
    let pages = [
        "events",
        "events?after=1.18&limit=2",
        "events?after=1.20",
        "events?last=82",
        "events?before=30",
        "events?before=21",
        "events?before=30&limit=9&kinds=session_ended",
        "events?kinds=session_ended",
    ];
    for path in pages {
        let page = get(path).await.json();
        let told: Vec<String> =
            texts(&page).into_iter().filter(|text| text.contains("cannot be read")).collect();
        assert_eq!(told.len(), 1, "{path}: {page:#}");
        assert!(told[0].contains("events-00000001.jsonl is damaged after byte"), "{told:?}");
    }
    let whole = get("events?limit=1000").await.json();
    let events = whole["events"].as_array().unwrap();
    let marker = &events[19];
    assert!(marker["text"].as_str().unwrap().starts_with(TOLD), "{marker:#}");
    assert_eq!((marker["type"].as_str(), marker["seq"].as_u64()), (Some("notice"), Some(22)));
    assert_eq!(marker["damage"]["from"], 20);
    assert_eq!(events[20]["seq"], 23, "{whole:#}");
    assert_eq!((whole["next"].as_str(), whole["end"].as_bool()), (Some("1.101"), Some(true)));
    let found = get("search?q=no-such-words").await.json();
    let excerpt = found["matches"][0]["excerpt"].as_str().unwrap();
    assert!(excerpt.starts_with(TOLD) && found["matches"][1].is_null(), "{found:#}");
    let outline = get("outline").await.json();
    assert!(outline.to_string().contains(TOLD), "{outline:#}");
    let markdown = get("export").await.text();
    assert!(markdown.contains(TOLD), "{markdown}");
    let jsonl = get("export?as=jsonl").await.text();
    let lines: Vec<Json> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), lines[19]["damage"]["to"].as_u64()), (99, Some(22)));
}

#[tokio::test]
async fn a_damaged_log_is_told_with_its_place_to_those_who_follow_it() {
    let rig = Rig::new().await;
    let (run, _log) = damaged(&rig).await;
    for (path, last) in [("", None), ("", Some("1.19")), ("?kinds=session_ended", None)] {
        let path = format!("/api/v1/runs/{run}/events/stream{path}");
        let mut stream = Sse::open(&rig, &path, last).await;
        let mut told = Vec::new();
        loop {
            let message = stream.next().await.unwrap();
            if message.event == "end" {
                break;
            }
            let event = message.json();
            if event["code"] == "unreadable" {
                assert_eq!(message.id, "1.22");
                told.push(event["text"].as_str().unwrap().to_owned());
            }
        }
        assert!(told.len() == 1 && told[0].starts_with(TOLD), "{path}: {told:?}");
    }
    let mut feed = Sse::open(&rig, &format!("/api/v1/feed?runs={run}"), None).await;
    let told = loop {
        let message = feed.next().await.unwrap();
        if message.event == "run" && message.json()["event"]["code"] == "unreadable" {
            break message.json();
        }
        assert_ne!(message.event, "end", "the damage was passed over");
    };
    assert!(told["event"]["text"].as_str().unwrap().starts_with(TOLD), "{told:#}");
}

#[tokio::test]
async fn a_stream_ends_though_the_end_of_its_log_is_lost() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(10);
    let last = log.end();
    log.writer.finish(&"over").unwrap();
    let path = log.folder.join("events-00000001.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() - 30]).unwrap();
    rig.end(run, last).await;
    let mut stream = Sse::open(&rig, &format!("/api/v1/runs/{run}/events/stream"), None).await;
    let mut heard = Vec::new();
    loop {
        let message = stream.next().await.unwrap();
        if message.event == "end" {
            break;
        }
        heard.push(message.json());
    }
    assert_eq!((heard.len(), heard[10]["damage"]["from"].as_u64()), (11, Some(11)), "{heard:#?}");
}

#[tokio::test]
async fn a_log_of_which_nothing_is_left_is_a_problem_and_not_empty() {
    let rig = Rig::new().await;
    let (run, log) = damaged(&rig).await;
    std::fs::write(log.folder.join("events-00000001.jsonl"), vec![0; 5_000]).unwrap();
    for path in ["events", "events?last=5", "events?before=9", "search?q=x", "outline", "export"] {
        let reply = rig.get(&format!("/api/v1/runs/{run}/{path}")).await;
        reply.is_problem(500, "log_unreadable");
        assert!(reply.text().contains("events-00000001.jsonl"), "{}", reply.text());
    }
}
