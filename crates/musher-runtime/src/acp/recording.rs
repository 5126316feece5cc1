//! A translator without its agent, for what was recorded.

use musher_core::{Lineage, SessionInfo};

use super::preset::AcpPreset;
use super::translate::{AcpOpening, AcpTranslator, OpenAs};
use crate::conversation::Recording;

/// Reads what an ACP agent has printed, from its beginning.
pub fn recording() -> Recording {
    Recording::of(unopened(AcpPreset::any()))
}

/// A translator that has not been told what to ask of a session.
pub(super) fn unopened(preset: AcpPreset) -> AcpTranslator {
    let opening = AcpOpening {
        open_as: OpenAs::New,
        cwd: "/".to_owned(),
        servers: Vec::new(),
        model: None,
        mode: None,
        effort: None,
        instructions: None,
        lineage: Lineage::default(),
        info: SessionInfo::default(),
    };
    AcpTranslator::new(preset.into(), opening)
}
