//! Files that a person gives along with a prompt: images for the model to see, and files for the agent to read.
//!
//! Everything is looked at before anything runs. An image is read when it is sent, and never kept.

mod checked;
mod image;
mod media;

use std::path::PathBuf;

use musher_core::{ErrorClass, ErrorInfo};
use musher_os::untrusted::{Kind, Unfit};
use serde::{Deserialize, Serialize};

pub(crate) use checked::{CheckedAttachments, PromptFiles};
pub use image::PromptImage;
#[cfg(any(feature = "frames", feature = "model"))]
pub(crate) use image::load;
#[cfg(any(feature = "acp", feature = "model"))]
pub(crate) use image::not_shown;
pub use media::ImageType;

/// Files that one session takes.
pub const MAX_ATTACHMENTS: usize = 20;
/// The largest file that is not sent as an image. Our own tools read no larger one.
pub const MAX_ATTACHMENT_BYTES: u64 = 64 * 1024 * 1024;
/// The largest image. One vendor takes 5 MiB of base64, which is three quarters of that in bytes; the others take more.
pub const MAX_IMAGE_BYTES: u64 = 5 * 1024 * 1024 / 4 * 3;
/// All images of a prompt. One vendor takes requests of 20 MB with base64 and all else in it.
pub const MAX_IMAGES_TOTAL_BYTES: u64 = 12 * 1024 * 1024;
/// The longest name and the longest media type.
const MAX_LABEL_BYTES: usize = 255;

/// A file that a person attached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attachment {
    /// Where it is: a whole path, outside of the folder that the agent works in.
    pub path: PathBuf,
    /// What the person calls it.
    pub name: String,
    /// What it is, such as `image/png`.
    pub media_type: String,
}

/// Why files cannot be given to an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachmentError {
    #[error("{count} files are attached, and {MAX_ATTACHMENTS} are the most")]
    TooMany { count: usize },
    #[error("an attached file has the name `{name}`, which cannot be shown")]
    BadName { name: String },
    #[error("the attached file `{name}` has the media type `{media_type}`, which is none")]
    BadMediaType { name: String, media_type: String },
    #[error("the attached file `{name}` has the path `{}`, which cannot be told to an agent", path.display())]
    BadPath { name: String, path: PathBuf },
    #[error("the attached file `{name}` is at `{}`, in the folder that the agent works in", path.display())]
    InFolder { name: String, path: PathBuf },
    #[error("the attached file `{name}` is not at `{}`", path.display())]
    Missing { name: String, path: PathBuf },
    #[error("the attached file `{name}` at `{}` is {kind}, not a plain file", path.display())]
    NoFile { name: String, path: PathBuf, kind: Kind },
    #[error("the attached file `{name}` at `{}` cannot be read: {cause}", path.display())]
    Unreadable { name: String, path: PathBuf, cause: std::io::Error },
    #[error("the attached file `{name}` has {bytes} bytes, and {most} are the most")]
    TooLarge { name: String, bytes: u64, most: u64 },
    #[error("the attached image `{name}` has {bytes} bytes, and {MAX_IMAGE_BYTES} are the most")]
    ImageTooLarge { name: String, bytes: u64 },
    #[error(
        "the attached images have {bytes} bytes together, and {MAX_IMAGES_TOTAL_BYTES} are the most"
    )]
    ImagesTooLarge { bytes: u64 },
    #[error("the attached file `{name}` is said to be {told}, and its bytes are {found}")]
    WrongType { name: String, told: String, found: &'static str },
}

impl AttachmentError {
    /// What a person can do about it.
    fn fix(&self) -> &'static str {
        match self {
            Self::TooMany { .. } => "attach fewer files, or put them into one archive",
            Self::BadName { .. } => "give it a name of one line and up to 255 bytes",
            Self::BadMediaType { .. } => "use one such as image/png or application/octet-stream",
            Self::BadPath { .. } => {
                "use a whole path in UTF-8 without line breaks and without `..`"
            }
            Self::InFolder { .. } => "keep it outside, where the agent cannot change it",
            Self::Missing { .. } => "attach it again",
            Self::NoFile { .. } => "attach a copy of the file itself",
            Self::Unreadable { .. } => "see that it can be read, or attach it again",
            Self::TooLarge { .. } => "attach a part of it, or put it into the repository",
            Self::ImageTooLarge { .. } | Self::ImagesTooLarge { .. } => {
                "scale it down, or save it as a JPEG"
            }
            Self::WrongType { .. } => "attach it with the media type that it has",
        }
    }

    /// The word by which programs know it.
    fn code(&self) -> &'static str {
        match self {
            Self::TooMany { .. } => "too_many_attachments",
            Self::BadName { .. } | Self::BadMediaType { .. } => "bad_attachment_name",
            Self::BadPath { .. } | Self::InFolder { .. } => "bad_attachment_path",
            Self::Missing { .. } => "attachment_missing",
            Self::NoFile { .. } | Self::Unreadable { .. } => "attachment_unreadable",
            Self::TooLarge { .. } | Self::ImageTooLarge { .. } | Self::ImagesTooLarge { .. } => {
                "attachment_too_large"
            }
            Self::WrongType { .. } => "attachment_wrong_type",
        }
    }

    /// Why a file could not be opened or read.
    fn unfit(name: &str, unfit: Unfit) -> Self {
        let name = name.to_owned();
        match unfit {
            Unfit::Missing { path } => Self::Missing { name, path },
            Unfit::Odd { path, kind } | Unfit::NoFolder { path, kind } => {
                Self::NoFile { name, path, kind }
            }
            Unfit::Led { path } => Self::NoFile { name, path, kind: Kind::Link },
            Unfit::TooLong { most, .. } => Self::TooLarge { name, bytes: most + 1, most },
            Unfit::Io { path, source } => Self::Unreadable { name, path, cause: source },
        }
    }
}

impl From<AttachmentError> for ErrorInfo {
    fn from(error: AttachmentError) -> Self {
        Self::new(ErrorClass::Config, error.to_string())
            .with_hint(error.fix())
            .with_code(error.code())
    }
}

#[cfg(test)]
mod tests;
