//! Where the test programs of this crate were built to.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

/// The program that misbehaves on demand.
pub fn fake_agent() -> anyhow::Result<PathBuf> {
    built("fake-agent")
}

/// The program that plays a recording.
pub fn replay_agent() -> anyhow::Result<PathBuf> {
    built("replay-agent")
}

/// The scripted model as a program.
pub fn scripted_model() -> anyhow::Result<PathBuf> {
    built("scripted-model")
}

/// The agent that does scripted, numbered work.
pub fn worker_agent() -> anyhow::Result<PathBuf> {
    built("worker-agent")
}

/// Musher itself, for those who need it as the helper in a sandbox.
pub fn musher() -> anyhow::Result<PathBuf> {
    built("musher")
}

/// Cargo gives `CARGO_BIN_EXE_*` to the tests of this crate only, so the others look beside their own executable.
fn built(name: &str) -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe().context("finding the running test program")?;
    let mut folder = test.parent().context("the test program has no folder")?;
    if folder.ends_with("deps") {
        folder = folder.parent().context("the folder `deps` has no parent")?;
    }
    let path = folder.join(name);
    if !path.is_file() {
        bail!("{} is not built: run `cargo build --workspace --bins` first", path.display());
    }
    Ok(path)
}
