//! `musher story …`: the pieces of work that people want.

mod add;
mod archive;
mod done;
mod edit;
mod list;
mod reopen;
mod show;

use clap::{Args, Subcommand};

use super::{CliError, CliExit};

#[derive(Debug, Args)]
pub(crate) struct StoryArgs {
    #[command(subcommand)]
    verb: StoryVerb,
}

#[derive(Debug, Subcommand)]
enum StoryVerb {
    /// Add a story.
    Add(add::StoryAddArgs),
    /// The stories, the newest first.
    List(list::StoryListArgs),
    /// A story with its text and its runs.
    Show(show::StoryShowArgs),
    /// Change a story's title or text.
    Edit(edit::StoryEditArgs),
    /// Say that a story is done.
    Done(done::Done),
    /// Say that a story is not done after all.
    Reopen(reopen::Reopen),
    /// Put a story away for good and free its worktrees; its work stays on its branches.
    Archive(archive::Archive),
}

impl StoryArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        match self.verb {
            StoryVerb::Add(add) => add.run().await,
            StoryVerb::List(list) => list.run().await,
            StoryVerb::Show(show) => show.run().await,
            StoryVerb::Edit(edit) => edit.run().await,
            StoryVerb::Done(done) => done.run().await,
            StoryVerb::Reopen(reopen) => reopen.run().await,
            StoryVerb::Archive(archive) => archive.run().await,
        }
    }
}
