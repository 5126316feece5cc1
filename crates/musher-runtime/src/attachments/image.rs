//! An image on its way to a model: its place while it waits, and its bytes only while it is sent.

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use musher_core::{EventKind, Level};
use musher_os::untrusted;

use super::{AttachmentError, ImageType, MAX_IMAGE_BYTES};

/// An image that goes with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptImage {
    pub name: String,
    pub path: PathBuf,
    pub kind: ImageType,
    /// Its bytes, only while they are written into a message.
    pub(crate) encoded: Option<EncodedImage>,
}

/// Bytes in base64, which no log shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct EncodedImage(String);

impl fmt::Debug for EncodedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes of base64]", self.0.len())
    }
}

impl PromptImage {
    pub(super) fn new(name: &str, path: PathBuf, kind: ImageType) -> Self {
        Self { name: name.to_owned(), path, kind, encoded: None }
    }

    /// Its bytes in base64, as protocols take them, read now. It may have changed since it was looked at first.
    pub fn base64(&self) -> Result<String, AttachmentError> {
        let unfit = |unfit| AttachmentError::unfit(&self.name, unfit);
        let bytes = untrusted::read(&self.path, MAX_IMAGE_BYTES).map_err(unfit)?;
        let found = ImageType::of_bytes(&bytes);
        if found != Some(self.kind) {
            return Err(AttachmentError::WrongType {
                name: self.name.clone(),
                told: self.kind.media_type().to_owned(),
                found: found.map_or("no image", ImageType::media_type),
            });
        }
        Ok(STANDARD.encode(bytes))
    }

    /// The same image with its bytes.
    pub(crate) fn loaded(mut self) -> Result<Self, AttachmentError> {
        self.encoded = Some(EncodedImage(self.base64()?));
        Ok(self)
    }

    /// Its media type and its bytes in base64, once they are read.
    pub(crate) fn content(&self) -> Option<(&'static str, &str)> {
        self.encoded.as_ref().map(|encoded| (self.kind.media_type(), encoded.0.as_str()))
    }

    /// The same as an address that holds the image itself.
    pub(crate) fn data_url(&self) -> Option<String> {
        self.content().map(|(media_type, data)| format!("data:{media_type};base64,{data}"))
    }
}

/// Reads images for a message. Those that cannot be read any more are left out, each with a word for people.
pub(crate) async fn load(images: Vec<PromptImage>) -> (Vec<PromptImage>, Vec<EventKind>) {
    let reading = tokio::task::spawn_blocking(move || {
        let (mut loaded, mut lost) = (Vec::new(), Vec::new());
        for image in images {
            match image.loaded() {
                Ok(image) => loaded.push(image),
                Err(error) => lost.push(not_shown(&error.to_string())),
            }
        }
        (loaded, lost)
    });
    let broke =
        |error| (Vec::new(), vec![not_shown(&format!("the images were not read: {error}"))]);
    reading.await.unwrap_or_else(broke)
}

/// Says that the model does not see an image, though it was said that it would.
pub(crate) fn not_shown(why: &str) -> EventKind {
    let text = format!("{why}; the agent was told its path instead");
    EventKind::Notice { level: Level::Warning, code: Some("image_not_shown".into()), text }
}
