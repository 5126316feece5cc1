//! How many connections there may be, of those who have shown a token and of those who have not.

use rustix::process::{Resource, getrlimit};

use super::super::bounds::{REQUESTS, STREAMS};

/// Connections of strangers, at most. They need no more: each has one short thing to say.
const STRANGERS: u64 = 256;
/// Connections that may be on their way out beside them.
pub(super) const LEAVING: usize = 32;
/// File handles that connections leave alone, at most: starts, git, runners and logs need them.
const RESERVE: u64 = 4096;
/// However few handles there are, so many of each kind may come.
const MIN_CONNECTIONS: u64 = 16;

/// The places for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) strangers: usize,
    pub(super) known: usize,
}

impl Room {
    /// What the file handles of this process allow.
    pub(super) fn of_this_process() -> Self {
        Self::within(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }

    fn within(handles: u64) -> Self {
        let strangers = (handles / 8).clamp(MIN_CONNECTIONS, STRANGERS);
        let reserve = (handles / 4).min(RESERVE);
        let most = (STREAMS + 2 * REQUESTS) as u64;
        let left = handles.saturating_sub(strangers + reserve + LEAVING as u64);
        let places = |count: u64| usize::try_from(count).unwrap_or(STREAMS);
        Self { strangers: places(strangers), known: places(left.clamp(MIN_CONNECTIONS, most)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_never_take_the_last_file_handles() {
        for handles in [256, 1024, 4096, 20_000, 65_536, 1 << 20, u64::MAX] {
            let Room { strangers, known } = Room::within(handles);
            let taken = (strangers + known + LEAVING) as u64;
            assert!(taken <= handles - (handles / 4).min(RESERVE), "{handles}: {taken}");
            assert!(strangers as u64 <= STRANGERS && known > 2 * strangers, "{handles}");
        }
        assert!(Room::within(20_000).known > 10_000);
        assert!(Room::within(1 << 20).known > STREAMS);
    }
}
