//! The words in which this vendor says how an answer ended.

use crate::model::stop::{StopReason, StopWords};

/// Why a candidate is over.
pub(super) const FINISH: StopWords = &[
    ("STOP", StopReason::End),
    ("MAX_TOKENS", StopReason::MaxOutput),
    // It could be gone on with by a token that is asked for by nobody here.
    ("CONTINUATION", StopReason::MaxOutput),
    ("SAFETY", StopReason::Declined),
    ("RECITATION", StopReason::Declined),
    ("LANGUAGE", StopReason::Declined),
    ("BLOCKLIST", StopReason::Declined),
    ("PROHIBITED_CONTENT", StopReason::Declined),
    ("SPII", StopReason::Declined),
    ("MODEL_ARMOR", StopReason::Declined),
    ("IMAGE_SAFETY", StopReason::Declined),
    ("IMAGE_PROHIBITED_CONTENT", StopReason::Declined),
    ("IMAGE_RECITATION", StopReason::Declined),
    ("MALFORMED_FUNCTION_CALL", StopReason::BadCall),
    ("UNEXPECTED_TOOL_CALL", StopReason::BadCall),
    ("TOO_MANY_TOOL_CALLS", StopReason::BadCall),
    ("OTHER", StopReason::Failed),
    ("MALFORMED_RESPONSE", StopReason::Failed),
    ("NO_IMAGE", StopReason::Failed),
    ("IMAGE_OTHER", StopReason::Failed),
    ("MISSING_THOUGHT_SIGNATURE", StopReason::Faulty),
    ("FINISH_REASON_UNSPECIFIED", StopReason::Unsaid),
];
