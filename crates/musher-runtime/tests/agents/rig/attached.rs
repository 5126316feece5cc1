//! Files that a person attached, in a folder of their own.

use std::path::PathBuf;

use musher_runtime::Attachment;
use musher_testkit::model::{Image, ModelServer};
use tempfile::TempDir;

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
