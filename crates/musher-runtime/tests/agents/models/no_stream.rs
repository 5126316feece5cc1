//! What comes instead of a stream: an answer that is whole is read, and anything else is a failure that names what came.

use musher_runtime::core::{ErrorClass, ErrorInfo, Outcome};

use super::{assert_bill, everywhere, retries};
use crate::story::Ended;

fn failure(ended: &Ended) -> ErrorInfo {
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    let error = ended.end.error.clone().expect("an error is told");
    assert_eq!(error.class, ErrorClass::Protocol, "{}", ended.text());
    error
}

#[tokio::test]
async fn a_whole_answer_is_read_whatever_type_it_is_said_to_have() {
    for kind in ["application/json", "text/plain", "text/event-stream", "application/octet-stream"]
    {
        let prompt = format!("[[scn:text quirk=no-stream as={kind}]] go");
        everywhere(&prompt, |wire, ended, rig| {
            let text = ended.text();
            assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?} {kind}:\n{text}");
            assert_eq!(ended.response(), "Hello from the scripted model.", "{wire:?} {kind}");
            assert_bill(wire, ended, rig.server.ledger().total());
        })
        .await;
    }
}

#[tokio::test]
async fn a_stream_is_read_whatever_type_it_is_said_to_have() {
    for kind in ["application/json", "text/plain", "text/html"] {
        everywhere(&format!("[[scn:text as={kind}]] go"), |wire, ended, rig| {
            let text = ended.text();
            assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?} {kind}:\n{text}");
            assert_bill(wire, ended, rig.server.ledger().total());
        })
        .await;
    }
}

#[tokio::test]
async fn json_of_another_kind_is_named_and_not_asked_for_again() {
    for kind in ["application/json", "text/event-stream"] {
        let prompt = format!("[[scn:body n=0 as={kind} say=\"{{\\\"hello\\\": [1, 2]}}\"]] go");
        everywhere(&prompt, |wire, ended, rig| {
            let error = failure(ended);
            assert!(error.message.contains(kind), "{wire:?}: {error:?}");
            assert!(error.message.contains("hello"), "{wire:?}: {error:?}");
            assert!(error.hint.is_some(), "{wire:?}: {error:?}");
            assert_eq!((retries(ended), rig.server.ledger().requests()), (0, 1), "{wire:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_page_is_named_and_not_asked_for_again() {
    for scenario in ["html", "body as=text/html say=\"<html>Log in, please</html>\" n=0"] {
        everywhere(&format!("[[scn:{scenario}]] go"), |wire, ended, rig| {
            let error = failure(ended);
            assert!(error.message.contains("text/html"), "{wire:?}: {error:?}");
            assert!(error.message.to_lowercase().contains("<"), "{wire:?}: {error:?}");
            assert_eq!((retries(ended), rig.server.ledger().requests()), (0, 1), "{wire:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn what_is_neither_is_named_and_given_up_in_the_end() {
    for say in ["Hello there.", "", "{\\\"half\\\": "] {
        let prompt = format!("[[scn:body n=0 as=text/plain say=\"{say}\"]] go");
        everywhere(&prompt, |wire, ended, rig| {
            let error = failure(ended);
            assert!(error.message.contains("text/plain"), "{wire:?} {say}: {error:?}");
            let head = say.get(..4).unwrap_or("nothing");
            let head = head.trim_matches(['{', '\\', '"']);
            assert!(error.message.contains(head), "{wire:?} {say}: {error:?}");
            assert!(rig.server.ledger().requests() <= 3, "{wire:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn an_error_in_the_place_of_an_answer_is_told_in_its_own_words() {
    let error = r#"{\"error\":{\"message\":\"no more today\"}}"#;
    everywhere(&format!("[[scn:body n=0 say=\"{error}\"]] go"), |wire, ended, _| {
        let text = ended.text();
        assert_eq!(ended.end.outcome, Outcome::Failed, "{wire:?}:\n{text}");
        let error = ended.end.error.as_ref().expect("an error is told");
        assert_eq!(error.message, "no more today", "{wire:?}:\n{text}");
        assert_eq!(ended.end.cost_usd, Some(Default::default()), "{wire:?}: nothing was made");
    })
    .await;
}
