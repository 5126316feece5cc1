//! `musher story …`: the pieces of work that people want.

mod add;
mod archive;
mod done;
mod edit;
mod export;
mod import;
mod list;
mod markdown;
mod reopen;
mod show;
mod wants;

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
    /// List stories, newest first.
    List(list::StoryListArgs),
    /// Show a story with its text and its runs.
    Show(show::StoryShowArgs),
    /// Change a story's title, text or what it asks for.
    Edit(edit::StoryEditArgs),
    /// Add the stories of Markdown files.
    Import(import::StoryImportArgs),
    /// Write stories as Markdown files.
    Export(export::StoryExportArgs),
    /// Mark a story as done.
    Done(done::Done),
    /// Reopen a story.
    Reopen(reopen::Reopen),
    /// Archive a story and free its worktrees; its branches are kept.
    Archive(archive::Archive),
}

impl StoryArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        match self.verb {
            StoryVerb::Add(add) => add.run().await,
            StoryVerb::List(list) => list.run().await,
            StoryVerb::Show(show) => show.run().await,
            StoryVerb::Edit(edit) => edit.run().await,
            StoryVerb::Import(import) => import.run().await,
            StoryVerb::Export(export) => export.run().await,
            StoryVerb::Done(done) => done.run().await,
            StoryVerb::Reopen(reopen) => reopen.run().await,
            StoryVerb::Archive(archive) => archive.run().await,
        }
    }
}
