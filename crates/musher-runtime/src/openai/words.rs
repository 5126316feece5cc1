//! The words in which this vendor, and those who imitate it, say how an answer ended.

use crate::model::stop::{Stop, Words};

/// The states of a response. Why one is incomplete is told apart.
pub(super) const STATES: Words = &[
    ("completed", Stop::End),
    ("incomplete", Stop::Unknown),
    ("failed", Stop::Failed),
    ("cancelled", Stop::Failed),
    ("queued", Stop::Failed),
    ("in_progress", Stop::Failed),
];

/// Why a response is incomplete.
pub(super) const INCOMPLETE: Words =
    &[("max_output_tokens", Stop::MaxOutput), ("content_filter", Stop::Declined)];

/// Why a completion is over. The first ones are the vendor's, the others those of compatible services.
pub(super) const FINISH: Words = &[
    ("stop", Stop::End),
    ("tool_calls", Stop::Calls),
    ("function_call", Stop::Calls),
    ("length", Stop::MaxOutput),
    ("content_filter", Stop::Declined),
    ("eos", Stop::End),
    ("eos_token", Stop::End),
    ("stop_sequence", Stop::End),
    ("end_turn", Stop::End),
    ("model_length", Stop::ContextFull),
    ("model_context_window_exceeded", Stop::ContextFull),
    ("sensitive", Stop::Declined),
    ("refusal", Stop::Declined),
    ("error", Stop::Failed),
    ("abort", Stop::Failed),
    ("aborted", Stop::Failed),
    ("cancelled", Stop::Failed),
    ("timeout", Stop::Failed),
    ("network_error", Stop::Failed),
    ("insufficient_system_resource", Stop::Failed),
];
