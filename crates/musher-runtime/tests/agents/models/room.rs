//! Conversations that outgrow the model: they are told by a summary, and the work goes on.

use musher_runtime::ResumeFrom;
use musher_runtime::core::{ErrorClass, EventKind, Outcome};

use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

fn compactions(ended: &Ended) -> Vec<(bool, Option<u64>, Option<u64>)> {
    let compaction = |kind: &EventKind| match kind {
        EventKind::Compaction { done, before, after, .. } => Some((*done, *before, *after)),
        _ => None,
    };
    ended.events.iter().filter_map(|event| compaction(&event.kind)).collect()
}

#[tokio::test]
async fn a_conversation_is_made_shorter_before_the_window_is_full() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("[[scn:seq n=4 in=9000 out=500]] Count to four.");
        spec.model_options.window = Some(10_000);
        spec.limits.max_turns = Some(3);
        let ended = rig.begin(spec).end().await;
        let told = compactions(&ended);
        assert!(told.len() >= 2, "{wire:?}:\n{}", ended.text());
        assert!(matches!(told[0], (false, Some(9000..), None)), "{wire:?}: {told:?}");
        assert!(matches!(told[1], (true, Some(_), Some(1..9000))), "{wire:?}: {told:?}");
        let requests = rig.server.requests();
        let asked = |at: usize| String::from_utf8_lossy(&requests[at].body).into_owned();
        assert!(asked(1).contains("Write a summary"), "{wire:?}");
        let after = asked(2);
        assert!(after.contains("This is the summary") && after.contains("Count to four."));
        assert!(!after.contains("echo step 1"), "{wire:?}: what was told is not sent again");
        // What the model told us is not what the agent told the person.
        assert_ne!(ended.response(), "Scripted side answer", "{wire:?}");
    }
}

#[tokio::test]
async fn a_service_that_says_it_is_full_is_told_a_summary_once() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("[[scn:seq n=9 window=6]] Count to nine.");
        spec.limits.max_turns = Some(12);
        let ended = rig.begin(spec).end().await;
        let told = compactions(&ended);
        assert!(told.iter().any(|(done, ..)| *done), "{wire:?}:\n{}", ended.text());
        assert_eq!(ended.end.outcome, Outcome::OutOfTurns, "{wire:?}:\n{}", ended.text());
        // The whole of it is still in the file, so that the turns before can be forked.
        let session = ended.end.session.clone().unwrap();
        let fork = ResumeFrom { fork: true, ..ResumeFrom::of(session) };
        let mut spec = rig.free("[[scn:text]] go on");
        spec.resume = Some(fork);
        assert_eq!(rig.begin(spec).end().await.end.outcome, Outcome::Completed, "{wire:?}");
    }
}

#[tokio::test]
async fn a_prompt_that_never_fits_ends_the_turn() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let ended = rig.run("[[scn:ctxfull]] go").await;
        assert_eq!(ended.end.outcome, Outcome::Failed, "{wire:?}:\n{}", ended.text());
        let class = ended.end.error.as_ref().map(|error| error.class);
        assert_eq!(class, Some(ErrorClass::ContextOverflow), "{wire:?}");
        assert!(rig.server.ledger().requests() < 8, "{wire:?}");
    }
}
