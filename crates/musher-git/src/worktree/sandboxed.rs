//! The sandboxes of slots: what they are made of, and how work comes out of them.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use musher_os::untrusted::{self, CopyLimits};
use musher_sandbox::{Sandbox, SandboxBackend, SandboxLimits, SandboxNetwork};
use tracing::{debug, warn};

use super::{SlotId, WorktreeError, WorktreeSlots, remove_tree};
use crate::enclosed::{Enclosed, OwnBranch};
use crate::{Branch, Checkout, CheckoutHead, RecoveryName};

/// How much of a home is inherited.
const INHERITED: CopyLimits =
    CopyLimits { bytes: 512 << 20, bytes_of_file: 64 << 20, entries: 100_000 };
/// How many folders may be set aside for one slot.
const MAX_SET_ASIDE: u32 = 1000;

/// Where the sandboxes of slots are kept, and what they are made with.
#[derive(Debug, Clone)]
pub struct SandboxPlaces {
    /// In it is one folder for each slot.
    pub folder: PathBuf,
    /// Musher's own program, the helper inside.
    pub helper: PathBuf,
    /// The home of the user.
    pub home: PathBuf,
}

impl WorktreeSlots {
    /// The same slots, whose agents may be in sandboxes.
    #[must_use]
    pub fn with_sandboxes(self, places: SandboxPlaces) -> Self {
        Self { sandboxes: Some(places), ..self }
    }

    /// Makes the sandbox of a slot ready, with the repository as it is now. The home of an earlier run stays.
    pub async fn enclose(&self, slot: SlotId) -> Result<Sandbox, WorktreeError> {
        self.enclose_by(slot, &SandboxBackend::Namespaces).await
    }

    /// The same for a sandbox that something else makes. Git reads what comes over in one of the same kind.
    pub async fn enclose_by(
        &self,
        slot: SlotId,
        backend: &SandboxBackend,
    ) -> Result<Sandbox, WorktreeError> {
        let places = self.places()?;
        let own = self.bring_over(slot).await?;
        let checkout = self.checkout(slot)?;
        let enclosed = self.enclosed(places, slot, &checkout);
        enclosed.make(&own).await?;
        note_backend(places, slot, backend)?;
        let sandbox = sandbox(places, slot, &enclosed);
        make_private(&sandbox)?;
        Ok(sandbox)
    }

    /// Makes the sandbox of a slot ready whose program works in the repository itself, because nothing can be mounted in its
    /// place: it may write what a commit on the story's branch needs, and no more.
    pub async fn admit(&self, slot: SlotId) -> Result<Sandbox, WorktreeError> {
        let places = self.places()?;
        self.bring_over(slot).await?;
        let checkout = self.checkout(slot)?;
        let enclosed = self.enclosed(places, slot, &checkout);
        let mounts = enclosed.places_in_repository().await?;
        let sandbox = Sandbox {
            mounts,
            backend: SandboxBackend::Landlock,
            ..sandbox(places, slot, &enclosed)
        };
        make_private(&sandbox)?;
        enclosed.introduce(&sandbox.home).await?;
        // All of it has come over, and nothing in it may be taken for newer than the repository later.
        let standin = &enclosed.folder;
        remove_tree(standin.clone()).await.map_err(WorktreeError::io(standin))?;
        Ok(sandbox)
    }

    /// Brings the commits that were made in the sandbox of a slot into the repository, if it has one. Branches of the agent's own
    /// are kept on recovery refs, and given back.
    pub(super) async fn bring_over(&self, slot: SlotId) -> Result<Vec<OwnBranch>, WorktreeError> {
        let Some(places) = &self.sandboxes else { return Ok(Vec::new()) };
        let Ok(checkout) = self.checkout(slot) else { return Ok(Vec::new()) };
        let enclosed = self.enclosed(places, slot, &checkout);
        if !enclosed.exists() {
            return Ok(Vec::new());
        }
        let CheckoutHead::On { branch, .. } = self.git.head(&checkout).await? else {
            return Ok(Vec::new());
        };
        let own = enclosed.bring(&sandbox(places, slot, &enclosed), &branch).await?;
        for OwnBranch { branch: made, tip } in &own {
            self.keep_commit(&recovery_name(&branch, made), tip, None).await?;
        }
        Ok(own)
    }

