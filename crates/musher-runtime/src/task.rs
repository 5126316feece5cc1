//! Tasks that outlive the call that starts them.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// Runs a task on its own. Its owner holds a channel to it, and the task ends when that channel closes. It is boxed by the
/// caller: a large one would be copied from frame to frame, and a stack keeps every page that was once touched.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a task is let go; each ends with its channel"
)]
pub(crate) fn detach(task: Pin<Box<dyn Future<Output = ()> + Send>>) {
    tokio::spawn(task);
}

/// Runs a task whose owner waits for it.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a task is started; its handle is returned"
)]
pub(crate) fn spawn<T: Send + 'static>(
    task: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    tokio::spawn(task)
}
