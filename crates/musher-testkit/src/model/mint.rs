//! Ids that never repeat, and tool-call ids that carry the step they belong to.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter and random digits: the counter keeps ids apart within one server, the digits across servers.
pub(super) fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().build_hasher().finish();
    format!("{count:04x}{:010x}", random & 0xff_ffff_ffff)
}

pub(super) fn tool_id(step: usize, position: usize) -> String {
    format!("toolu_s{step}_{position}_{}", unique())
}

/// The step inside an id that this server minted; `None` for ids of anybody else.
pub(super) fn step_of(id: &str) -> Option<usize> {
    let (step, rest) = id.strip_prefix("toolu_s")?.split_once('_')?;
    rest.contains('_').then_some(())?;
    step.parse().ok()
}

/// The signature of a thinking block: a checksum, so that a changed block is noticed without keeping it.
pub(super) fn signature(thinking: &str) -> String {
    let hash = thinking.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("c2lnbmVk{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minted_id_gives_its_step_back() {
        assert_eq!(step_of(&tool_id(12, 3)), Some(12));
        assert_eq!(step_of("toolu_01ABC"), None);
        assert_ne!(tool_id(0, 0), tool_id(0, 0));
    }
}
