//! Exit codes and the errors that never became a run.

use std::process::ExitCode;

use musher_core::{ErrorClass, Outcome, SessionEnded};

use super::tell;

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Completed,
    Bug,
    User,
    Failed,
    Stopped,
    Limit,
    Unavailable,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Completed => 0,
            Exit::Bug => 1,
            Exit::User => 2,
            Exit::Failed => 3,
            Exit::Stopped => 4,
            Exit::Limit => 5,
            Exit::Unavailable => 6,
        })
    }
}

impl Exit {
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
}

impl CliError {
    pub(crate) fn user(message: impl Into<String>) -> Self {
        Self::User { message: message.into(), hint: None }
    }

    pub(crate) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::User { message: message.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::User { .. } => Exit::User,
            Self::Unavailable(_) => Exit::Unavailable,
        }
    }

    pub(crate) fn print(&self) {
        let red = anstyle::AnsiColor::Red.on_default().bold();
        tell(&format!("{red}error:{red:#} {self}"));
        if let Self::User { hint: Some(hint), .. } = self {
            tell(&format!("  fix: {hint}"));
        }
    }
}
