//! The variables of a gate: those of the session, its own, and its share of the processors in the words of common tools.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};

use super::plan::GateSpec;

/// The share, whatever the tools of a project call it.
const CORES: &str = "MUSHER_CORES";
/// Tools that would take all processors, each with what it is told.
const TOOLS: &[(&str, &str)] = &[
    ("CARGO_BUILD_JOBS", ""),
    ("NEXTEST_TEST_THREADS", ""),
    ("RUST_TEST_THREADS", ""),
    ("GOMAXPROCS", ""),
    ("MAKEFLAGS", "-j"),
];
/// Nobody is at a terminal: no pager and no prompt. What was given beats these.
const QUIET: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// All variables of a gate, each once.
pub(super) fn of(session: &[(OsString, OsString)], gate: &GateSpec) -> Vec<(OsString, OsString)> {
    let cores = gate.cores.map_or_else(all_cores, NonZeroU32::get);
    let mut all: BTreeMap<OsString, OsString> =
        QUIET.iter().map(|(name, value)| (name.into(), value.into())).collect();
    for (tool, before) in TOOLS {
        all.insert(tool.into(), format!("{before}{cores}").into());
    }
    all.extend(session.iter().cloned());
    all.extend(gate.env.iter().map(|(name, value)| (name.into(), value.into())));
    all.insert(CORES.into(), cores.to_string().into());
    all.into_iter().collect()
}

fn all_cores() -> u32 {
    let all = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    u32::try_from(all).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_processors_is_told_to_tools_that_were_told_nothing_else() {
        let session = [("GOMAXPROCS", "7"), ("A", "session"), ("PAGER", "less"), (CORES, "99")];
        let session = session.map(|(name, value)| (name.into(), value.into()));
        let mut gate = GateSpec { cores: NonZeroU32::new(3), ..GateSpec::new("test", "true") };
        gate.env = [("A", "gate"), ("CARGO_BUILD_JOBS", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let all: BTreeMap<_, _> = of(&session, &gate).into_iter().collect();
        for (name, value) in [
            (CORES, "3"),
            ("CARGO_BUILD_JOBS", "1"),
            ("NEXTEST_TEST_THREADS", "3"),
            ("RUST_TEST_THREADS", "3"),
            ("GOMAXPROCS", "7"),
            ("MAKEFLAGS", "-j3"),
            ("A", "gate"),
            ("PAGER", "less"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ] {
            assert_eq!(all.get(&OsString::from(name)), Some(&OsString::from(value)), "{name}");
        }
    }
}
