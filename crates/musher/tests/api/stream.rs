//! A run's log as it grows: nothing is missed, nothing comes twice, and nobody waits for the slow.

use std::sync::Arc;

use axum::http::StatusCode;
use http_body_util::BodyExt;
use musher_core::pool::PoolInput;
use musher_core::{ErrorClass, ErrorInfo};
use musher_log::{Lock, Writer};
use proptest::prelude::*;

use crate::rig::{Rig, notice};
use crate::sse::Sse;

#[tokio::test]
async fn each_event_is_framed_with_its_place_and_its_line_as_it_is() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(2);
    log.end();
    let written = std::fs::read_to_string(log.folder.join("events-00000001.jsonl")).unwrap();
    let lines: Vec<&str> = written.lines().skip(1).collect();
    let reply = rig.get(&format!("/api/v1/runs/{run}/events/stream")).await;
    assert_eq!(reply.status, StatusCode::OK);
    let expected = format!(
        "id: 1.1\ndata: {}\n\nid: 1.2\ndata: {}\n\nid: 1.3\ndata: {}\n\nevent: end\ndata: {{}}\n\n",
        lines[0], lines[1], lines[2]
    );
    assert_eq!(reply.text(), expected);
}

#[tokio::test]
async fn a_stream_of_a_run_that_is_over_ends_wherever_it_is_taken_up() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(5);
    log.end();
    for (after, events) in [("0.0", 6), ("1.0", 6), ("1.3", 3), ("1.6", 0)] {
        let path = format!("/api/v1/runs/{run}/events/stream?after={after}");
        let text = rig.get(&path).await.text();
        assert_eq!(
            text.matches("\nid: 1.").count() + usize::from(text.starts_with("id")),
            events,
            "{after}: {text}"
        );
        assert!(text.ends_with("event: end\ndata: {}\n\n"), "{text}");
    }
}

#[tokio::test]
async fn a_run_that_ended_before_it_had_a_log_ends_its_stream() {
    let rig = Rig::new().await;
    let story = rig.add("Never").await;
    let run = rig.queue(&story).await;
    let path = format!("/api/v1/runs/{run}/events/stream");
    let mut early = Sse::open(&rig, &path, None).await;
    let error = ErrorInfo::new(ErrorClass::Config, "no such base");
    rig.tell(PoolInput::PrepareFailed { run, error }).await;
    assert_eq!(early.next().await.unwrap().event, "end");
    assert_eq!(early.next().await, None);
    assert_eq!(rig.get(&path).await.text(), "event: end\ndata: {}\n\n");
}

#[tokio::test]
async fn a_stream_that_is_opened_before_the_log_is_there_gets_it_from_the_first_event() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut stream = Sse::open(&rig, &format!("/api/v1/runs/{run}/events/stream"), None).await;
    let waiting = tokio::spawn(async move {
        let first = stream.next().await.unwrap();
        (first, stream.next().await.unwrap())
    });
    tokio::task::yield_now().await;
    let mut log = rig.log(run);
    log.notices(1);
    log.notices(1);
    let (first, second) = waiting.await.unwrap();
    assert_eq!((first.id.as_str(), second.id.as_str()), ("1.1", "1.2"));
}

#[tokio::test]
async fn what_a_crash_took_is_told_by_a_reset_and_the_stream_goes_on() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(10);
    let path = format!("/api/v1/runs/{run}/events/stream");
    let mut all = Sse::open(&rig, &path, None).await;
    let mut some = Sse::open(&rig, &path, Some("1.4")).await;
    for _ in 0..10 {
        all.next().await.unwrap();
    }
    assert_eq!(some.next().await.unwrap().id, "1.5");
    let folder = log.folder.clone();
    drop(log);
    let segment = folder.join("events-00000001.jsonl");
    let text = std::fs::read_to_string(&segment).unwrap();
    let keep: usize = text.split_inclusive('\n').take(8).map(str::len).sum();
    let file = std::fs::File::options().write(true).open(&segment).unwrap();
    file.set_len(keep as u64).unwrap();
    let mut writer = Writer::reopen(Lock::take(&folder).unwrap()).unwrap();
    writer.append(&[notice(8), notice(9)]).unwrap();
    let reset = all.next().await.unwrap();
    assert_eq!((reset.event.as_str(), reset.data.as_str()), ("reset", r#"{"cursor":"2.7"}"#));
    assert_eq!(reset.id, "2.7");
    assert_eq!(
        (all.next().await.unwrap().id, all.next().await.unwrap().id),
        ("2.8".into(), "2.9".into())
    );
    // Whoever comes back with a place in what is gone hears of it too; one in what is left does not.
    let mut gone = Sse::open(&rig, &path, Some("1.9")).await;
    assert_eq!(gone.next().await.unwrap().event, "reset");
    let mut kept = Sse::open(&rig, &path, Some("1.7")).await;
    assert_eq!(kept.next().await.unwrap().id, "2.8");
    let mut other = Sse::open(&rig, &path, Some("7.3")).await;
    assert_eq!(other.next().await.unwrap().id, "2.0", "a place in another log");
}

#[tokio::test]
async fn only_the_kinds_that_are_wanted_come_and_the_place_moves_all_the_same() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(5_000);
    let path = format!("/api/v1/runs/{run}/events/stream?kinds=session_ended");
    let mut stream = Sse::open(&rig, &path, None).await;
    let waiting =
        tokio::spawn(
            async move { (stream.next().await, stream.next().await, stream.next().await) },
        );
    log.notices(5_000);
    log.end();
    let (ended, end, nothing) = waiting.await.unwrap();
    assert_eq!(ended.unwrap().id, "1.10001");
    assert_eq!((end.unwrap().event.as_str(), nothing), ("end", None));
}

