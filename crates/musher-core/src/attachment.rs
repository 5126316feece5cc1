//! What the record says of files that went with a message; their bytes are never in it.

use serde::{Deserialize, Serialize};

/// A file that was given to the agent together with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentAttachment {
    /// As the person calls it.
    pub name: String,
    pub media_type: String,
    pub bytes: u64,
    pub how: AttachmentForm,
}

/// How the agent was given a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentForm {
    /// As an image that its model sees.
    Image,
    /// By its path, for the agent to read with its own tools.
    Path,
    /// In a way that a later version has.
    #[serde(other)]
    Unknown,
}
