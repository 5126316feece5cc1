//! Exit codes and the errors that never became a run.

use std::io;
use std::process::ExitCode;

use musher_core::{ErrorClass, Outcome, SessionEnded};

use super::tell;
use super::text::plain;
use musher_client::ClientError;

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CliExit {
    Completed,
    Bug,
    User,
    Failed,
    Stopped,
    Limit,
    Unavailable,
}

impl From<CliExit> for ExitCode {
    fn from(exit: CliExit) -> Self {
        Self::from(match exit {
            CliExit::Completed => 0,
            CliExit::Bug => 1,
            CliExit::User => 2,
            CliExit::Failed => 3,
            CliExit::Stopped => 4,
            CliExit::Limit => 5,
            CliExit::Unavailable => 6,
        })
    }
}

impl CliExit {
    /// The exit that tells how a session ended.
    pub(crate) fn of(end: &SessionEnded) -> Self {
        match end.outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Stopped | Outcome::Interrupted => Self::Stopped,
            Outcome::TimedOut | Outcome::OutOfTurns | Outcome::OutOfBudget => Self::Limit,
            Outcome::Lost => Self::Failed,
            Outcome::Failed => {
                end.error.as_ref().map_or(Self::Failed, |error| Self::of_class(error.class))
            }
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a few classes are somebody's to mend; the rest just failed"
    )]
    fn of_class(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Config | ErrorClass::ModelNotFound => Self::User,
            ErrorClass::Unavailable => Self::Unavailable,
            ErrorClass::Internal => Self::Bug,
            _ => Self::Failed,
        }
    }
}

/// What went wrong before anything ran, sorted by who must act.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{message}")]
    User { message: String, hint: Option<String> },
    #[error("{0}")]
    Unavailable(String),
    /// A server or a program is not there.
    #[error("{message}")]
    Missing { message: String, hint: String },
    /// The server said no.
    #[error("{message}")]
    Refused { exit: CliExit, message: String, hint: Option<String> },
    /// Nobody reads what we print, or it cannot be written.
    #[error("standard output failed: {0}")]
    Output(io::Error),
}

impl CliError {
    pub(crate) fn user(message: impl Into<String>) -> Self {
        Self::User { message: message.into(), hint: None }
    }

    pub(crate) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::User { message: message.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn missing(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Missing { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn exit(&self) -> CliExit {
        match self {
            Self::User { .. } => CliExit::User,
            Self::Unavailable(_) | Self::Missing { .. } => CliExit::Unavailable,
            Self::Refused { exit, .. } => *exit,
            // A reader that went away, as `head` does, has what it wanted.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => CliExit::Completed,
            Self::Output(_) => CliExit::Unavailable,
        }
    }

    /// What can be done about it.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Self::User { hint, .. } | Self::Refused { hint, .. } => hint.as_deref(),
            Self::Missing { hint, .. } => Some(hint),
            Self::Unavailable(_) | Self::Output(_) => None,
        }
    }

    pub(crate) fn print(&self) {
        if matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return;
        }
        let red = anstyle::AnsiColor::Red.on_default().bold();
        tell(&format!("{red}error:{red:#} {}", plain(&self.to_string())));
        if let Some(hint) = self.hint().filter(|hint| !hint.is_empty()) {
            tell(&format!("  fix: {}", plain(hint)));
        }
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::BadUrl { .. } => {
                Self::hinted(message, "give an address such as http://127.0.0.1:7070")
            }
            ClientError::BadToken => Self::hinted(message, "copy MUSHER_TOKEN again"),
            ClientError::Unreachable { .. } => Self::missing(
                message,
                "see whether it still runs, or start one with `musher serve`",
            ),
            ClientError::Away(_) => Self::missing(message, "start one with `musher serve`"),
            ClientError::Garbled(_) => {
                let hint = "use the same version of musher here and there".to_owned();
                Self::Refused { exit: CliExit::Bug, message, hint: Some(hint) }
            }
            ClientError::Refused(problem) => {
                let exit = match problem.status {
                    500 => CliExit::Bug,
                    429 | 501.. => CliExit::Unavailable,
                    _ => CliExit::User,
                };
                Self::Refused { exit, message, hint: problem.hint }
            }
        }
    }
}
