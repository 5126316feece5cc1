//! How a gate was judged: what a run without an agent tells of each command that decides.

use serde::{Deserialize, Serialize};

use crate::CallId;

/// What became of a gate. Only [`GateResult::Green`] passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// Its command exited with 0, and printed what it was expected to print.
    Green,
    /// Its command exited with another code.
    Red,
    /// It was ended at its deadline.
    TimedOut,
    /// It could not be judged, which says nothing about the work and blames nobody.
    Broken,
    /// A newer Musher knows.
    #[serde(other)]
    Unknown,
}

impl GateResult {
    /// The result in words for a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Red => "red",
            Self::TimedOut => "timed out",
            Self::Broken => "broken",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a gate could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateFault {
    /// It could not be started: no sandbox, no process, no folder.
    NotStarted,
    /// The shell did not find its program, or may not execute it: exit 126 or 127.
    NotFound,
    /// A signal that is not ours ended it, such as that of a machine without memory.
    Signal,
    /// It failed, and a disk that it works on is full.
    DiskFull,
    /// It passed, and what it was expected to print is not in its output.
    NotExpected,
    /// It ended, and nobody knows how.
    NoExit,
    /// A newer Musher knows.
    #[serde(other)]
    Unknown,
}

impl GateFault {
    /// The reason in words for a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "it could not be started",
            Self::NotFound => "its program was not found or may not be executed",
            Self::Signal => "a signal ended it",
            Self::DiskFull => "the disk is full",
            Self::NotExpected => "it passed without the output that is expected of it",
            Self::NoExit => "it is not known how it ended",
            Self::Unknown => "for a reason that a newer version knows",
        }
    }
}

/// The end of a gate. What it printed is in the event before this one, the last upsert of `call`, and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateEnded {
    /// Its name in the project file.
    pub gate: String,
    pub result: GateResult,
    /// Whether the work goes on only if it is green.
    #[serde(default)]
    pub required: bool,
    /// The tool call that holds its output.
    pub call: CallId,
    /// Why it is `broken`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<GateFault>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventKind;

    #[test]
    fn the_end_of_a_gate_is_one_flat_object_and_survives_words_of_a_newer_musher() {
        let line = r#"{"type":"gate_ended","gate":"test","result":"red","required":true,"call":"gate-1","exit_code":101,"ms":1200}"#;
        let kind: EventKind = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&kind).unwrap(), line);
        let newer = r#"{"type":"gate_ended","gate":"test","result":"purple","call":"gate-1","fault":"moon","ms":1,"new":2}"#;
        let EventKind::GateEnded(ended) = serde_json::from_str(newer).unwrap() else { panic!() };
        assert_eq!(ended.result, GateResult::Unknown, "which is not green");
        assert_eq!(ended.fault, Some(GateFault::Unknown));
    }
}
