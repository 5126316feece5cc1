//! Standard output: lines for people, documents for programs.

use std::io::Write;

use super::CliError;

/// Prints a line for people; colours are dropped where they would not be seen.
pub(crate) fn line(text: &str) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(CliError::Output)
}

/// Prints one JSON document on a line of its own.
pub(crate) fn document(json: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", json.trim_end()).and_then(|()| out.flush()).map_err(CliError::Output)
}
