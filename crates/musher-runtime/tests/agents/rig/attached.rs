//! Files that a person attached, in a folder of their own.

use std::path::PathBuf;

use bytes::Bytes;
use musher_runtime::{Attachment, Keeper, SessionSpec};
use musher_testkit::model::{Image, ModelServer};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

/// An image that every program can read.
pub(crate) const PNG: &[u8] = include_bytes!("../../data/attachments/square.png");

/// A folder that no agent works in.
pub(crate) struct Attached {
    folder: TempDir,
}

impl Attached {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    /// A file in the folder.
    pub(crate) fn file(&self, name: &str, media_type: &str, bytes: &[u8]) -> Attachment {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        Attachment { path, name: name.into(), media_type: media_type.into() }
    }

    pub(crate) fn image(&self) -> Attachment {
        self.file("square.png", "image/png", PNG)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }
}

/// The images that the model was shown with a call of a scenario, call by call.
pub(crate) fn shown(server: &ModelServer, scenario: &str) -> Vec<Vec<Image>> {
    let calls = server.ledger().calls;
    let of = |call: usize| calls.get(call).is_some_and(|call| call.scenario == scenario);
    let requests = server.requests();
    requests.iter().filter(|request| of(request.call)).map(|request| request.images()).collect()
}

/// Exactly the image of [`PNG`].
pub(crate) fn one_image() -> Vec<Image> {
    vec![Image { media_type: "image/png".into(), bytes: PNG.to_vec() }]
}

/// The copy of what an agent prints, as a host keeps it.
pub(crate) struct RawCopy {
    parts: mpsc::Receiver<Bytes>,
    _durable: watch::Sender<u64>,
}

impl RawCopy {
    /// Has a session copied from its start.
    pub(crate) fn of(spec: &mut SessionSpec) -> Self {
        let (raw, parts) = mpsc::channel(65_536);
        let (_durable, durable) = watch::channel(u64::MAX);
        spec.keeper = Some(Keeper { raw, durable });
        Self { parts, _durable }
    }

    /// All of it, once the session is over. An image would show by its first bytes in base64.
    pub(crate) fn assert_holds_no_image(mut self) {
        let mut copy = Vec::new();
        while let Ok(part) = self.parts.try_recv() {
            copy.extend_from_slice(&part);
        }
        let copy = String::from_utf8_lossy(&copy).into_owned();
        assert!(!copy.is_empty() && !copy.contains("iVBOR"), "the copy holds the image: {copy}");
    }
}
