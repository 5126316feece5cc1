//! `glob`: the files whose paths fit a pattern.

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ToolReply;
use super::beneath::WorkFolder;
use super::fault::ToolFault;
use super::input::clip;
use super::list::clip_path;
use super::walk::{Extent, WalkStep, walk};

/// How many files are told.
const MAX_GLOB_FILES: usize = 1000;
/// A pattern grows when it is compiled.
const MAX_PATTERN_BYTES: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Glob {
    /// A pattern such as `*.rs`, `src/**/*.ts` or `**/{a,b}.txt`. One without `/` fits names in any folder.
    pattern: String,
    /// The folder to look in, relative to the working folder; the pattern starts there. By default the working folder.
    path: Option<String>,
}

pub(super) const ABOUT: &str = "Finds files in the working folder by a pattern for their paths. What git ignores is left out. The paths are sorted and relative to the working folder.";

pub(super) fn glob(
    folder: &WorkFolder,
    input: &Glob,
    cancel: &CancellationToken,
) -> Result<ToolReply, ToolFault> {
    let place = folder.place(input.path.as_deref().unwrap_or("."))?;
    let matcher = matcher(&input.pattern)?;
    let start = place.path();
    let mut found = Vec::new();
    let mut more = false;
    let extent = walk(folder, &place, cancel, |entry| {
        if entry.ignored {
            return Ok(WalkStep::Over);
        }
        let below = entry.path.strip_prefix(&start).unwrap_or(entry.path);
        if matches!(entry.kind, FileType::RegularFile | FileType::Symlink)
            && matcher.is_match(below)
        {
            if found.len() == MAX_GLOB_FILES {
                more = true;
                return Ok(WalkStep::Stop);
            }
            found.push(entry.path.to_string_lossy().into_owned());
        }
        Ok(WalkStep::Into)
    })?;
    let mut lines: Vec<String> = found.iter().map(|path| clip_path(path)).collect();
    if lines.is_empty() {
        lines.push(format!("no file fits `{}` in {place}", clip(&input.pattern)));
    }
    if more {
        lines.push(format!("[only the first {MAX_GLOB_FILES} are shown; use a narrower pattern]"));
    }
    if let Extent::Cut(why) = extent {
        lines.push(format!("[not all was seen: {why}]"));
    }
    let cut = more || extent != Extent::Whole;
    let structured = json!({ "paths": found, "cut": cut });
    Ok(ToolReply::done(lines.join("\n")).with_structured(structured))
}

/// Compiles a pattern for paths below the place where a search begins.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, ToolFault> {
    if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
        return Err(ToolFault::Other(format!(
            "a pattern has 1 to {MAX_PATTERN_BYTES} bytes, and this one has {}; give one such as `**/*.rs`",
            pattern.len()
        )));
    }
    let plain = pattern.strip_prefix("./").unwrap_or(pattern);
    let anywhere = match plain.contains('/') {
        true => plain.to_owned(),
        false => format!("**/{plain}"),
    };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| {
        let why = clip(&error.kind().to_string());
        ToolFault::Other(format!(
            "`{}` is not a pattern: {why}; give one such as `**/*.rs`",
            clip(pattern)
        ))
    })
}
