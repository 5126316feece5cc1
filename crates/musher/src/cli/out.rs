//! Standard output: lines for people, documents for programs.

use std::io::Write;

use super::text::wrapped;
use super::{CliError, terminal};

/// Prints a line for people; colours are dropped where they would not be seen.
pub(crate) fn line(text: &str) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(CliError::Output)
}

/// Prints sentences for people, in lines that fit the terminal.
pub(crate) fn prose(text: &str) -> Result<(), CliError> {
    hanging(text, 0)
}

/// The same; what does not fit into a line goes on this far in.
pub(crate) fn hanging(text: &str, hang: usize) -> Result<(), CliError> {
    match terminal::seen_width(std::io::stdout()) {
        Some(width) => line(&wrapped(text, width, hang)),
        None => line(text),
    }
}

/// Prints one JSON document on a line of its own.
pub(crate) fn document(json: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", json.trim_end()).and_then(|()| out.flush()).map_err(CliError::Output)
}
