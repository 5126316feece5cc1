//! Where a run is: whoever takes an action reaches the run's worktree, runner and log folder through this type alone.

mod here;

pub(super) use here::Here;

/// A place where runs are. Each arm can `prepare` a worktree, `begin` a run in it, take a `snapshot` of it, `finish`,
/// `release` and `undo` it, and `end` a run whose runner is gone.
#[derive(Debug, Clone)]
pub(super) enum RunPlace {
    /// On this machine, in the state directory.
    Here(Here),
}
