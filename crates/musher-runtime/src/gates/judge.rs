//! What the end of a command says about its gate.

use musher_core::{GateFault, GateResult};

/// What shells say of a program that they could not run.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// Shells, and sandboxes as well, add the number of the signal that ended a program to this.
const ENDED_BY_SIGNAL: i32 = 128;
const MAX_SIGNAL: i32 = 31;

/// How a command ended that nobody ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GateExit {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

impl GateExit {
    /// The same with the signal that its code tells of: whether the shell was ended by it or the last program of the shell must
    /// not decide how a gate is judged.
    pub(super) fn of(code: Option<i32>, signal: Option<i32>) -> Self {
        let told = code.map(|code| code - ENDED_BY_SIGNAL);
        Self { code, signal: signal.or(told.filter(|told| (1..=MAX_SIGNAL).contains(told))) }
    }
}

/// Judges a command that came to its end; `disk_full` matters only if it failed.
pub(super) fn judge(
    exit: GateExit,
    as_expected: bool,
    disk_full: bool,
) -> (GateResult, Option<GateFault>) {
    let broken = |fault| (GateResult::Broken, Some(fault));
    match exit {
        GateExit { signal: Some(_), .. } => broken(GateFault::Signal),
        GateExit { code: None, .. } => broken(GateFault::NoExit),
        GateExit { code: Some(0), .. } if as_expected => (GateResult::Green, None),
        GateExit { code: Some(0), .. } => broken(GateFault::NotExpected),
        GateExit { code: Some(NOT_EXECUTABLE | NOT_FOUND), .. } => broken(GateFault::NotFound),
        GateExit { code: Some(_), .. } if disk_full => broken(GateFault::DiskFull),
        GateExit { code: Some(_), .. } => (GateResult::Red, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(code: Option<i32>, signal: Option<i32>, as_expected: bool, full: bool) -> String {
        let (result, fault) = judge(GateExit::of(code, signal), as_expected, full);
        match fault {
            Some(fault) => format!("{result:?} {fault:?}"),
            None => format!("{result:?}"),
        }
    }

    #[test]
    fn only_an_exit_with_0_and_the_expected_output_is_green_and_what_never_ran_is_not_red() {
        for (code, signal, as_expected, full, wanted) in [
            (Some(0), None, true, false, "Green"),
            (Some(0), None, true, true, "Green"),
            (Some(0), None, false, false, "Broken NotExpected"),
            (Some(1), None, false, false, "Red"),
            (Some(101), None, true, false, "Red"),
            (Some(255), None, true, false, "Red"),
            (Some(1), None, true, true, "Broken DiskFull"),
            (Some(126), None, true, false, "Broken NotFound"),
            (Some(127), None, true, true, "Broken NotFound"),
            (Some(128), None, true, false, "Red"),
            (Some(137), None, true, false, "Broken Signal"),
            (Some(160), None, true, false, "Red"),
            (None, Some(9), true, true, "Broken Signal"),
            (None, None, true, false, "Broken NoExit"),
        ] {
            assert_eq!(judged(code, signal, as_expected, full), wanted, "{code:?} {signal:?}");
        }
        assert_eq!(GateExit::of(Some(137), None).signal, Some(9));
    }
}
