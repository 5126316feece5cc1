//! What every runtime must pass. Each runtime brings its own way to play the same few scenes.

mod acp_matrix_real;
mod acp_real;
mod claude_real;
mod claude_recorded;
mod codex_real;
mod gates;
mod models;
pub(crate) mod sandbox;
mod sandbox_matrix_real;
mod sandbox_real;
mod script;
mod suite;

use musher_runtime::{Runtime, SessionSpec};

use crate::rig::Place;

/// What a scene is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scene {
    /// One short answer.
    Text,
    /// One tool that needs approval, then an end.
    Approval,
    /// One question, then an end.
    Question,
    /// A tool that runs until it is ended.
    Hang,
    /// A tool that runs until it is interrupted, with room for a turn after it.
    Interruptible,
    /// Two prompts, a turn each, of which the first costs something.
    TwoPrompts,
    /// More than one model call in a turn.
    ManyCalls,
}

/// A runtime with its scenes.
pub(crate) trait Subject {
    fn runtime(&self) -> Box<dyn Runtime>;
    fn spec(&self, scene: Scene) -> SessionSpec;
    /// A session that nobody knows.
    fn unknown_session(&self) -> SessionSpec;
    /// Where it works.
    fn place(&self) -> &Place;
    /// Whether it says which model it asks. If not, nobody knows what its tokens cost.
    fn names_its_model(&self) -> bool {
        true
    }
}

/// One test for each clause, for the subject of the module that calls it.
macro_rules! clauses {
    ($($clause:ident),* $(,)?) => {$(
        #[tokio::test]
        async fn $clause() {
            crate::contract::suite::$clause(&subject().await).await;
        }
    )*};
}
pub(crate) use clauses;

/// Every clause of the contract.
macro_rules! every_clause {
    () => {
        // What a sandbox holds ends with it, so there this one has nothing to show.
        crate::contract::clauses! { without_the_sweep_an_end_leaves_processes_behind }
        crate::contract::every_clause_in_a_sandbox!();
    };
}
pub(crate) use every_clause;

/// Every clause that means something in a sandbox too.
macro_rules! every_clause_in_a_sandbox {
    () => {
        crate::contract::clauses! {
            a_session_ends_once_and_says_how,
            an_ask_that_nobody_can_answer_is_denied_at_once,
            an_ask_past_its_deadline_gets_its_default,
            an_answer_counts_once_and_a_late_one_is_told_who_won,
            a_question_is_answered,
            an_ask_is_closed_when_the_session_is_stopped,
            a_rule_settles_an_ask_without_a_person,
            stop_ends_the_whole_tree_and_is_true,
            kill_ends_the_whole_tree_at_once,
            dropping_the_session_ends_the_whole_tree,
            an_interrupt_ends_the_turn_and_keeps_the_session,
            a_second_prompt_waits_for_its_turn,
            the_limit_on_model_calls_ends_a_run,
            the_budget_ends_a_run,
            the_wall_clock_ends_a_run,
            silence_ends_a_run,
            a_session_can_be_resumed,
            an_unknown_session_fails_and_says_so,
            bad_input_is_refused_before_anything_runs,
            one_shot_work_gives_its_result,
        }
    };
}
pub(crate) use every_clause_in_a_sandbox;
