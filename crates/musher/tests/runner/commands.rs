//! What a person says to a run: durable before anybody says so, and done once.

use musher_core::{Answer, ClosedBy, EventKind, Outcome};
use musher_log::wire::{FromRunner, RunCommand};

use crate::rig::{PATIENCE, Rig};

const ASKS: &str =
    "[[step]]\nrun = 'echo done >> effects'\nask_first = true\n[[step]]\nsay = 'Done.'";

#[tokio::test]
async fn promise_15_an_answer_takes_effect_once_however_often_it_is_sent() {
    let rig = Rig::script(ASKS);
    rig.launch();
    let opened = rig.until(|event| matches!(event.kind, EventKind::AskOpened { .. })).await;
    let EventKind::AskOpened { ask, .. } = opened.kind else { unreachable!() };
    let yes =
        RunCommand::Answer { ask: ask.clone(), answer: Answer::Allow { input: None }, who: None };
    let id: musher_core::CommandId = "c1".parse().unwrap();
    // Two who speak at once, and one who repeats himself because his reply was lost.
    let (mut first, mut second) = (rig.link().await, rig.link().await);
    let (a, b) =
        tokio::join!(first.ask(id.clone(), yes.clone()), second.ask(id.clone(), yes.clone()));
    assert_eq!((a.unwrap(), b.unwrap()), (Ok(()), Ok(())));
    let no = RunCommand::Answer { ask, answer: Answer::Deny { reason: "no".into() }, who: None };
    if let Ok(mut late) = musher::runner::link::Link::open(&rig.run()).await
        && let Ok(reply) = late.ask("c2".parse().unwrap(), no).await
    {
        let refused = reply.unwrap_err();
        assert!(["ask_closed", "run_ended"].contains(&refused.code.as_str()), "{refused:?}");
    }
    rig.until_free().await;
    let closed: Vec<_> = rig
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::AskClosed { by, command, .. } => Some((by, command)),
            _ => None,
        })
        .collect();
    assert_eq!(closed, [(ClosedBy::Person, Some(id))]);
    assert_eq!(std::fs::read_to_string(rig.work().join("effects")).unwrap(), "done\n");
    assert_eq!(rig.outcome().unwrap().outcome, Outcome::Completed);
}

#[tokio::test]
async fn promise_15_what_was_said_is_in_the_log_before_it_is_acknowledged() {
    let rig = Rig::script("[[step]]\nsay = 'One.'\n[[step]]\nhang = true");
    rig.launch();
    rig.until(|event| matches!(event.kind, EventKind::TurnStarted { .. })).await;
    let mut link = rig.link().await;
    for n in 0..20 {
        let text = format!("word {n}");
        let id: musher_core::CommandId = format!("c{n}").parse().unwrap();
        link.ask(id, RunCommand::Steer { text: text.clone() }).await.unwrap().unwrap();
        let said = |event: &musher_core::Event| matches!(&event.kind, EventKind::UserMessage { text: heard, .. } if *heard == text);
        assert!(rig.events().iter().any(said), "{text} was acknowledged and is not in the log");
    }
    // A prompt waits for the end of the turn, and is in the log all the same.
    let later = RunCommand::Prompt { text: "later".into() };
    link.ask("p".parse().unwrap(), later).await.unwrap().unwrap();
    let said = |event: &musher_core::Event| matches!(&event.kind, EventKind::UserMessage { text, .. } if text == "later");
    assert!(rig.events().iter().any(said), "the prompt was acknowledged and is not in the log");
    link.ask("k".parse().unwrap(), RunCommand::Kill).await.unwrap().unwrap();
    rig.until_free().await;
}

#[tokio::test]
async fn nonsense_on_the_socket_is_passed_over() {
    use tokio::io::AsyncWriteExt;
    let rig = Rig::script("[[step]]\nhang = true");
    rig.launch();
    for junk in
        [&b"\n\n{}\n[]\nnull\n"[..], b"{\"type\":\"fly\"}\n", b"\xff\xfe\0\n", &[b'x'; 3 << 20]]
    {
        let folder = std::fs::File::open(rig.run()).unwrap();
        let path = format!("/proc/self/fd/{}/s", std::os::fd::AsRawFd::as_raw_fd(&folder));
        let mut stream = tokio::net::UnixStream::connect(path).await.unwrap();
        // A runner may hang up on it at any moment.
        let _hung_up = stream.write_all(junk).await;
    }
    let mut link = rig.link().await;
    link.ask("k".parse().unwrap(), RunCommand::Kill).await.unwrap().unwrap();
    rig.until_free().await;
}

#[tokio::test]
async fn the_longest_text_that_the_pool_takes_reaches_the_run_however_it_is_written() {
    let rig = Rig::script("[[step]]\nsay = 'One.'\n[[step]]\nhang = true");
    rig.launch();
    rig.until(|event| matches!(event.kind, EventKind::TurnStarted { .. })).await;
    let mut link = rig.link().await;
    // Each of these characters takes six bytes in JSON.
    let text = "\u{1}".repeat(256 * 1024);
    let said = link.ask("c1".parse().unwrap(), RunCommand::Steer { text });
    let reply = tokio::time::timeout(PATIENCE, said).await.unwrap();
    assert_eq!(reply.unwrap(), Ok(()), "the runner hung up on it");
    link.ask("k".parse().unwrap(), RunCommand::Kill).await.unwrap().unwrap();
    rig.until_free().await;
}

#[tokio::test]
async fn whoever_watches_and_does_not_read_can_still_command() {
    let word = format!("{} ", "x".repeat(511));
    let say = format!("[[step]]\nsay = '{}'\n", word.repeat(120));
    let rig = Rig::script(&format!("pace_ms = 1\n{}[[step]]\nhang = true", say.repeat(8)));
    rig.launch();
    let mut link = rig.link().await;
    link.watch().await.unwrap();
    let done = |event: &musher_core::Event| matches!(event.kind, EventKind::ItemDone { .. });
    let began = std::time::Instant::now();
    while rig.events().iter().filter(|event| done(event)).count() < 8 {
        assert!(began.elapsed() < PATIENCE, "the agent never came to its end");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    link.send("k".parse().unwrap(), RunCommand::Kill).await.unwrap();
    rig.until_free().await;
    assert_eq!(rig.outcome().unwrap().outcome, Outcome::Stopped);
}

#[tokio::test]
async fn promise_15_what_was_taken_is_acknowledged_even_if_the_run_ends_in_the_same_breath() {
    for round in 0..10 {
        let rig = Rig::script("[[step]]\nsay = 'One.'\n[[step]]\nrun = 'sleep 0.05'");
        rig.launch();
        let Ok(mut link) = musher::runner::link::Link::open(&rig.run()).await else { continue };
        // Few enough to be replied to even though nobody reads yet, and spread over the end of the run.
        for n in 0..200 {
            let id = format!("steer-{n}").parse().unwrap();
            let steer = RunCommand::Steer { text: "More.".into() };
            if link.send(id, steer).await.is_err() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_micros(200)).await;
        }
        let mut done = std::collections::BTreeSet::new();
        while let Ok(Some(said)) = link.next().await {
            if let FromRunner::Reply { id, refused: None } = said {
                done.insert(id.as_str().to_owned());
            }
        }
        rig.until_free().await;
        for event in rig.events() {
            if let EventKind::UserMessage { prompt: Some(id), .. } = event.kind
                && id.as_str().starts_with("steer-")
            {
                assert!(done.contains(id.as_str()), "round {round}: {id} was done in silence");
            }
        }
    }
}
