//! `grep`: the lines of files that fit a regular expression.

use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch,
};
use musher_core::{ToolKind, ToolRules, ToolUse, Verdict};
use rustix::fs::{FileType, Mode, OFlags, openat};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::ToolReply;
use super::beneath::{Links, READ, WorkFolder, regular};
use super::change::size;
use super::fault::ToolFault;
use super::glob;
use super::input::clip;
use super::list::clip_path;
use super::place::RelativePath;
use super::walk::{Extent, WalkStep, walk};

/// Longer files are left out; a command can search them.
const MAX_SEARCHED_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// The longest line that is searched.
const HEAP: usize = 4 * 1024 * 1024;
/// How many matches are told when no other number is asked for, and at most.
const MATCHES: u32 = 200;
const MAX_MATCHES: u32 = 2000;
/// How many files are told.
const FILES: usize = 1000;
const CONTEXT: u32 = 20;
/// How much of a line is told.
const LINE: usize = 400;
/// How much text is told.
const TEXT: usize = 96 * 1024;
/// What a pattern may become when it is compiled.
const COMPILED: usize = 4 * 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// A regular expression in the syntax of ripgrep.
    pattern: String,
    /// The file or folder to search, relative to the working folder; by default the working folder.
    path: Option<String>,
    /// Searches only files whose paths fit this pattern, such as `*.rs` or `src/**/*.ts`.
    glob: Option<String>,
    /// Takes the pattern as a plain text.
    literal: Option<bool>,
    /// Takes upper and lower case for the same.
    ignore_case: Option<bool>,
    /// How many lines to show before and after each match; by default 0.
    context: Option<u32>,
    /// What to show: `lines` (the default), `files` (only their paths) or `count` (matches in each file).
    show: Option<GrepOutput>,
    /// How many matches to show at most; by default 200.
    limit: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum GrepOutput {
    #[default]
    Lines,
    Files,
    Count,
}

pub(super) const ABOUT: &str = "Searches the text of files in the working folder with a regular expression. What git ignores, binary files and very long files are left out.";

pub(super) fn grep(
    folder: &WorkFolder,
    rules: &ToolRules,
    input: &Grep,
    cancel: &CancellationToken,
) -> Result<ToolReply, ToolFault> {
    let place = folder.place(input.path.as_deref().unwrap_or("."))?;
    let matcher = matcher(input)?;
    let fits = input.glob.as_deref().map(glob::matcher).transpose()?;
    let mut searcher = searcher(input);
    let mut found = Found::new(input);
    let top = folder.at(&place, READ, Links::Follow)?;
    let alone = rustix::fs::fstat(&top)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::Directory);
    let extent = if alone {
        // A rule is about the name that was asked for and about the real file, by whatever name it was reached.
        let names = [Some(place.path()), folder.whereabouts(&top)];
        let why = names.iter().flatten().find_map(|name| held_back(folder, rules, name));
        if let Some(why) = why {
            return Err(ToolFault::Forbidden { path: place.to_string(), why });
        }
        let (file, stat) = regular(top, &place)?;
        if size(&stat) > MAX_SEARCHED_FILE_BYTES {
            let instead = "search it with run_command";
            return Err(ToolFault::too_big(
                &place.to_string(),
                size(&stat),
                MAX_SEARCHED_FILE_BYTES,
                instead,
            ));
        }
        found.search(&mut searcher, &matcher, &file, &place.path());
        Extent::Whole
    } else {
        drop(top);
        let start = place.path();
        walk(folder, &place, cancel, |entry| {
            if entry.ignored {
                return Ok(WalkStep::Over);
            }
            let below = entry.path.strip_prefix(&start).unwrap_or(entry.path);
            if entry.kind != FileType::RegularFile
                || fits.as_ref().is_some_and(|fits| !fits.is_match(below))
            {
                return Ok(WalkStep::Into);
            }
            if held_back(folder, rules, entry.path).is_some() {
                found.held_back += 1;
                return Ok(WalkStep::Over);
            }
            let flags = READ | OFlags::NOFOLLOW;
            let Ok(file) = openat(entry.folder, entry.name, flags, Mode::empty()) else {
                found.unread += 1;
                return Ok(WalkStep::Over);
            };
            if let Ok((file, stat)) = regular(file, &RelativePath::root()) {
                match size(&stat) > MAX_SEARCHED_FILE_BYTES {
                    true => found.long += 1,
                    false => found.search(&mut searcher, &matcher, &file, entry.path),
                }
            }
            Ok(if found.full { WalkStep::Stop } else { WalkStep::Over })
        })?
    };
    Ok(found.reply(&place, input, extent))
}

/// Why the rules hold a file back from being read, if they do. A search must not tell what reading would not.
fn held_back(folder: &WorkFolder, rules: &ToolRules, path: &Path) -> Option<String> {
    if !rules.restrict() {
        return None;
    }
    let (path, cwd) = (path.to_string_lossy(), folder.path().to_string_lossy());
    let tool_use = ToolUse {
        tool: "read_file",
        kind: ToolKind::Read,
        subject: Some(&path),
        resolved: None,
        texts: &[],
        cwd: &cwd,
        unseen: false,
    };
    match rules.verdict(&tool_use) {
        Verdict::Deny(rule) => Some(format!("the rule `{rule}` forbids it")),
        Verdict::Ask(rule) => {
            Some(format!("the rule `{rule}` wants a person to agree; use read_file"))
        }
        Verdict::Allow(_) | Verdict::Unsettled => None,
    }
}

