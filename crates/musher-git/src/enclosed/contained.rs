//! A call of git in a container of its own, which an engine would keep when the call is given up.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use musher_sandbox::ContainerBackend;
use tracing::warn;

use crate::call::{Call, GitOutput};
use crate::error::GitError;

/// Tells the calls of this process from each other.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A call inside of a sandbox, and the container to be removed unless the call comes to its end.
pub(super) struct EnclosedCall {
    pub(super) call: Call,
    pub(super) container: Option<GitContainer>,
}

impl EnclosedCall {
    pub(super) fn with(self, change: impl FnOnce(Call) -> Call) -> Self {
        Self { call: change(self.call), ..self }
    }

    pub(super) async fn run(self) -> Result<GitOutput, GitError> {
        let output = self.call.run().await?;
        // The engine removes a container whose program has ended.
        if let Some(container) = self.container {
            container.keep();
        }
        Ok(output)
    }
}

/// The container of a call. Dropped before the call has ended, it is removed.
pub(super) struct GitContainer {
    backend: Option<ContainerBackend>,
    mark: String,
}

impl GitContainer {
    /// Of a call that reads this git folder.
    pub(super) fn of(backend: &ContainerBackend, folder: &Path) -> Self {
        Self { backend: Some(backend.clone()), mark: mark_of(folder) }
    }

    pub(super) fn name(&self) -> String {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        ContainerBackend::name(&self.mark, &format!("{}-{call}", std::process::id()))
    }

    fn keep(mut self) {
        self.backend = None;
    }
}

impl Drop for GitContainer {
    fn drop(&mut self) {
        let Some(backend) = self.backend.take() else { return };
        let mark = std::mem::take(&mut self.mark);
        // The engine is waited for, and this may be a thread that must not block.
        let removal = move || {
            if let Err(error) = backend.remove(&mark) {
                warn!(mark, cause = %error, "a container of git may be left");
            }
        };
        if let Err(error) = std::thread::Builder::new().spawn(removal) {
            warn!(cause = %error, "a container of git may be left");
        }
    }
}

/// The mark of the containers that read this git folder: all calls of one slot share it, so one removal finds those that a killed
/// process has left.
fn mark_of(folder: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    format!("git-{:016x}", hasher.finish())
}

/// Removes what a process that was killed in the middle of a call has left.
pub(super) async fn remove_left(backend: &ContainerBackend, folder: &Path) {
    let (backend, mark) = (backend.clone(), mark_of(folder));
    let removal = move || backend.remove(&mark);
    match tokio::task::spawn_blocking(removal).await.map_err(std::io::Error::other) {
        Ok(Ok(())) => {}
        Ok(Err(error)) | Err(error) => {
            warn!(cause = %error, "containers of git that were left cannot be removed");
        }
    }
}
