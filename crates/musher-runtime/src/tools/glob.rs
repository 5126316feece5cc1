//! `glob`: the files whose paths fit a pattern.

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ToolReply;
use super::beneath::Folder;
use super::fault::Fault;
use super::input::clip;
use super::list::clip_path;
use super::walk::{Extent, Step, walk};

/// How many files are told.
const MOST: usize = 1000;
/// A pattern grows when it is compiled.
const LONGEST: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Glob {
    /// A pattern such as `*.rs`, `src/**/*.ts` or `**/{a,b}.txt`. One without `/` fits names in any folder.
    pattern: String,
    /// The folder to look in, relative to the working folder; the pattern starts there. By default the working folder.
    path: Option<String>,
}

pub(super) const ABOUT: &str = "Finds files in the working folder by a pattern for their paths. What git ignores is left out. The paths come in order, relative to the working folder.";

pub(super) fn glob(
    folder: &Folder,
    input: &Glob,
    cancel: &CancellationToken,
) -> Result<ToolReply, Fault> {
    let place = folder.place(input.path.as_deref().unwrap_or("."))?;
    let matcher = matcher(&input.pattern)?;
    let start = place.path();
    let mut found = Vec::new();
    let mut more = false;
    let extent = walk(folder, &place, cancel, |entry| {
        if entry.ignored {
            return Ok(Step::Over);
        }
        let below = entry.path.strip_prefix(&start).unwrap_or(entry.path);
        if matches!(entry.kind, FileType::RegularFile | FileType::Symlink)
            && matcher.is_match(below)
        {
            if found.len() == MOST {
                more = true;
                return Ok(Step::Stop);
            }
            found.push(entry.path.to_string_lossy().into_owned());
        }
        Ok(Step::Into)
    })?;
    let mut lines: Vec<String> = found.iter().map(|path| clip_path(path)).collect();
    if lines.is_empty() {
        lines.push(format!("no file fits `{}` in {place}", clip(&input.pattern)));
    }
    if more {
        lines.push(format!("[only the first {MOST} are shown; use a narrower pattern]"));
    }
    if let Extent::Cut(why) = extent {
        lines.push(format!("[not all was seen: {why}]"));
    }
    let cut = more || extent != Extent::Whole;
    let structured = json!({ "paths": found, "cut": cut });
    Ok(ToolReply::done(lines.join("\n")).with_structured(structured))
}

/// Compiles a pattern for paths below the place where a search begins.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, Fault> {
    if pattern.is_empty() || pattern.len() > LONGEST {
        return Err(Fault::Other(format!(
            "a pattern has 1 to {LONGEST} bytes, and this one has {}; give one such as `**/*.rs`",
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
        Fault::Other(format!(
            "`{}` is not a pattern: {why}; give one such as `**/*.rs`",
            clip(pattern)
        ))
    })
}
