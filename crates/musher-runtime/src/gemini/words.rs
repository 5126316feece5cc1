//! The words in which this vendor says how an answer ended.

use crate::model::stop::{Stop, Words};

/// Why a candidate is over.
pub(super) const FINISH: Words = &[
    ("STOP", Stop::End),
    ("MAX_TOKENS", Stop::MaxOutput),
    // It could be gone on with by a token that is asked for by nobody here.
    ("CONTINUATION", Stop::MaxOutput),
    ("SAFETY", Stop::Declined),
    ("RECITATION", Stop::Declined),
    ("LANGUAGE", Stop::Declined),
    ("BLOCKLIST", Stop::Declined),
    ("PROHIBITED_CONTENT", Stop::Declined),
    ("SPII", Stop::Declined),
    ("MODEL_ARMOR", Stop::Declined),
    ("IMAGE_SAFETY", Stop::Declined),
    ("IMAGE_PROHIBITED_CONTENT", Stop::Declined),
    ("IMAGE_RECITATION", Stop::Declined),
    ("MALFORMED_FUNCTION_CALL", Stop::BadCall),
    ("UNEXPECTED_TOOL_CALL", Stop::BadCall),
    ("TOO_MANY_TOOL_CALLS", Stop::BadCall),
    ("OTHER", Stop::Failed),
    ("MALFORMED_RESPONSE", Stop::Failed),
    ("NO_IMAGE", Stop::Failed),
    ("IMAGE_OTHER", Stop::Failed),
    ("MISSING_THOUGHT_SIGNATURE", Stop::Faulty),
    ("FINISH_REASON_UNSPECIFIED", Stop::Unsaid),
];
