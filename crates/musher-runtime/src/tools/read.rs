//! `read_file`: a range of a text file, with line numbers, and never more than fits.

use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use musher_os::untrusted;
use rustix::fs::fstat;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::ToolReply;
use super::beneath::{Links, WorkFolder};
use super::change::{errno_of, size};
use super::fault::{ToolFault, bytes};

/// Files up to this size are read, whatever part of them is wanted.
const MAX_READ_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Lines that are given when no other number is asked for, and at most.
const LINES: u32 = 2000;
/// How much text is given at once.
const TEXT: usize = 128 * 1024;
/// How much of one line is given.
const LINE: usize = 2000;
/// A NUL byte in this much of the beginning tells a binary file.
const SNIFFED: usize = 8 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadTool {
    /// The file, relative to the working folder.
    path: String,
    /// The first line to read, counted from 1.
    offset: Option<u64>,
    /// How many lines to read, at most 2000.
    limit: Option<u32>,
}

pub(super) const ABOUT: &str = "Reads a text file of the working folder. Each line is shown with its number. Long files are read in parts with offset and limit.";

/// `attached` are files outside of the folder that can be read as well, by exactly these paths.
pub(super) fn read(
    folder: &WorkFolder,
    attached: &[PathBuf],
    input: &ReadTool,
) -> Result<ToolReply, ToolFault> {
    let (file, length, shown) = match attached.iter().find(|path| **path == Path::new(&input.path))
    {
        Some(path) => {
            let shown = path.display().to_string();
            let file =
                untrusted::open(path).map_err(|unfit| ToolFault::Other(unfit.to_string()))?;
            let stat = fstat(&file).map_err(|errno| ToolFault::of(&shown, errno))?;
            (file, size(&stat), shown)
        }
        None => {
            let place = folder.place(&input.path)?;
            let (file, stat) = folder.file(&place, Links::Follow)?;
            (file, size(&stat), place.to_string())
        }
    };
    if length > MAX_READ_FILE_BYTES {
        let instead = "use run_command with head, tail or sed -n to see a part of it";
        return Err(ToolFault::too_big(&shown, length, MAX_READ_FILE_BYTES, instead));
    }
    let fault = |error: std::io::Error| ToolFault::of(&shown, errno_of(&error));
    // What grows while it is read is read to the bound and no further.
    let mut reader = BufReader::with_capacity(64 * 1024, file.take(MAX_READ_FILE_BYTES));
    let beginning = reader.fill_buf().map_err(fault)?;
    if memchr::memchr(0, &beginning[..beginning.len().min(SNIFFED)]).is_some() {
        return Err(ToolFault::Binary { path: shown, size: length });
    }
    let first = input.offset.unwrap_or(1).max(1);
    let most = input.limit.unwrap_or(LINES).clamp(1, LINES);
    let mut page = Page::default();
    let mut number = 0_u64;
    let mut more = false;
    let mut line = Vec::new();
    while let Some(length) = next_line(&mut reader, &mut line).map_err(fault)? {
        number += 1;
        if number < first {
            continue;
        }
        if page.lines == u64::from(most) || page.text.len() > TEXT {
            more = true;
            break;
        }
        page.push(number, &line, length);
    }
    if page.lines == 0 && number > 0 && first > number {
        return Err(ToolFault::Other(format!(
            "`{shown}` has {number} lines, so there is no line {first}; give a smaller offset"
        )));
    }
    let last = first + page.lines.saturating_sub(1);
    let mut text = match page.lines {
        0 => format!("{shown} is empty"),
        _ => page.text,
    };
    let mut notes = page.notes;
    if more {
        let size = bytes(length);
        notes.push(format!(
            "the file continues ({size} in total); read on with offset {}",
            last + 1
        ));
    }
    for note in &notes {
        text.push_str(&format!("[{note}]\n"));
    }
    let structured = json!({
        "path": shown,
        "first_line": first,
        "lines": page.lines,
        "size": length,
        "more": more,
    });
    Ok(ToolReply::done(text).with_structured(structured))
}

#[derive(Default)]
struct Page {
    text: String,
    lines: u64,
    notes: Vec<String>,
}

impl Page {
    fn push(&mut self, number: u64, line: &[u8], length: usize) {
        let line = match line.strip_suffix(b"\r") {
            None => line,
            Some(line) => {
                self.note("lines end in CR LF");
                line
            }
        };
        // A cut may fall into the middle of a character, which is no fault of the file.
        let (line, more) = match length > LINE {
            true => (&line[..whole(line)], format!("… [{length} bytes in this line]")),
            false => (line, String::new()),
        };
        let text = String::from_utf8_lossy(line);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.note("some bytes are not UTF-8 and are shown as �");
        }
        self.text.push_str(&format!("{number:>6}\t{text}{more}\n"));
        self.lines += 1;
    }

    fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|note| note == text) {
            self.notes.push(text.to_owned());
        }
    }
}

/// How much of the bytes is there without a character that is cut at the end.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

/// Reads a line, of which only the beginning is kept, and gives its whole length; `None` at the end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Option<usize>> {
    line.clear();
    let mut length = 0;
    let mut any = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(any.then_some(length));
        }
        any = true;
        let newline = memchr::memchr(b'\n', buffer);
        let part = &buffer[..newline.unwrap_or(buffer.len())];
        line.extend_from_slice(&part[..part.len().min(LINE.saturating_sub(line.len()))]);
        length += part.len();
        let used = part.len() + usize::from(newline.is_some());
        reader.consume(used);
        if newline.is_some() {
            return Ok(Some(length));
        }
    }
}
