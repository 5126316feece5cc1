//! Calls that do not come to their end: what was told of them is counted, and what is not known is never told as known.

use std::time::Duration;

use musher_runtime::core::{EventKind, Outcome, Usd};
use musher_testkit::model::{CallEnd, Usage};
use tokio::io::AsyncReadExt;

use super::{assert_books, counted, retries};
use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

/// Where an answer is cut, by the marker that does it.
const CUTS: &[(&str, &str)] = &[
    ("after the start", "cut blocks=0 n=0"),
    ("in the middle of a text", "cut n=0"),
    ("in the second text", "cut blocks=2 n=0"),
    (
        "in the middle of a call",
        r#"cut n=0 blocks=0 tool=write_file args={"path":"touched.txt","content":"a_long_text_so_that_it_comes_in_parts"}"#,
    ),
    ("after the usage and before the end", "cut at=end n=0"),
    ("by an end that is none", "eof n=0"),
    ("in the middle of an event", "half n=0"),
    ("by an error", "inline_err n=0"),
];

/// Runs a marker to its end, without another try.
async fn once(rig: &ModelRig, marker: &str) -> Ended {
    let mut spec = rig.free(&format!("[[scn:{marker}]] go"));
    spec.model_options.retries = Some(0);
    spec.model_options.idle = Some(Duration::from_secs(20));
    rig.begin(spec).end().await
}

/// Whether the books of this format hold something before the answer is over.
fn tells_at_the_start(wire: Wire) -> bool {
    matches!(wire, Wire::Messages | Wire::Generate)
}

#[tokio::test]
async fn the_bill_of_an_answer_that_is_cut_is_never_told_as_less_than_the_services_books() {
    for wire in Wire::ALL {
        for (stage, marker) in CUTS {
            let rig = ModelRig::new(wire).await;
            let ended = once(&rig, marker).await;
            let case = format!("{wire:?} {stage}");
            // One format has said all by then, and its mark of the end is not waited for.
            let whole = wire == Wire::Chat && marker.contains("at=end");
            let outcome = if whole { Outcome::Completed } else { Outcome::Failed };
            assert_eq!(ended.end.outcome, outcome, "{case}:\n{}", ended.text());
            assert_eq!(rig.place.file("touched.txt"), None, "{case}: half a call was made");
            assert_books(&ended, &rig, &case);
            if *stage != "after the usage and before the end" {
                assert_eq!(ended.end.cost_usd.is_some(), tells_at_the_start(wire), "{case}");
                assert!(ended.end.cost_usd.is_none() || ended.end.estimated, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn what_was_told_to_the_last_is_exact_although_the_answer_was_cut() {
    for wire in [Wire::Chat, Wire::Messages] {
        let rig = ModelRig::new(wire).await;
        let ended = once(&rig, "cut at=end n=0 in=11 cr=7 cw=5 out=13").await;
        let charged = rig.server.ledger().charged();
        assert_eq!(counted(&ended), charged, "{wire:?}:\n{}", ended.text());
        assert!(ended.end.cost_usd.is_some() && !ended.end.estimated, "{wire:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_never_answered_has_an_unknown_cost() {
    for wire in Wire::ALL {
        // The service takes the request and closes the connection.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serve = async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _asked = stream.read(&mut vec![0; 65536]).await;
            }
        };
        drop(tokio::task::spawn(serve));
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("go");
        spec.model_options.base_url = Some(format!("http://{address}"));
        spec.model_options.retries = Some(1);
        let ended = rig.begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Failed, "{wire:?}:\n{}", ended.text());
        assert_eq!(retries(&ended), 1, "{wire:?}:\n{}", ended.text());
        assert_eq!(ended.end.cost_usd, None, "{wire:?}:\n{}", ended.text());
        // The service takes the request and says nothing.
        let mut spec = rig.free("[[scn:hang]] go");
        spec.model_options.retries = Some(0);
        spec.model_options.idle = Some(Duration::from_millis(100));
        let ended = rig.begin(spec).end().await;
        assert_books(&ended, &rig, "hang");
        assert_eq!(ended.end.cost_usd, None, "{wire:?}:\n{}", ended.text());
    }
}

#[tokio::test]
async fn what_was_never_sent_or_was_refused_costs_nothing_and_that_is_known() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("go");
        spec.model_options.base_url = Some("http://127.0.0.1:1".into());
        spec.model_options.retries = Some(0);
        let unreached = rig.begin(spec).end().await;
        assert_eq!(unreached.end.outcome, Outcome::Failed, "{wire:?}:\n{}", unreached.text());
        assert_eq!(unreached.end.cost_usd, Some(Usd::default()), "{wire:?}");
        for marker in ["auth", "err status=500 n=0", "rate n=0", "nomodel", "html"] {
            let ended = once(&rig, marker).await;
            let text = ended.text();
            assert_eq!(ended.end.cost_usd, Some(Usd::default()), "{wire:?} {marker}:\n{text}");
        }
    }
}

#[tokio::test]
async fn each_try_that_may_have_been_billed_counts() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let ended = rig.run("[[scn:cut blocks=0 n=1]] go").await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?}:\n{}", ended.text());
        assert_eq!(rig.server.ledger().requests(), 2, "{wire:?}");
        assert_books(&ended, &rig, &format!("{wire:?}"));
        assert_eq!(ended.end.cost_usd.is_some(), tells_at_the_start(wire), "{wire:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_interrupted_stopped_or_killed_is_in_the_bill() {
    for wire in Wire::ALL {
        for how in ["interrupt", "stop", "kill"] {
            for marker in ["slow n=60 ms=20 out=500", "hang"] {
                let rig = ModelRig::new(wire).await;
                let mut story = rig.begin(rig.free(&format!("[[scn:{marker}]] go")));
                if marker == "hang" {
                    while rig.server.ledger().requests() == 0 {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                } else {
                    story.until_deltas(3).await;
                }
                match how {
                    "interrupt" => story.handle.interrupt().await.unwrap(),
                    "stop" => story.handle.stop().await.unwrap(),
                    _ => story.handle.kill().await.unwrap(),
                }
                let ended = story.end().await;
                let case = format!("{wire:?} {how} {marker}");
                assert_ne!(ended.end.outcome, Outcome::Completed, "{case}:\n{}", ended.text());
                assert_books(&ended, &rig, &case);
                let told = marker != "hang" && tells_at_the_start(wire);
                assert_eq!(ended.end.cost_usd.is_some(), told, "{case}:\n{}", ended.text());
            }
        }
    }
}

#[tokio::test]
async fn a_call_is_told_when_it_is_sent_and_has_one_last_word() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let ended = rig.run("[[scn:seq n=2]] go").await;
        let reports = ended.events.iter().filter_map(|event| match &event.kind {
            EventKind::Usage(report) => Some(report.clone()),
            _ => None,
        });
        let (begun, last): (Vec<_>, Vec<_>) = reports.partition(|report| report.partial);
        assert_eq!(last.len(), 3, "{wire:?}:\n{}", ended.text());
        for report in &last {
            let earlier = begun.iter().filter(|begun| begun.id == report.id).count();
            assert!((1..=2).contains(&earlier), "{wire:?} {earlier}:\n{}", ended.text());
        }
        let ends: Vec<CallEnd> = rig.server.ledger().calls.iter().map(|call| call.end).collect();
        assert_eq!(ends, [CallEnd::Whole; 3], "{wire:?}");
        assert_ne!(counted(&ended), Usage::default(), "{wire:?}");
    }
}
