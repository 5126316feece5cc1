//! Ids that never repeat, tool-call ids that carry the step they belong to, and seals that show whether they were touched.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// How the tool-call ids of the vendors begin.
const PREFIXES: [&str; 3] = ["toolu_s", "call_s", "function-call-s"];

/// Ends the seed of a reply in which the model thought before it spoke; no hexadecimal digit looks like it.
const THOUGHT: char = 't';

/// A counter and random digits: the counter keeps ids apart within one server, the digits across servers.
pub(super) fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().build_hasher().finish();
    format!("{count:04x}{:010x}", random & 0xff_ffff_ffff)
}

/// The part that all ids of one reply share; it tells whether the reply began with a thought.
pub(super) fn seed(thought: bool) -> String {
    let mut seed = unique();
    seed.extend(thought.then_some(THOUGHT));
    seed
}

/// A tool-call id; the prefix is one of the vendors'.
pub(super) fn tool_id(prefix: &str, step: usize, position: usize, seed: &str) -> String {
    format!("{prefix}{step}_{position}_{seed}")
}

/// The step inside an id that this server minted; `None` for ids of anybody else.
pub(super) fn step_of(id: &str) -> Option<usize> {
    let rest = PREFIXES.iter().find_map(|prefix| id.strip_prefix(prefix))?;
    let (step, rest) = rest.split_once('_')?;
    rest.contains('_').then_some(())?;
    step.parse().ok()
}

/// The seed at the end of another id of ours, if its reply began with a thought.
pub(super) fn seed_of(id: &str) -> Option<&str> {
    let (_, seed) = id.rsplit_once('_')?;
    let digits = seed.strip_suffix(THOUGHT)?;
    digits.chars().all(|c| c.is_ascii_hexdigit()).then_some(seed)
}

/// The seed of the reply that made this call, if that reply began with a thought.
pub(super) fn thought_of(id: &str) -> Option<&str> {
    step_of(id)?;
    seed_of(id)
}

/// The signature of a thinking block: a checksum, so that a changed block is noticed without keeping it.
pub(super) fn signature(thinking: &str) -> String {
    let hash = thinking.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("c2lnbmVk{hash:016x}")
}

/// Something opaque that belongs to the given thing alone, and shows when it was changed.
pub(super) fn seal(thing: &str) -> String {
    let salt = format!("gAAA{:0>16}", unique());
    let check = signature(&format!("{salt}{thing}"));
    salt + &check
}

pub(super) fn is_seal_of(thing: &str, seal: &str) -> bool {
    let Some((salt, check)) = seal.split_at_checked(20) else {
        return false;
    };
    check == signature(&format!("{salt}{thing}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minted_id_gives_its_step_and_its_thought_back() {
        let plain = tool_id("toolu_s", 12, 3, &seed(false));
        assert_eq!((step_of(&plain), thought_of(&plain)), (Some(12), None));
        let seed = seed(true);
        let thought = tool_id("call_s", 0, 1, &seed);
        assert_eq!((step_of(&thought), thought_of(&thought)), (Some(0), Some(seed.as_str())));
        assert_eq!(step_of("toolu_01ABC"), None);
        assert_eq!(thought_of("call_of_somebody_elset"), None);
        assert_ne!(unique(), unique());
    }

    #[test]
    fn a_seal_fits_one_thing_and_breaks_when_touched() {
        let seal = seal("bash");
        assert!(is_seal_of("bash", &seal));
        assert!(!is_seal_of("read", &seal));
        assert!(!is_seal_of("bash", &seal.replace("gAAA", "gAAB")));
        assert!(!is_seal_of("bash", "short") && !is_seal_of("", ""));
        assert_eq!(seal.len() % 4, 0);
    }
}
