//! Pages of a run's log, and what the agent itself wrote.

use musher_log::raw::RawWriter;
use musher_log::{Cursor, Lock, LogReader, Writer};
use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn pages_follow_each_other_and_hold_the_lines_as_they_are() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(2_500);
    let whole = std::fs::read_to_string(log.folder.join("events-00000001.jsonl")).unwrap();
    let lines: Vec<&str> = whole.lines().skip(1).collect();
    let (mut seen, mut after) = (String::new(), String::new());
    loop {
        let reply = rig.get(&format!("/api/v1/runs/{run}/events?limit=999{after}")).await;
        let text = reply.text();
        let inside = text
            .strip_prefix("{\"events\":[")
            .and_then(|rest| rest.split_once("],\"next\""))
            .unwrap()
            .0;
        seen.push_str(inside);
        seen.push(',');
        let page = reply.json();
        after = format!("&after={}", page["next"].as_str().unwrap());
        if page["end"] == true {
            assert_eq!(page["next"], "1.2500");
            break;
        }
    }
    assert_eq!(seen, lines.join(",") + ",");
    let empty = rig.get(&format!("/api/v1/runs/{run}/events?after=1.2500")).await.json();
    let last_word = json!({
        "events": [], "next": "1.2500", "end": true, "reset": false, "prev": null, "first": 1, "last": 2500
    });
    assert_eq!(empty, last_word);
    let last = rig.get(&format!("/api/v1/runs/{run}/events?last=2")).await.json();
    assert_eq!(last["events"][0]["seq"], 2499);
    let exactly = rig.get(&format!("/api/v1/runs/{run}/events?after=1.2498&limit=2")).await.json();
    assert_eq!((&exactly["end"], &exactly["next"]), (&json!(true), &json!("1.2500")));
}

#[tokio::test]
async fn pages_can_be_read_backwards_down_to_the_first_event() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(1_203);
    let (mut seen, mut before) = (Vec::new(), 1_204);
    loop {
        let path = format!("/api/v1/runs/{run}/events?before={before}&limit=100");
        let page = rig.get(&path).await.json();
        let events = page["events"].as_array().unwrap();
        assert!(!events.is_empty() && events.len() <= 100, "{page}");
        seen.splice(0..0, events.iter().map(|event| event["seq"].as_u64().unwrap()));
        assert_eq!((&page["first"], &page["last"]), (&json!(1), &json!(1203)));
        assert_eq!(page["next"], format!("1.{}", before - 1), "reading on from it leaves no gap");
        match page["prev"].as_u64() {
            Some(prev) => before = prev,
            None => break,
        }
    }
    assert_eq!(seen, (1..=1_203).collect::<Vec<u64>>());
    let beyond = rig.get(&format!("/api/v1/runs/{run}/events?before=99999&limit=1")).await.json();
    assert_eq!((&beyond["events"][0]["seq"], &beyond["end"]), (&json!(1203), &json!(true)));
    let none = rig.get(&format!("/api/v1/runs/{run}/events?before=1")).await.json();
    assert_eq!((&none["events"], &none["prev"]), (&json!([]), &json!(null)));
    let both = rig.get(&format!("/api/v1/runs/{run}/events?before=5&after=1.1")).await;
    both.is_problem(400, "bad_query");
}

#[tokio::test]
async fn a_rare_kind_is_found_far_back_and_a_page_of_long_lines_stays_short() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    let text = "x".repeat(30_000);
    let rare = musher_core::EventKind::Error {
        error: musher_core::ErrorInfo::new(musher_core::ErrorClass::Unknown, "far back"),
    };
    log.append(rare);
    for _ in 0..200 {
        let item = musher_core::EventKind::ItemDone {
            item: "i".into(),
            body: musher_core::ItemBody::Text { text: text.clone() },
            aborted: false,
        };
        log.append(item);
    }
    log.notices(3_000);
    let path = |query: &str| format!("/api/v1/runs/{run}/events?{query}");
    let found = rig.get(&path("before=3202&kinds=error&limit=5")).await.json();
    assert_eq!(found["events"][0]["seq"], 1);
    assert_eq!((found["events"].as_array().unwrap().len(), &found["prev"]), (1, &json!(null)));
    let page = rig.get(&path("before=202&limit=1000")).await;
    assert!(page.body.len() < 3 * 1024 * 1024, "{}", page.body.len());
    let page = page.json();
    let first = page["events"][0]["seq"].as_u64().unwrap();
    assert_eq!(page["prev"].as_u64(), Some(first), "what did not fit is on the page before");
    assert_eq!(page["next"], "1.201");
}

#[tokio::test]
async fn only_the_kinds_that_are_wanted_are_on_a_page() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(300);
    log.end();
    let page =
        rig.get(&format!("/api/v1/runs/{run}/events?kinds=session_ended,%20error")).await.json();
    assert_eq!(page["events"].as_array().unwrap().len(), 1);
    assert_eq!((&page["events"][0]["seq"], &page["next"]), (&json!(301), &json!("1.301")));
}

#[tokio::test]
async fn a_run_without_a_log_has_an_empty_one() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let page = rig.get(&format!("/api/v1/runs/{run}/events")).await.json();
    assert_eq!((&page["events"], &page["end"]), (&json!([]), &json!(true)));
    assert_eq!(rig.get(&format!("/api/v1/runs/{run}/raw")).await.body, b"");
}

#[tokio::test]
async fn a_page_after_a_place_that_is_gone_says_so_and_begins_where_the_log_is_whole() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(10);
    let folder = log.folder.clone();
    drop(log);
    // Events 8 to 10 were never synced, and a crash took them.
    let path = folder.join("events-00000001.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let keep: usize = text.split_inclusive('\n').take(8).map(str::len).sum();
    std::fs::write(&path, &text[..keep]).unwrap();
    std::fs::remove_file(folder.join("head")).unwrap();
    let mut writer = Writer::reopen(Lock::take(&folder).unwrap()).unwrap();
    let next = writer.next_seq();
    assert_eq!(next, 8);
    writer.append([&crate::rig::notice(next)]).unwrap();
    let page = rig.get(&format!("/api/v1/runs/{run}/events?after=1.10")).await.json();
    assert_eq!((&page["reset"], &page["next"]), (&json!(true), &json!("2.8")));
    assert_eq!(page["events"].as_array().unwrap().len(), 1);
    let reader = LogReader::open(&folder, None).unwrap();
    assert_eq!(reader.last().unwrap(), Some(Cursor { epoch: 2, seq: 8 }));
}

#[tokio::test]
async fn the_agents_own_output_is_given_byte_for_byte_and_not_too_much_at_once() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let folder = rig.bus.folder(run);
    std::fs::create_dir_all(&folder).unwrap();
    let bytes: Vec<u8> = (0..6_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut writer = RawWriter::new(&folder);
    writer.push(&bytes).unwrap();
    writer.flush().unwrap();
    let path = |query: &str| format!("/api/v1/runs/{run}/raw?{query}");
    assert_eq!(rig.get(&path("offset=100&len=50")).await.body, bytes[100..150]);
    assert_eq!(rig.get(&path("")).await.body, bytes[..4 * 1024 * 1024]);
    assert_eq!(rig.get(&path("offset=5999990")).await.body, bytes[5_999_990..]);
    assert_eq!(
        rig.get(&path("offset=18446744073709551615&len=18446744073709551615")).await.body,
        b""
    );
}
