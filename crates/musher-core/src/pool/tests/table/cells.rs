//! The cells of the table: one row for each kind of input, one column for each phase.

use crate::pool::{Command, Heard, Input};

/// How many rows there are.
pub(super) const ROWS: usize = 36;

/// The name of a row and its cells, in the order of the columns.
pub(super) fn row(input: &Input) -> (&'static str, [&'static str; 9]) {
    match input {
        Input::Begun => {
            ("begun", ["-", "- run_preparing > prepare", "-", "-", "-", "-", "-", "-", "-"])
        }
        Input::Command { command, .. } => command_row(command),
        Input::Prepared { .. } => {
            ("prepared", ["-", "-", "- run_prepared > spawn", "-", "-", "-", "-", "-", "-"])
        }
        Input::PrepareFailed { .. } => {
            ("prepare_failed", ["-", "-", "- run_ended > release", "-", "-", "-", "-", "-", "-"])
        }
        Input::RunnerUp { .. } => {
            ("runner_up", ["-", "-", "-", "- run_started", "-", "-", "-", "-", "-"])
        }
        Input::SpawnFailed { .. } => {
            ("spawn_failed", ["-", "-", "-", "- run_ended > release", "-", "-", "-", "-", "-"])
        }
        Input::Heard { what, .. } => heard_row(what),
        Input::RunnerGone { .. } => (
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
        Input::LogLost { .. } => {
            ("log_lost", ["-", "-", "-", "-", "-", "- run_ended > finish", "-", "-", "-"])
        }
        Input::Delivered { .. } => ("delivered", ["-"; 9]),
        Input::Finished { .. } => (
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
        Input::Released { .. } => ("released", ["-"; 9]),
        Input::Searched { .. } => ("searched", ["-"; 9]),
        Input::Merged { .. } => ("merged", ["-"; 9]),
    }
}

fn command_row(command: &Command) -> (&'static str, [&'static str; 9]) {
    match command {
        Command::AddStory { .. } => ("add_story", ["story: story_added"; 9]),
        Command::EditStory { .. } => ("edit_story", ["done: story_edited"; 9]),
        Command::FinishStory { .. } => (
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
        Command::ReopenStory { .. } => ("reopen_story", ["done"; 9]),
        Command::ArchiveStory { .. } => (
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
        Command::MergeStory { .. } => (
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
        Command::StartRun { .. } => (
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
        Command::Prompt { .. } => (
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
        Command::Steer { .. } => (
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
        Command::TakeBack { .. } => (
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
        Command::Interrupt { .. } => (
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
        Command::Stop { .. } => (
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
        Command::Kill { .. } => (
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
        Command::Answer { .. } => (
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
        Command::Resume { .. } => (
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
        Command::Retry { .. } => (
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
        Command::Fork { .. } => (
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

fn heard_row(heard: &Heard) -> (&'static str, [&'static str; 9]) {
    match heard {
        Heard::Session { .. } => (
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
        Heard::SetupDone => (
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
        Heard::AskOpened { .. } => (
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
        Heard::AskClosed { .. } => (
            "heard_ask_closed",
            ["-", "-", "-", "- run_started", "- ask_closed", "- ask_closed", "-", "-", "-"],
        ),
        Heard::Taken { .. } => {
            ("heard_taken", ["-", "-", "-", "- run_started", "-", "-", "-", "-", "-"])
        }
        Heard::Usage { .. } => (
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
        Heard::Ended { .. } => (
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
