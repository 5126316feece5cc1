//! The words in which this vendor, and those who imitate it, say how an answer ended.

use crate::model::stop::{StopReason, StopWords};

/// The states of a response. Why one is incomplete is told apart.
pub(super) const STATES: StopWords = &[
    ("completed", StopReason::End),
    ("incomplete", StopReason::Unknown),
    ("failed", StopReason::Failed),
    ("cancelled", StopReason::Failed),
    ("queued", StopReason::Failed),
    ("in_progress", StopReason::Failed),
];

/// Why a response is incomplete.
pub(super) const INCOMPLETE: StopWords =
    &[("max_output_tokens", StopReason::MaxOutput), ("content_filter", StopReason::Declined)];

/// Why a completion is over. The first ones are the vendor's, the others those of compatible services.
pub(super) const FINISH: StopWords = &[
    ("stop", StopReason::End),
    ("tool_calls", StopReason::Calls),
    ("function_call", StopReason::Calls),
    ("length", StopReason::MaxOutput),
    ("content_filter", StopReason::Declined),
    ("eos", StopReason::End),
    ("eos_token", StopReason::End),
    ("stop_sequence", StopReason::End),
    ("end_turn", StopReason::End),
    ("model_length", StopReason::ContextFull),
    ("model_context_window_exceeded", StopReason::ContextFull),
    ("sensitive", StopReason::Declined),
    ("refusal", StopReason::Declined),
    ("error", StopReason::Failed),
    ("abort", StopReason::Failed),
    ("aborted", StopReason::Failed),
    ("cancelled", StopReason::Failed),
    ("timeout", StopReason::Failed),
    ("network_error", StopReason::Failed),
    ("insufficient_system_resource", StopReason::Failed),
];
