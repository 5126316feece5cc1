//! Where the prompt comes from: the argument, a file, or standard input.

use std::path::Path;

use musher_core::Variables;

use super::super::{CliError, words};
use crate::config;

/// The prompt. It is a template if there are variables for it, and else said as it is.
pub(super) fn read(
    argument: Option<String>,
    file: Option<&Path>,
    set: &Variables,
) -> Result<String, CliError> {
    let prompt = words::read("prompt", argument, file)?;
    if set.is_empty() {
        return Ok(prompt);
    }
    config::fill_in(&prompt, set).map_err(|why| {
        let hint = "with --set the prompt is a template: correct it, or leave --set out";
        CliError::hinted(format!("the prompt cannot be filled in: {why}"), hint)
    })
}
