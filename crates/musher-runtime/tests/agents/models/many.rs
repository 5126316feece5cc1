//! Ten thousand calls of tools, in one answer and over many.

use musher_runtime::core::{Outcome, ToolPhase};

use super::assert_bill;
use super::tools::{completed, updates};
use crate::rig::{ModelRig, Wire};

async fn in_one_answer(wire: Wire) {
    let rig = ModelRig::new(wire).await;
    let ended = rig.run("[[scn:call n=10000 tool=list_files]] go").await;
    completed(wire, &ended);
    assert_eq!(updates(&ended, ToolPhase::Completed).len(), 128);
    assert_eq!(updates(&ended, ToolPhase::Failed).len(), 9872);
    assert_eq!(rig.server.ledger().requests(), 2);
    let told = rig.server.requests()[1].json().to_string();
    assert_eq!(told.matches("more than 128 calls in one answer").count(), 9872);
}

/// The conversation is made shorter again and again, so that it does not grow with what was done.
async fn over_many_answers(wire: Wire) {
    let rig = ModelRig::new(wire).await;
    let messages = match wire {
        Wire::Responses => 2000,
        Wire::Chat => 1000,
        Wire::Messages | Wire::Generate => 16,
    };
    let prompt = format!("[[scn:call n=125 steps=1000 window={messages} tool=list_files]] go");
    let mut spec = rig.free(&prompt);
    spec.limits.max_turns = Some(100);
    let ended = rig.begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::OutOfTurns, "{}", ended.text());
    let made = updates(&ended, ToolPhase::Completed).len();
    assert!(made >= 10_000, "{made} calls were made");
    let longest = rig.server.requests().iter().map(|request| request.body.len()).max();
    assert!(longest.is_some_and(|longest| longest < 1_000_000), "{longest:?}");
    assert_bill(wire, &ended, rig.server.ledger().total());
}

macro_rules! wires {
    ($($module:ident: $wire:ident),* $(,)?) => {$(
        mod $module {
            use crate::rig::Wire;

            #[tokio::test]
            async fn the_first_of_ten_thousand_calls_are_made_and_the_model_is_told_of_the_limit() {
                super::in_one_answer(Wire::$wire).await;
            }

            #[tokio::test]
            async fn ten_thousand_calls_over_many_answers_are_made_in_a_window_that_stays_small() {
                super::over_many_answers(Wire::$wire).await;
            }
        }
    )*};
}

wires! {
    responses: Responses,
    chat: Chat,
    messages: Messages,
    generate: Generate,
}
