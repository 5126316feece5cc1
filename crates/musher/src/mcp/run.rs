//! The scope of one run: its own story, plan, progress, questions to the person, and summary; and nothing of any other.

mod own;
mod story;

pub use own::Own;
pub use story::RunStory;

/// What a model is told of these tools as a whole.
pub const INSTRUCTIONS: &str = "\
These tools are about the work that you were given. `story` tells what is wanted. Keep your `plan` up to date, and say \
with `report_progress` what a person should know on the way. When only a person can decide, use `ask_person` and wait for the \
answer. When the work is done, call `finish` with a summary.";
