//! Begins work again that a bug has broken, so that one run's trouble is not the server's.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use musher_core::RunId;
use tracing::error;

/// Work that broke is begun again after this long, and after twice as long each time up to the second bound.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Works until the work is done. What breaks in between is a bug: it is told, and the work is begun again.
pub(super) async fn persist<W: Future<Output = ()>>(
    run: RunId,
    mut begin: impl FnMut() -> W,
    note: impl Fn(Option<String>),
) {
    let (mut pause, mut attempt) = (FIRST_PAUSE, 0);
    while let Err(panic) = AssertUnwindSafe(begin()).catch_unwind().await {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let why = text.unwrap_or("it did not say why");
        attempt += 1;
        error!(run.id = %run, attempt, cause = why, "a bug broke the part that attends the run, trying again");
        note(Some(format!("a bug broke the server's part that attends the run: {why}")));
        tokio::time::sleep(pause).await;
        pause = MAX_RETRY_DELAY.min(pause * 2);
        note(None);
    }
}
