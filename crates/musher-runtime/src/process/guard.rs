//! A process tree on its way between threads: wherever it is dropped, it is ended.

use tracing::warn;

use super::tree::ProcessTree;

/// Kills the tree if it goes out of scope before it was handed on.
pub(super) struct Guard(pub(super) Option<ProcessTree>);

impl Guard {
    fn take(tree: &mut Option<ProcessTree>) -> Option<Self> {
        tree.take().map(|tree| Self(Some(tree)))
    }

    pub(super) fn release(mut self) -> Option<ProcessTree> {
        self.0.take()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(tree) = &mut self.0 {
            tree.kill();
        }
    }
}

/// Does something with the tree, off the runtime's threads because it reads all of `/proc`.
pub(super) async fn on_tree<T: Default + Send + 'static>(
    tree: &mut Option<ProcessTree>,
    act: fn(&mut ProcessTree) -> T,
) -> T {
    let Some(mut guard) = Guard::take(tree) else { return T::default() };
    let done = tokio::task::spawn_blocking(move || {
        let given = guard.0.as_mut().map(act).unwrap_or_default();
        (guard.release(), given)
    });
    // Otherwise the runtime is shutting down, and the guard has ended the tree.
    let done = done
        .await
        .inspect_err(|cause| warn!(%cause, "work on the processes of an agent was cut short"));
    let Ok((back, given)) = done else { return T::default() };
    *tree = back;
    given
}
