//! Two ways to show a session: for people and for programs.

mod json;
mod people;

use std::io;

use musher_runtime::SessionOutput;

pub(crate) use json::JsonRenderer;
pub(crate) use people::People;

/// Shows what a session says.
pub(crate) trait View: Send {
    /// Shows one output; `asking` tells that a person is being asked something.
    fn show(&mut self, output: &SessionOutput, asking: bool) -> io::Result<()>;

    /// Puts a question to the person.
    fn ask(&mut self, text: &str);

    /// Tells the person something about the command itself.
    fn say(&mut self, text: &str);
}
