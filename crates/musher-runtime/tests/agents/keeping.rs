//! What a host that keeps a durable record can rely on.

use std::time::Duration;

use bytes::Bytes;
use musher_runtime::claude_code::ClaudeCode;
use musher_runtime::core::{Event, EventKind, Outcome, Usd};
use musher_runtime::script::Script;
use musher_runtime::{Keeper, Runtime, SessionOutput, SessionSpec, sweep};
use musher_testkit::{proc, programs};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::rig::{Place, recorded};
use crate::story::Story;

const PATIENCE: Duration = Duration::from_secs(30);

struct Kept {
    raw: mpsc::Receiver<Bytes>,
    durable: watch::Sender<u64>,
}

fn keep(spec: &mut SessionSpec) -> Kept {
    let (raw_in, raw) = mpsc::channel(4096);
    let (durable, watched) = watch::channel(0);
    spec.keeper = Some(Keeper { raw: raw_in, durable: watched });
    Kept { raw, durable }
}

fn starts_a_turn(event: &Event) -> bool {
    matches!(event.kind, EventKind::TurnStarted { .. })
}

#[tokio::test]
async fn a_prompt_reaches_the_agent_only_when_its_event_is_durable() {
    let place = Place::new();
    let mut spec = place.spec("go");
    let kept = keep(&mut spec);
    let mut session = Script::default().playing("[[step]]\nsay = 'Hello.'").start(spec);
    let mut heard = Vec::new();
    // Nothing is durable, so the agent must not have begun, however long one waits.
    while let Ok(Some(output)) = timeout(Duration::from_millis(300), session.next()).await {
        if let SessionOutput::Event(event) = output {
            heard.push(event);
        }
    }
    assert!(heard.iter().any(|e| matches!(e.kind, EventKind::UserMessage { .. })), "{heard:?}");
    assert!(!heard.iter().any(starts_a_turn), "{heard:?}");
    kept.durable.send(heard.last().unwrap().seq).unwrap();
    while let Some(output) = timeout(PATIENCE, session.next()).await.unwrap() {
        if let SessionOutput::Event(event) = output {
            kept.durable.send_if_modified(|seq| std::mem::replace(seq, event.seq) != event.seq);
            heard.push(event);
        }
    }
    assert!(heard.iter().any(starts_a_turn), "{heard:?}");
}

#[tokio::test]
async fn the_raw_copy_holds_every_frame_at_the_place_that_its_event_names() {
    let place = Place::new();
    let mut spec = recorded(&place, "text", "go");
    let mut kept = keep(&mut spec);
    kept.durable.send(u64::MAX).unwrap();
    let mut session = ClaudeCode::default().start(spec);
    let mut events = Vec::new();
    while let Some(output) = timeout(PATIENCE, session.next()).await.unwrap() {
        if let SessionOutput::Event(event) = output {
            events.push(event);
        }
    }
    let mut copy = Vec::new();
    while let Ok(part) = kept.raw.try_recv() {
        copy.extend_from_slice(&part);
    }
    let mut frames = 0;
    for raw in events.iter().filter_map(|event| event.raw) {
        let (from, len) = (usize::try_from(raw.offset).unwrap(), usize::try_from(raw.len).unwrap());
        let frame: serde_json::Value = serde_json::from_slice(&copy[from..from + len]).unwrap();
        assert!(frame["type"].is_string());
        frames += 1;
    }
    assert!(frames > 3, "{events:?}");
}

#[tokio::test]
async fn setup_is_told_line_by_line_and_comes_before_the_agent() {
    let place = Place::new();
    let mut spec = place.spec("go");
    spec.setup = vec!["echo one; echo two > made".into(), "cat made".into()];
    let story = Story::begin(&Script::default().playing("[[step]]\nrun = 'cat made'"), spec);
    let (events, end) = whole(story).await;
    assert_eq!(end, Outcome::Completed);
    let notices: Vec<&str> = events.iter().filter_map(notice).collect();
    let expected =
        ["$ echo one; echo two > made", "one", "$ cat made", "two", "the folder is ready"];
    assert_eq!(notices, expected);
    let turn = events.iter().position(starts_a_turn).unwrap();
    let ready = events.iter().position(|e| notice(e) == Some("the folder is ready")).unwrap();
    assert!(ready < turn);
}

