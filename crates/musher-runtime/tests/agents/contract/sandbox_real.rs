//! A few clauses in a sandbox, in both profiles. `scripts/prove sandbox` takes all of them for every runtime.

use std::fs;

use musher_runtime::core::{Answer, Outcome};
use musher_testkit::model::ModelServer;

use super::Subject;
use super::sandbox::Confined;
use crate::rig::ClaudeRig;
use crate::story::Story;

macro_rules! profiles {
    ($($module:ident: $profile:ident, $server:ident, $rig:ident;)*) => {$(
        mod $module {
            use musher_testkit::model::ModelServer;

            use crate::contract::sandbox::Confined;
            use crate::rig::$rig;

            async fn subject() -> Confined<$rig> {
                Confined::$profile($rig::on(ModelServer::$server().await.unwrap()))
            }

            crate::contract::clauses! {
                an_interrupt_ends_the_turn_and_keeps_the_session,
                stop_ends_the_whole_tree_and_is_true,
                kill_ends_the_whole_tree_at_once,
                a_session_can_be_resumed,
            }
        }
    )*};
}

/// A sandbox inside of ours cannot be made. Where a person has switched one on, it is switched off for the session.
#[tokio::test]
async fn a_sandbox_of_the_vendors_own_is_off_inside_of_ours() {
    let server = ModelServer::start().await.unwrap();
    let confined = Confined::workspace(ClaudeRig::on(server));
    let rig = confined.subject();
    let own = rig.place.home.path().join(".claude");
    fs::create_dir_all(&own).unwrap();
    let on =
        r#"{"sandbox":{"enabled":true,"failIfUnavailable":true,"autoAllowBashIfSandboxed":true}}"#;
    fs::write(own.join("settings.json"), on).unwrap();
    let spec = confined.confine(rig.spec("[[scn:bash]] go"));
    let mut story = Story::begin(confined.runtime().as_ref(), spec);
    let (ask, _) = story.until_ask().await;
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(rig.place.file("out.txt").as_deref(), Some("hi\n"), "{}", ended.text());
}

profiles! {
    claude_in_workspace: workspace, start, ClaudeRig;
    claude_in_strict: strict, start_beside, ClaudeRig;
    codex_in_workspace: workspace, start, CodexRig;
    codex_in_strict: strict, start_beside, CodexRig;
}
