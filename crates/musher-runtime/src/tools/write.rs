//! `write_file`: makes a file, or puts a new text in its place.

use std::os::fd::AsFd;

use schemars::JsonSchema;
use serde::Deserialize;

use super::beneath::{Absent, WorkFolder};
use super::change::{self, MAX_WRITTEN_FILE_BYTES, Old};
use super::fault::{ToolFault, bytes};
use super::{ToolReply, edit};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    /// The file, relative to the working folder. Folders that do not exist are made.
    path: String,
    /// The whole new text of the file.
    content: String,
}

impl Write {
    pub(super) fn into_change(self) -> musher_core::Edit {
        musher_core::Edit { path: self.path, old: None, new: self.content, all: false }
    }
}

pub(super) const ABOUT: &str = "Writes a whole file in the working folder: makes it, or replaces all of its text. Use edit_file to change a part of a file.";

pub(super) fn write(folder: &WorkFolder, input: &Write) -> Result<ToolReply, ToolFault> {
    let place = folder.place(&input.path)?;
    edit::refuse_gits(&place)?;
    let length = input.content.len() as u64;
    if length > MAX_WRITTEN_FILE_BYTES {
        return Err(ToolFault::too_big(
            &input.path,
            length,
            MAX_WRITTEN_FILE_BYTES,
            "write it in parts",
        ));
    }
    let (parent, name) = folder.parent(&place, Absent::Make)?;
    let (before, mode) = match change::old(parent.as_fd(), name, &place)? {
        Old::Nothing => (None, None),
        Old::File { bytes, mode } => (Some(bytes), Some(mode)),
        Old::Long { mode } => (Some(Vec::new()), Some(mode)),
    };
    change::replace(&parent, name, &place, input.content.as_bytes(), mode)?;
    let verb = if before.is_some() { "replaced" } else { "made" };
    let before = before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let difference = change::difference(&place, before.as_deref(), &input.content);
    let lines = input.content.lines().count();
    let text = format!("{verb} {place}: {lines} lines, {}", bytes(length));
    Ok(ToolReply::done(text).with_structured(difference))
}
