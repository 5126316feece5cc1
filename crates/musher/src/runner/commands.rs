//! What is said over the control socket, as the session hears it.

use musher_core::{CommandId, SessionChange};
use musher_log::wire::{CommandRefused, RunCommand};
use musher_runtime::{CommandError, SessionCommand};

/// The command for the session. What a person says carries the command's id into the log.
pub(super) fn for_session(command: RunCommand, id: &CommandId) -> SessionCommand {
    match command {
        RunCommand::Prompt { text } => SessionCommand::Prompt { id: id.as_str().into(), text },
        RunCommand::TakeBack { prompt } => SessionCommand::TakeBack { id: prompt },
        RunCommand::Steer { text } => SessionCommand::Steer { id: id.as_str().into(), text },
        RunCommand::Answer { ask, answer, who } => {
            SessionCommand::Answer { ask, answer, command: Some(id.clone()), who }
        }
        RunCommand::Interrupt => SessionCommand::Interrupt,
        RunCommand::Change { change: SessionChange::Model { model } } => {
            SessionCommand::SetModel { model }
        }
        RunCommand::Change { change: SessionChange::Mode { mode } } => {
            SessionCommand::SetMode { mode }
        }
        RunCommand::Stop => SessionCommand::Stop,
        RunCommand::Kill => SessionCommand::Kill,
    }
}

/// Why the session of this runtime did not carry it out, with a code that stays.
pub(super) fn refused(error: &CommandError, runtime: &str) -> CommandRefused {
    let code = match error {
        CommandError::Ended => "run_ended",
        CommandError::NotWaiting => "not_waiting",
        CommandError::Unsupported(_) => "unsupported",
        CommandError::NoSuchAsk(_) => "no_such_ask",
        CommandError::AskClosed { .. } => "ask_closed",
        CommandError::WrongAnswer { .. } => "wrong_answer",
        CommandError::Forbidden(_) => "forbidden_by_rule",
        CommandError::NoTurn => "no_turn",
        CommandError::BadPrompt(_) => "bad_prompt",
        CommandError::Busy => "busy",
    };
    let message = match error {
        CommandError::Unsupported(what) => format!("the runtime `{runtime}` cannot {what}"),
        CommandError::Ended
        | CommandError::NotWaiting
        | CommandError::NoSuchAsk(_)
        | CommandError::AskClosed { .. }
        | CommandError::WrongAnswer { .. }
        | CommandError::Forbidden(_)
        | CommandError::NoTurn
        | CommandError::BadPrompt(_)
        | CommandError::Busy => error.to_string(),
    };
    CommandRefused { code: code.into(), message }
}
