//! Where the prompt comes from: the argument, a file, or standard input.

use std::path::Path;

use super::super::{CliError, words};

pub(super) fn read(argument: Option<String>, file: Option<&Path>) -> Result<String, CliError> {
    words::read("prompt", argument, file)
}
