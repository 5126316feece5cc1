//! A translator without its agent, for what was recorded.

use musher_core::{Lineage, SessionInfo};
use serde_json::json;

use super::launch::{MODES, OwnSandbox};
use super::translate::{CodexTranslator, Login, Opening, OpeningKind};
use crate::conversation::Recording;

/// Reads what Codex has printed, from its beginning.
pub fn recording() -> Recording {
    Recording::of(unopened())
}

/// A translator that has not been told what to ask of a thread.
pub(super) fn unopened() -> CodexTranslator {
    CodexTranslator::new(Opening {
        kind: OpeningKind::Start,
        thread: json!({}),
        mode: &MODES[0],
        own_sandbox: OwnSandbox::On { own_scratch: false },
        plan: false,
        effort: None,
        login: Login::Done,
        lineage: Lineage::default(),
        info: SessionInfo::default(),
    })
}
