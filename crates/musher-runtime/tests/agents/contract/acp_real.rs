//! What the check takes of the contract for ACP agents: one way through each clause that differs between them.

macro_rules! agents {
    ($($module:ident = $agent:ident),* $(,)?) => {$(
        mod $module {
            use crate::rig::{AcpAgent, AcpRig};

            async fn subject() -> AcpRig {
                AcpRig::new(AcpAgent::$agent).await
            }

            crate::contract::clauses! {
                an_answer_counts_once_and_a_late_one_is_told_who_won,
                stop_ends_the_whole_tree_and_is_true,
                an_interrupt_ends_the_turn_and_keeps_the_session,
                a_session_can_be_resumed,
                an_unknown_session_fails_and_says_so,
            }
        }
    )*};
}

agents! {
    gemini_cli = GeminiCli,
    opencode = OpenCode,
}
