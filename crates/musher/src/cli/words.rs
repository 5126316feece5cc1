//! Text that a person gives: as an argument, in a file, or on standard input.

use std::io::{IsTerminal, Read};
use std::path::Path;

use super::CliError;

/// The text from the first place that has it; `what` is what it is called in errors.
pub(crate) fn read(
    what: &str,
    argument: Option<String>,
    file: Option<&Path>,
) -> Result<String, CliError> {
    let bytes = match (argument, file) {
        (_, Some(file)) => std::fs::read(file).map_err(|error| {
            CliError::user(format!("the {what} file `{}` cannot be read: {error}", file.display()))
        })?,
        (Some(text), None) if text != "-" => return Ok(text),
        (dash, None) => {
            let mut stdin = std::io::stdin();
            if dash.is_none() && stdin.is_terminal() {
                return Err(CliError::hinted(
                    format!("there is no {what}"),
                    "give it as an argument, with --file FILE, or on standard input",
                ));
            }
            let mut bytes = Vec::new();
            stdin.read_to_end(&mut bytes).map_err(|error| {
                CliError::user(format!("the {what} cannot be read from standard input: {error}"))
            })?;
            bytes
        }
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::hinted(format!("the {what} is not UTF-8 text (byte {at})"), "convert it to UTF-8")
    })
}
