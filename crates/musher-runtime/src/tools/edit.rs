//! `edit_file`: replaces an exact text in a file, or says clearly why it did not.

use std::os::fd::AsFd;

use schemars::JsonSchema;
use serde::Deserialize;

use super::ToolReply;
use super::beneath::{Absent, WorkFolder};
use super::change::{self, MAX_WRITTEN_FILE_BYTES, Old};
use super::fault::ToolFault;
use super::place::RelativePath;

/// How many places of a text are named.
const NAMED: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditTool {
    /// The file, relative to the working folder.
    path: String,
    /// The text to replace, exactly as it stands in the file, without line numbers. It must occur once, unless `replace_all` is true.
    old: String,
    /// What stands there afterwards.
    new: String,
    /// Replaces every occurrence.
    replace_all: Option<bool>,
}

impl EditTool {
    pub(super) fn into_change(self) -> musher_core::Edit {
        let all = self.replace_all.unwrap_or_default();
        musher_core::Edit { path: self.path, old: Some(self.old), new: self.new, all }
    }
}

pub(super) const ABOUT: &str = "Replaces an exact text in a file of the working folder. The text must occur exactly once; give enough lines around it, or set replace_all.";

pub(super) fn edit(folder: &WorkFolder, input: &EditTool) -> Result<ToolReply, ToolFault> {
    let place = folder.place(&input.path)?;
    refuse_gits(&place)?;
    if input.old.is_empty() {
        return Err(ToolFault::Other(
            "`old` is empty; give the text to replace, or use write_file for a new file".into(),
        ));
    }
    if input.old == input.new {
        return Err(ToolFault::Other(
            "`old` and `new` are the same; there is nothing to change".into(),
        ));
    }
    let (parent, name) = folder.parent(&place, Absent::Refuse)?;
    let (bytes, mode) = match change::old(parent.as_fd(), name, &place)? {
        Old::Nothing => return Err(ToolFault::Missing { path: place.to_string() }),
        Old::File { bytes, mode } => (bytes, mode),
        Old::Long { .. } => return Err(too_big(&place, MAX_WRITTEN_FILE_BYTES + 1)),
    };
    let before =
        String::from_utf8(bytes).map_err(|_| ToolFault::NotText { path: place.to_string() })?;
    let (old, new) = endings(&before, input);
    let found: Vec<usize> = before.match_indices(&*old).map(|(at, _)| at).collect();
    let all = input.replace_all.unwrap_or(false);
    match found.len() {
        0 => return Err(ToolFault::Other(not_found(&place, &before, &input.old))),
        2.. if !all => return Err(ToolFault::Other(ambiguous(&place, &before, &found))),
        _ => {}
    }
    let length = before.len() + found.len() * new.len() - found.len() * old.len();
    if length as u64 > MAX_WRITTEN_FILE_BYTES {
        return Err(too_big(&place, length as u64));
    }
    let after = before.replace(&*old, &new);
    change::replace(&parent, name, &place, after.as_bytes(), Some(mode))?;
    let lines = numbers(&before, &found);
    let text = match found.len() {
        1 => format!("edited {place}: replaced the text at line {lines}"),
        many => format!("edited {place}: replaced {many} occurrences, at lines {lines}"),
    };
    Ok(ToolReply::done(text).with_structured(change::difference(&place, Some(&before), &after)))
}

/// Git's own files are changed by git alone.
pub(super) fn refuse_gits(place: &RelativePath) -> Result<(), ToolFault> {
    match place.is_gits() {
        true => Err(ToolFault::Git { path: place.to_string() }),
        false => Ok(()),
    }
}

fn too_big(place: &RelativePath, size: u64) -> ToolFault {
    ToolFault::too_big(
        &place.to_string(),
        size,
        MAX_WRITTEN_FILE_BYTES,
        "change it with run_command",
    )
}

/// What is looked for, in the line endings of the file: models see and write lines without a carriage return.
fn endings(before: &str, input: &EditTool) -> (String, String) {
    let windows = before.contains("\r\n")
        && !input.old.contains('\r')
        && input.old.contains('\n')
        && !before.contains(&input.old);
    let convert = |text: &str| match windows {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text.to_owned(),
    };
    (convert(&input.old), convert(&input.new))
}

fn not_found(place: &RelativePath, before: &str, old: &str) -> String {
    let plain = format!("the text to replace was not found in `{place}`, so nothing was changed");
    let Some(first) = old.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return format!("{plain}; read the file and copy the text exactly");
    };
    let similar: Vec<usize> = (1..)
        .zip(before.lines())
        .filter(|(_, line)| line.trim() == first)
        .map(|(number, _)| number)
        .take(NAMED)
        .collect();
    match similar.as_slice() {
        [] => format!(
            "{plain}; not even its first line is there. Read the file again and copy the text exactly, with its spaces and without line numbers"
        ),
        lines => format!(
            "{plain}; its first line stands at line {}, so something after it differs, or the spaces around it do. Read those lines again and copy them exactly",
            listed(lines)
        ),
    }
}

fn ambiguous(place: &RelativePath, before: &str, found: &[usize]) -> String {
    format!(
        "the text to replace was found {} times in `{place}` (at lines {}), so nothing was changed; give more of the lines around it to make it unique, or set replace_all",
        found.len(),
        numbers(before, found)
    )
}

/// The lines on which some places are.
fn numbers(text: &str, places: &[usize]) -> String {
    let (mut line, mut from) = (1, 0);
    let mut lines = Vec::new();
    for &at in places.iter().take(NAMED) {
        line += text[from..at].matches('\n').count();
        from = at;
        lines.push(line);
    }
    let more = if places.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", listed(&lines))
}

fn listed(lines: &[usize]) -> String {
    lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