#[tokio::test]
async fn a_silent_stream_beats_and_tells_the_place_that_other_kinds_have_moved() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(3);
    let path = format!("/api/v1/runs/{run}/events/stream?kinds=error");
    let stream = Sse::open(&rig, &path, None).await;
    let mut body = stream.into_body();
    tokio::time::pause();
    let frames = async |body: &mut axum::body::Body| {
        body.frame().await.unwrap().unwrap().into_data().unwrap()
    };
    assert_eq!(frames(&mut body).await, "id: 1.3\n\n");
    assert_eq!(frames(&mut body).await, ":\n\n");
    assert_eq!(frames(&mut body).await, ":\n\n");
}

#[tokio::test]
async fn text_in_flight_comes_to_those_who_want_it_and_moves_no_place() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(1);
    let path = format!("/api/v1/runs/{run}/events/stream");
    let mut with = Sse::open(&rig, &format!("{path}?deltas=1"), None).await;
    let mut without = Sse::open(&rig, &path, None).await;
    assert_eq!(
        (with.next().await.unwrap().id, without.next().await.unwrap().id),
        ("1.1".into(), "1.1".into())
    );
    rig.bus.pass_on(run, Arc::from(r#"{"item":"i","text":"Hel"}"#));
    let delta = with.next().await.unwrap();
    assert_eq!(
        (delta.event.as_str(), delta.data.as_str()),
        ("delta", r#"{"item":"i","text":"Hel"}"#)
    );
    assert_eq!(delta.id, "1.1");
    log.notices(1);
    assert_eq!(without.next().await.unwrap().id, "1.2");
}

#[tokio::test]
async fn a_restart_of_the_server_loses_and_repeats_nothing() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(10);
    let path = format!("/api/v1/runs/{run}/events/stream");
    let mut stream = Sse::open(&rig, &path, None).await;
    for _ in 0..7 {
        stream.next().await.unwrap();
    }
    let last = stream.id.clone();
    let rig = rig.again().await;
    log.notices(5);
    let mut stream = Sse::open(&rig, &path, Some(&last)).await;
    for seq in 8..=15 {
        assert_eq!(stream.next().await.unwrap().id, format!("1.{seq}"));
    }
}

#[tokio::test]
async fn a_thousand_followers_of_one_run_all_get_everything_and_share_its_files() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(50);
    let path = format!("/api/v1/runs/{run}/events/stream");
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut followers = Vec::new();
    for n in 0..1_000 {
        let last = format!("1.{}", n % 50);
        let mut stream = Sse::open(&rig, &path, Some(&last)).await;
        for seq in (n % 50) + 1..=50 {
            assert_eq!(stream.next().await.unwrap().id, format!("1.{seq}"));
        }
        followers.push(stream);
    }
    // A follower stands with the others once it has found the end.
    let mut tasks = tokio::task::JoinSet::new();
    for mut stream in followers {
        tasks.spawn(async move {
            let mut ids = Vec::new();
            while let Some(message) = stream.next().await {
                ids.push(message.id);
            }
            ids
        });
    }
    tokio::task::yield_now().await;
    let before = files();
    assert!(before < 200, "{before} open files for a thousand followers");
    for _ in 0..20 {
        log.notices(5);
        tokio::task::yield_now().await;
    }
    let last = log.end();
    let mut expected: Vec<String> = (51..=last).map(|seq| format!("1.{seq}")).collect();
    expected.push(format!("1.{last}"));
    while let Some(ids) = tasks.join_next().await {
        assert_eq!(ids.unwrap(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The client breaks off at random places of a log that grows at random, and comes back with the last id.
    #[test]
    fn breaking_off_and_coming_back_leaves_no_gap_and_no_duplicate(
        grow in prop::collection::vec(1_u64..400, 1..12),
        read in prop::collection::vec(1_usize..700, 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let rig = Rig::new().await;
            let run = rig.live().await;
            let mut log = rig.log(run);
            let path = format!("/api/v1/runs/{run}/events/stream");
            let total: u64 = grow.iter().sum();
            let writer = tokio::task::spawn_blocking(move || {
                for count in grow {
                    log.notices(count);
                }
                log.end();
            });
            let mut seen = Vec::new();
            let mut last: Option<String> = None;
            'all: for count in read.iter().cycle() {
                let mut stream = Sse::open(&rig, &path, last.as_deref()).await;
                for _ in 0..*count {
                    let message = stream.next().await.unwrap();
                    if message.event == "end" {
                        break 'all;
                    }
                    seen.push(message.json()["seq"].as_u64().unwrap());
                }
                last = Some(stream.id.clone());
            }
            writer.await.unwrap();
            assert_eq!(seen, (1..=total + 1).collect::<Vec<_>>());
        });
    }
}
