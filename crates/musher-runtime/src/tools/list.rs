//! `list_files`: what is in a folder, with sizes, to a depth.

use rustix::fs::{FileType, readlinkat};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ToolReply;
use super::beneath::{WorkFolder, stat_in};
use super::change::size;
use super::fault::{ToolFault, bytes};
use super::input::clip;
use super::walk::{Extent, WalkEntry, WalkStep, walk};
use musher_os::untrusted::Kind;

/// How many entries are told.
const MAX_LISTED_ENTRIES: usize = 1000;
const DEEPEST: u32 = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTool {
    /// The folder, relative to the working folder; by default the working folder itself.
    path: Option<String>,
    /// How many levels of folders to show; by default 1.
    depth: Option<u32>,
}

pub(super) const ABOUT: &str = "Lists the files and folders in a folder of the working folder, in order, with sizes. What git ignores is marked and not entered; .git is left out.";

pub(super) fn list(
    folder: &WorkFolder,
    input: &ListTool,
    cancel: &CancellationToken,
) -> Result<ToolReply, ToolFault> {
    let place = folder.place(input.path.as_deref().unwrap_or("."))?;
    let depth = input.depth.unwrap_or(1).clamp(1, DEEPEST) as usize;
    let mut lines = Vec::new();
    let mut paths = Vec::new();
    let extent = walk(folder, &place, cancel, |entry| {
        if lines.len() == MAX_LISTED_ENTRIES {
            lines.push(format!(
                "[only the first {MAX_LISTED_ENTRIES} are shown; name a smaller folder]"
            ));
            return Ok(WalkStep::Stop);
        }
        let path = entry.path.to_string_lossy();
        lines.push(line(entry, &path));
        paths.push(path.into_owned());
        Ok(match entry.depth < depth && !entry.ignored {
            true => WalkStep::Into,
            false => WalkStep::Over,
        })
    })?;
    let cut = lines.len() > MAX_LISTED_ENTRIES || extent != Extent::Whole;
    if let Extent::Cut(why) = extent {
        lines.push(format!("[not all is shown: {why}]"));
    }
    let text = match lines.is_empty() {
        true => format!("{place} is empty"),
        false => lines.join("\n"),
    };
    let structured = json!({ "path": place.to_string(), "entries": paths, "cut": cut });
    Ok(ToolReply::done(text).with_structured(structured))
}

fn line(entry: &WalkEntry<'_>, path: &str) -> String {
    let shown = clip_path(path);
    let ignored = if entry.ignored { " (ignored)" } else { "" };
    match entry.kind {
        FileType::Directory => format!("{shown}/{ignored}"),
        FileType::RegularFile => {
            let size = stat_in(entry.folder, entry.name).map_or(0, |stat| size(&stat));
            format!("{shown} ({}){ignored}", bytes(size))
        }
        FileType::Symlink => {
            let target = readlinkat(entry.folder, entry.name, Vec::new());
            let target = target.map_or_else(|_| "?".into(), |to| clip(&to.to_string_lossy()));
            format!("{shown} -> {target}{ignored}")
        }
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => format!("{shown} ({}){ignored}", Kind::from(entry.kind)),
    }
}

/// A path as it is told: a newline in a name must not look like another entry.
pub(super) fn clip_path(path: &str) -> String {
    match path.contains(char::is_control) {
        true => path.escape_debug().to_string(),
        false => path.to_owned(),
    }
}
