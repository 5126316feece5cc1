//! The cells of the table: one row for each kind of input, one column for each phase.

use crate::pool::{PoolCommand, PoolInput, RunReport};

/// How many rows there are.
pub(super) const ROWS: usize = 39;

/// The name of a row and its cells, in the order of the columns.
pub(super) fn row(input: &PoolInput) -> (&'static str, [&'static str; 9]) {
    match input {
        PoolInput::Begun => {
            ("begun", ["-", "- run_preparing > prepare", "-", "-", "-", "-", "-", "-", "-"])
        }
        PoolInput::Command { command, .. } => command_row(command),
        PoolInput::Prepared { .. } => {
            ("prepared", ["-", "-", "- run_prepared > spawn", "-", "-", "-", "-", "-", "-"])
        }
        PoolInput::PrepareFailed { .. } => {
            ("prepare_failed", ["-", "-", "- run_ended > release", "-", "-", "-", "-", "-", "-"])
        }
        PoolInput::RunnerUp { .. } => {
            ("runner_up", ["-", "-", "-", "- run_started", "-", "-", "-", "-", "-"])
        }
        PoolInput::SpawnFailed { .. } => {
            ("spawn_failed", ["-", "-", "-", "- run_ended > release", "-", "-", "-", "-", "-"])
        }
        PoolInput::Heard { what, .. } => heard_row(what),
        PoolInput::RunnerGone { .. } => (
            "runner_gone",
            [
                "-",
                "-",
                "-",
                "- runner_lost > close_log",
                "- runner_lost > close_log",
                "-",
                "-",
                "-",
                "-",
            ],
        ),
        PoolInput::LogLost { .. } => {
            ("log_lost", ["-", "-", "-", "-", "-", "- run_ended > finish", "-", "-", "-"])
        }
        PoolInput::Delivered { .. } => ("delivered", ["-"; 9]),
        PoolInput::Granted { .. } => ("granted", ["-"; 9]),
        PoolInput::Finished { .. } => (
            "finished",
            [
                "-",
                "-",
                "-",
                "-",
                "-",
                "-",
                "- run_finished",
                "- run_finished run_queued run_preparing > prepare",
                "-",
            ],
        ),
        PoolInput::Released { .. } => ("released", ["-"; 9]),
        PoolInput::Searched { .. } => ("searched", ["-"; 9]),
        PoolInput::Merged { .. } => ("merged", ["-"; 9]),
    }
}