    /// The same before a slot is used for something else: what cannot be brought over is set aside, and its sandbox begins anew.
    pub(super) async fn close_sandbox(&self, slot: SlotId) -> Result<(), WorktreeError> {
        let Some(places) = &self.sandboxes else { return Ok(()) };
        let folder = slot_folder(places, slot);
        if folder.symlink_metadata().is_err() {
            return Ok(());
        }
        if let Err(error) = self.bring_over(slot).await {
            let aside = (1..MAX_SET_ASIDE)
                .map(|number| places.folder.join(format!("lost-{slot}-{number}")))
                .find(|aside| aside.symlink_metadata().is_err())
                .unwrap_or_else(|| folder.with_extension("lost"));
            warn!(slot = slot.0, cause = %error, kept = %aside.display(), "commits of a sandbox cannot be brought over");
            return fs::rename(&folder, aside).map_err(WorktreeError::io(&folder));
        }
        remove_tree(folder.clone()).await.map_err(WorktreeError::io(&folder))
    }

    /// Gives the sandbox of a slot the home of another one: a fork continues a session that is kept there. What is too long is left out,
    /// because it is no session; links and pipes are neither followed nor waited for.
    pub async fn inherit_home(&self, from: SlotId, to: SlotId) -> Result<(), WorktreeError> {
        let Some(places) = &self.sandboxes else { return Ok(()) };
        let [from, to] = [from, to].map(|slot| slot_folder(places, slot).join("home"));
        if from.symlink_metadata().is_err() {
            return Ok(());
        }
        let told = to.clone();
        let copied =
            tokio::task::spawn_blocking(move || untrusted::copy_tree(&from, &to, INHERITED));
        let copied = copied.await.map_err(io::Error::other).and_then(|copied| copied);
        let left_out = copied.map_err(WorktreeError::io(told))?;
        if left_out > 0 {
            debug!(left_out, "files of a home are not inherited");
        }
        Ok(())
    }

    fn places(&self) -> Result<&SandboxPlaces, WorktreeError> {
        self.sandboxes.as_ref().ok_or(WorktreeError::NoSandboxes)
    }

    fn enclosed<'a>(
        &'a self,
        places: &SandboxPlaces,
        slot: SlotId,
        checkout: &'a Checkout,
    ) -> Enclosed<'a> {
        let folder = slot_folder(places, slot);
        let (seen, folder) = (folder.join("seen"), folder.join("git"));
        Enclosed { git: &self.git, checkout, folder, seen }
    }
}

fn slot_folder(places: &SandboxPlaces, slot: SlotId) -> PathBuf {
    places.folder.join(slot.to_string())
}

fn sandbox(places: &SandboxPlaces, slot: SlotId, enclosed: &Enclosed<'_>) -> Sandbox {
    let folder: &Path = &slot_folder(places, slot);
    Sandbox {
        helper: places.helper.clone(),
        home: folder.join("home"),
        home_at: places.home.clone(),
        tmp: folder.join("tmp"),
        mounts: enclosed.mounts(),
        nested: false,
        network: SandboxNetwork::Host,
        hosts: Vec::new(),
        limits: SandboxLimits::default(),
        terminal: false,
        backend: backend(places, slot),
    }
}

/// No note of what makes a sandbox is longer.
const MAX_NOTE_BYTES: u64 = 1 << 16;

fn note_of(places: &SandboxPlaces, slot: SlotId) -> PathBuf {
    slot_folder(places, slot).join("backend")
}

/// Notes what makes the sandbox of a slot, where no agent can write it.
fn note_backend(
    places: &SandboxPlaces,
    slot: SlotId,
    backend: &SandboxBackend,
) -> Result<(), WorktreeError> {
    let path = note_of(places, slot);
    let noted = serde_json::to_vec(backend).map_err(io::Error::other);
    let noted = noted.and_then(|text| untrusted::replace(&path, &text));
    noted.map_err(WorktreeError::io(path))
}

/// What makes the sandbox of a slot; bubblewrap, where nothing was noted.
fn backend(places: &SandboxPlaces, slot: SlotId) -> SandboxBackend {
    let noted = untrusted::read(&note_of(places, slot), MAX_NOTE_BYTES);
    noted.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Makes the folders that only the sandbox uses.
fn make_private(sandbox: &Sandbox) -> Result<(), WorktreeError> {
    for folder in [&sandbox.home, &sandbox.tmp] {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(WorktreeError::io(folder))?;
    }
    Ok(())
}

/// Under which name a branch of an agent's own is kept.
fn recovery_name(story: &Branch, made: &Branch) -> RecoveryName {
    let both = RecoveryName::new(format!("{}-own-{}", story.as_str(), made.as_str()));
    both.unwrap_or_else(|_| RecoveryName::of(made))
}