#[tokio::test]
async fn a_setup_that_fails_ends_the_run_and_says_which_command_failed() {
    let place = Place::new();
    let mut spec = place.spec("go");
    spec.setup = vec!["exit 7".into()];
    let story = Story::begin(&Script::default().playing("[[step]]\nrun = 'touch begun'"), spec);
    let (events, end) = whole(story).await;
    assert_eq!(end, Outcome::Failed);
    let said = serde_json::to_string(&events).unwrap();
    assert!(said.contains("the setup command `exit 7` exited with 7"), "{said}");
    assert_eq!(place.file("begun"), None);
}

#[tokio::test]
async fn a_setup_that_hangs_is_killed_with_all_it_started() {
    let place = Place::new();
    let mut spec = place.spec("go");
    spec.setup = vec!["setsid sleep 300 & sleep 300".into()];
    let story = Story::begin(&Script::default().playing("[[step]]\nsay = 'hi'"), spec);
    story.until_sleeping().await;
    story.handle.kill().await.unwrap();
    let mark = story.mark();
    let (_, end) = whole(story).await;
    assert_eq!(end, Outcome::Stopped);
    assert_eq!(proc::marked(&mark), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_3_a_setup_that_never_stops_talking_is_stopped_even_if_nobody_listens() {
    let place = Place::new();
    let mut spec = place.spec("go");
    spec.setup = vec!["while :; do echo $$; echo x >> said; done".into()];
    let story = Story::begin(&Script::default().playing("[[step]]\nsay = 'hi'"), spec);
    // It waits when everything between it and us is full.
    let (mut before, mut now) = (None, place.file("said"));
    while before.is_none() || before != now {
        tokio::time::sleep(Duration::from_millis(300)).await;
        before = std::mem::replace(&mut now, place.file("said"));
    }
    story.handle.stop().await.unwrap();
    let mark = story.mark();
    let began = std::time::Instant::now();
    while !proc::marked(&mark).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "it lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(whole(story).await.1, Outcome::Stopped);
}

#[test]
fn what_a_dead_host_left_behind_is_found_by_its_mark_and_ended() {
    let mark = uuid::Uuid::new_v4().simple().to_string();
    let mut agent = std::process::Command::new(programs::fake_agent().unwrap())
        .args(["fork-bomb", "--depth", "2", "--width", "2"])
        .env(musher_runtime::MARK, &mark)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = agent.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let key = format!("{}={mark}", musher_runtime::MARK);
    assert_eq!(proc::marked(&key).len(), 7);
    let left = sweep(&mark, None);
    // It is a child of this test, so the sweep may have taken it in already.
    let _taken = agent.wait();
    assert_eq!((left, proc::marked(&key)), (vec![], vec![]));
}

fn notice(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::Notice { text, .. } => Some(text),
        _ => None,
    }
}

async fn whole(mut story: Story) -> (Vec<Event>, Outcome) {
    let end = story
        .until(|kind| match kind {
            EventKind::SessionEnded(end) => Some(end.outcome),
            _ => None,
        })
        .await;
    (story.events, end)
}

#[tokio::test]
async fn a_script_that_says_nothing_of_money_cost_nothing_and_that_is_known() {
    for script in ["[[step]]\nsay = 'Hello.'", "[[step]]\nfail = 'no'"] {
        let place = Place::new();
        let ended = Story::begin(&Script::default().playing(script), place.spec("go")).end().await;
        assert_eq!(ended.end.cost_usd, Some(Usd::default()), "{}", ended.text());
    }
}
