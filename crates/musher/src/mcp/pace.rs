//! How often a tool may be called: many times in a burst, and then at a steady pace.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Calls of one tool that may come at once.
pub(super) const BURST: u32 = 240;
/// How long it takes until there is room for one more.
pub(super) const PACE_INTERVAL: Duration = Duration::from_millis(50);
/// Callers and tools that are remembered before those who owe nothing are forgotten.
const REMEMBERED: usize = 4096;

/// Who calls, where several share a door: what its token goes by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Caller(pub String);

/// What each caller has called of late.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When each is free of all that it called.
    free: Mutex<HashMap<(Caller, String), Instant>>,
}

impl Pace {
    /// Takes one call of a tool, or says how long to wait before it.
    pub(super) fn take(&self, caller: &Caller, tool: &str, now: Instant) -> Result<(), Duration> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() >= REMEMBERED {
            free.retain(|_, at| *at > now);
        }
        let at = free.entry((caller.clone(), tool.to_owned())).or_insert(now);
        let owed = at.saturating_duration_since(now) + PACE_INTERVAL;
        let most = PACE_INTERVAL * BURST;
        if owed > most {
            return Err(owed - most);
        }
        *at = now + owed;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(pace: &Pace, caller: &Caller, now: Instant) -> u32 {
        (0..).find(|_| pace.take(caller, "plan", now).is_err()).unwrap_or(0)
    }

    #[test]
    fn a_burst_is_let_through_and_then_a_steady_pace() {
        let (pace, caller, now) = (Pace::default(), Caller::default(), Instant::now());
        assert_eq!(burst(&pace, &caller, now), BURST);
        assert_eq!(pace.take(&caller, "plan", now), Err(PACE_INTERVAL));
        assert_eq!(pace.take(&caller, "plan", now + PACE_INTERVAL / 2), Err(PACE_INTERVAL / 2));
        assert_eq!(pace.take(&caller, "plan", now + PACE_INTERVAL), Ok(()));
        assert!(pace.take(&caller, "plan", now + PACE_INTERVAL).is_err());
        assert_eq!(burst(&pace, &caller, now + PACE_INTERVAL * 11), 10);
        assert_eq!(burst(&pace, &caller, now + Duration::from_secs(3600)), BURST);
    }

    #[test]
    fn one_caller_and_one_tool_do_not_slow_another() {
        let (pace, now) = (Pace::default(), Instant::now());
        let (one, two) = (Caller("one".into()), Caller("two".into()));
        burst(&pace, &one, now);
        assert_eq!(pace.take(&one, "story", now), Ok(()));
        assert_eq!(pace.take(&two, "plan", now), Ok(()));
    }

    #[test]
    fn those_who_owe_nothing_are_forgotten() {
        let (pace, now) = (Pace::default(), Instant::now());
        for number in 0..REMEMBERED * 3 {
            let (caller, at) = (Caller(number.to_string()), now + PACE_INTERVAL * number as u32);
            assert_eq!(pace.take(&caller, "plan", at), Ok(()));
        }
        assert!(pace.free.lock().unwrap().len() <= REMEMBERED);
    }
}