fn matcher(input: &Grep) -> Result<RegexMatcher, ToolFault> {
    let refuse = |why: &str| {
        ToolFault::Other(format!(
            "`{}` is not a regular expression: {}; fix it, or set literal to search for plain text",
            clip(&input.pattern),
            clip(why)
        ))
    };
    if input.pattern.is_empty() {
        return Err(refuse("it is empty"));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .fixed_strings(input.literal.unwrap_or(false))
        .case_insensitive(input.ignore_case.unwrap_or(false))
        .line_terminator(Some(b'\n'))
        .size_limit(COMPILED)
        .dfa_size_limit(COMPILED);
    builder.build(&input.pattern).map_err(|error| {
        // The last line says why; those before it draw the pattern again.
        let why = error.to_string();
        refuse(why.lines().last().unwrap_or_default().trim_start_matches("error: "))
    })
}

fn searcher(input: &Grep) -> Searcher {
    let context = input.context.unwrap_or(0).min(CONTEXT) as usize;
    SearcherBuilder::new()
        .memory_map(MmapChoice::never())
        .heap_limit(Some(HEAP))
        .binary_detection(BinaryDetection::quit(0))
        .before_context(context)
        .after_context(context)
        .line_number(true)
        .build()
}

/// What was found so far.
struct Found {
    show: GrepOutput,
    context: bool,
    limit: usize,
    lines: Vec<String>,
    /// How long the lines are together.
    length: usize,
    matches: Vec<Json>,
    files: Vec<(String, u64)>,
    total: u64,
    full: bool,
    long: u64,
    unread: u64,
    held_back: u64,
}

impl Found {
    fn new(input: &Grep) -> Self {
        Self {
            show: input.show.unwrap_or_default(),
            context: input.context.unwrap_or(0) > 0,
            limit: input.limit.unwrap_or(MATCHES).clamp(1, MAX_MATCHES) as usize,
            lines: Vec::new(),
            length: 0,
            matches: Vec::new(),
            files: Vec::new(),
            total: 0,
            full: false,
            long: 0,
            unread: 0,
            held_back: 0,
        }
    }

    fn search(
        &mut self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        file: &std::fs::File,
        path: &Path,
    ) {
        let before = self.total;
        let path = path.to_string_lossy().into_owned();
        let sink = InFile { shown: clip_path(&path), path: &path, found: self };
        // A line that is too long to be held ends the search of its file.
        if searcher.search_file(matcher, file, sink).is_err() {
            self.unread += 1;
        }
        let count = self.total - before;
        if count > 0 {
            self.files.push((path, count));
            self.full |= self.files.len() == FILES;
        }
    }

    fn line(&mut self, line: String) {
        self.length += line.len() + 1;
        self.lines.push(line);
        self.full |= self.length > TEXT;
    }

    fn reply(self, place: &RelativePath, input: &Grep, extent: Extent) -> ToolReply {
        let mut lines = match self.show {
            GrepOutput::Lines => self.lines,
            GrepOutput::Files => self.files.iter().map(|(path, _)| clip_path(path)).collect(),
            GrepOutput::Count => {
                self.files.iter().map(|(path, n)| format!("{}: {n}", clip_path(path))).collect()
            }
        };
        if self.total == 0 {
            lines.push(format!("`{}` was not found in {place}", clip(&input.pattern)));
        }
        if self.full {
            lines.push("[there may be more; use a narrower pattern, path or glob]".into());
        }
        if let Extent::Cut(why) = extent {
            lines.push(format!("[not all was searched: {why}]"));
        }
        for (count, what) in [
            (self.long, "too long to be searched here; use run_command for them"),
            (self.unread, "could not be read to the end"),
            (self.held_back, "held back by the rules"),
        ] {
            if count > 0 {
                lines.push(format!("[files {what}: {count}]"));
            }
        }
        let files: Vec<Json> =
            self.files.iter().map(|(path, n)| json!({ "path": path, "matches": n })).collect();
        let cut = self.full || extent != Extent::Whole;
        let structured = json!({ "matches": self.matches, "files": files, "cut": cut });
        ToolReply::done(lines.join("\n")).with_structured(structured)
    }
}

/// Takes the matches in one file.
struct InFile<'a> {
    path: &'a str,
    shown: String,
    found: &'a mut Found,
}

impl InFile<'_> {
    fn text(bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LINE)]);
        let text = text.trim_end_matches(['\n', '\r']);
        match text.char_indices().nth(LINE) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text.to_owned(),
        }
    }
}

impl Sink for InFile<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.found.total += 1;
        match self.found.show {
            // One is enough to name the file.
            GrepOutput::Files => return Ok(false),
            GrepOutput::Count => return Ok(true),
            GrepOutput::Lines => {}
        }
        let number = matched.line_number().unwrap_or(0);
        let text = Self::text(matched.bytes());
        self.found.line(format!("{}:{number}: {text}", self.shown));
        self.found.matches.push(json!({ "path": self.path, "line": number, "text": text }));
        self.found.full |= self.found.matches.len() >= self.found.limit;
        Ok(!self.found.full)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let number = line.line_number().unwrap_or(0);
        self.found.line(format!("{}-{number}- {}", self.shown, Self::text(line.bytes())));
        Ok(!self.found.full)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        if self.found.context && self.found.show == GrepOutput::Lines {
            self.found.line("--".into());
        }
        Ok(true)
    }
}
