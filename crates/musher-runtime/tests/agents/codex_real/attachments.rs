//! Images that go with the first prompt of the real Codex.

use musher_runtime::ResumeFrom;
use musher_runtime::core::Outcome;

use super::begin;
use crate::rig::{Attached, CodexRig, RawCopy, one_image, shown};

#[tokio::test]
async fn an_image_reaches_the_model_and_a_resumed_session_is_not_given_it_twice() {
    let (rig, attached) = (CodexRig::new().await, Attached::new());
    let mut spec = rig.spec("[[scn:text]] look");
    spec.attachments = vec![attached.image()];
    let copy = RawCopy::of(&mut spec);
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(shown(&rig.server, "text"), [one_image()]);
    copy.assert_holds_no_image();
    assert!(!ended.said().contains("iVBOR"), "{}", ended.text());

    let mut spec = rig.spec("[[scn:echo]] go on");
    spec.attachments = vec![attached.image()];
    spec.resume = ended.end.session.clone().map(ResumeFrom::of);
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    // The program keeps its own conversation, and shows the model all of it again.
    assert_eq!(shown(&rig.server, "echo"), [one_image()]);
}