fn command_row(command: &PoolCommand) -> (&'static str, [&'static str; 9]) {
    match command {
        PoolCommand::AddStory { .. } => ("add_story", ["story: story_added"; 9]),
        PoolCommand::PutStories { .. } => ("put_stories", ["done: story_edited"; 9]),
        PoolCommand::EditStory { .. } => ("edit_story", ["done: story_edited"; 9]),
        PoolCommand::FinishStory { .. } => (
            "finish_story",
            [
                "done: story_finished",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "done: story_finished",
            ],
        ),
        PoolCommand::ReopenStory { .. } => ("reopen_story", ["done"; 9]),
        PoolCommand::ArchiveStory { .. } => (
            "archive_story",
            [
                "done: story_archived",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "done: story_archived > release",
            ],
        ),
        PoolCommand::MergeStory { .. } => (
            "merge_story",
            [
                "nothing_to_merge",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "story_busy",
                "offered: merge_started > search_secrets",
            ],
        ),
        PoolCommand::StartRun { .. } => (
            "start_run",
            [
                "run: run_queued run_preparing > prepare",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "run: run_queued run_preparing > prepare",
            ],
        ),
        PoolCommand::Prompt { .. } => (
            "prompt",
            [
                "no_such_run",
                "offered: prompt_offered",
                "offered: prompt_offered",
                "offered: prompt_offered",
                "offered: prompt_offered > deliver",
                "run_ending",
                "run_ending",
                "run_ending",
                "run: run_queued run_preparing > prepare",
            ],
        ),
        PoolCommand::Steer { .. } => (
            "steer",
            [
                "no_such_run",
                "offered: steer_offered",
                "offered: steer_offered",
                "offered: steer_offered",
                "offered: steer_offered > deliver",
                "run_ending",
                "run_ending",
                "run_ending",
                "no_such_run",
            ],
        ),
        PoolCommand::TakeBack { .. } => (
            "take_back",
            [
                "no_such_run",
                "not_started",
                "not_started",
                "offered: take_back_offered",
                "offered: take_back_offered > deliver",
                "run_ending",
                "run_ending",
                "run_ending",
                "no_such_run",
            ],
        ),
        PoolCommand::Interrupt { .. } => (
            "interrupt",
            [
                "no_such_run",
                "not_started",
                "not_started",
                "offered: interrupt_offered",
                "offered: interrupt_offered > deliver",
                "run_ending",
                "run_ending",
                "run_ending",
                "no_such_run",
            ],
        ),
        PoolCommand::Change { .. } => (
            "change",
            [
                "no_such_run",
                "not_started",
                "not_started",
                "offered: change_offered",
                "offered: change_offered > deliver",
                "run_ending",
                "run_ending",
                "run_ending",
                "no_such_run",
            ],
        ),
        PoolCommand::Stop { .. } => (
            "stop",
            [
                "no_such_run",
                "done: run_ended",
                "offered: end_wished",
                "offered: end_wished",
                "offered: end_wished > deliver",
                "done: end_wished",
                "done",
                "done: end_wished",
                "no_such_run",
            ],
        ),
        PoolCommand::Kill { .. } => (
            "kill",
            [
                "no_such_run",
                "done: run_ended",
                "offered: end_wished",
                "offered: end_wished",
                "offered: end_wished > deliver",
                "done: end_wished",
                "done",
                "done: end_wished",
                "no_such_run",
            ],
        ),
        PoolCommand::Answer { .. } => (
            "answer",
            [
                "no_such_run",
                "no_such_ask",
                "no_such_ask",
                "no_such_ask",
                "offered: answer_offered > deliver",
                "run_ending",
                "run_ending",
                "run_ending",
                "no_such_run",
            ],
        ),
        PoolCommand::Resume { .. } => (
            "resume",
            [
                "run: run_queued run_preparing > prepare",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "run: run_queued run_preparing > prepare",
            ],
        ),
        PoolCommand::Retry { .. } => (
            "retry",
            [
                "run: run_queued run_preparing > prepare",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "already_running",
                "run: run_queued run_preparing > prepare",
            ],
        ),
        PoolCommand::Fork { .. } => (
            "fork",
            [
                "no_such_run",
                "not_started",
                "not_started",
                "no_session",
                "run: run_queued run_preparing > prepare",
                "run: run_queued run_preparing > prepare",
                "run: run_queued run_preparing > prepare",
                "run: run_queued run_preparing > prepare",
                "run: run_queued run_preparing > prepare",
            ],
        ),
    }
}

fn heard_row(heard: &RunReport) -> (&'static str, [&'static str; 9]) {
    match heard {
        RunReport::Session { .. } => (
            "heard_session",
            [
                "-",
                "-",
                "-",
                "- run_started session_seen",
                "- session_seen",
                "- session_seen",
                "-",
                "-",
                "-",
            ],
        ),
        RunReport::SetupDone => (
            "heard_setup_done",
            [
                "-",
                "-",
                "-",
                "- run_started setup_done",
                "- setup_done",
                "- setup_done",
                "-",
                "-",
                "-",
            ],
        ),
        RunReport::AskOpened { .. } => (
            "heard_ask_opened",
            [
                "-",
                "-",
                "-",
                "- run_started ask_opened",
                "- ask_opened",
                "- ask_opened",
                "-",
                "-",
                "-",
            ],
        ),
        RunReport::AskClosed { .. } => (
            "heard_ask_closed",
            ["-", "-", "-", "- run_started", "- ask_closed", "- ask_closed", "-", "-", "-"],
        ),
        RunReport::Taken { .. } => {
            ("heard_taken", ["-", "-", "-", "- run_started", "-", "-", "-", "-", "-"])
        }
        RunReport::Usage { .. } => (
            "heard_usage",
            [
                "-",
                "-",
                "-",
                "- run_started usage_counted",
                "- usage_counted",
                "- usage_counted",
                "-",
                "-",
                "-",
            ],
        ),
        RunReport::Ended { .. } => (
            "heard_ended",
            [
                "-",
                "-",
                "-",
                "- run_started run_ended > finish",
                "- run_ended > finish",
                "- run_ended > finish",
                "-",
                "-",
                "-",
            ],
        ),
    }
}
