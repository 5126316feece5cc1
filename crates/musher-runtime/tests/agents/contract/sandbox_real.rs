//! A few clauses in a sandbox, in both profiles. `scripts/prove sandbox` takes all of them for every runtime.

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

profiles! {
    claude_in_workspace: workspace, start, ClaudeRig;
    claude_in_strict: strict, start_beside, ClaudeRig;
    codex_in_workspace: workspace, start, CodexRig;
    codex_in_strict: strict, start_beside, CodexRig;
}
