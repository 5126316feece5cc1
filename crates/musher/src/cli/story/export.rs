//! `musher story export`: stories as Markdown files that can be imported again.

use std::path::PathBuf;

use clap::Args;
use musher_core::StoryId;

use super::super::place::PlaceArgs;
use super::super::{CliError, CliExit, out};
use super::markdown::StoryFile;
use crate::home::write_whole;
use musher_client::Client;
use musher_client::api::{ApiStoryWhole, Stories};

#[derive(Debug, Args)]
pub(super) struct StoryExportArgs {
    /// The stories; one alone is printed.
    #[arg(value_name = "STORY", required_unless_present = "all")]
    stories: Vec<StoryId>,
    /// All stories that are not archived.
    #[arg(long, conflicts_with = "stories", requires = "to")]
    all: bool,
    /// Write a file for each story into this folder.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl StoryExportArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let ids = match self.all {
            true => all(&client).await?,
            false => self.stories.iter().map(ToString::to_string).collect(),
        };
        if ids.len() > 1 && self.to.is_none() {
            return Err(CliError::hinted(
                "several stories need a folder",
                "name it with `--to DIR`",
            ));
        }
        for id in &ids {
            // It becomes a path.
            let id = StoryId::parse(id).map_err(|error| CliError::user(error.to_string()))?;
            let story: ApiStoryWhole = client.read(&["stories", id.as_str()], &[]).await?;
            let file = StoryFile::from(story).written();
            let file = file.map_err(|error| CliError::user(format!("story {id}: {error}")))?;
            match &self.to {
                None => out::document(&file)?,
                Some(folder) => {
                    let path = folder.join(format!("{id}.md"));
                    let written = std::fs::create_dir_all(folder)
                        .and_then(|()| write_whole(&path, file.as_bytes()));
                    written.map_err(|error| {
                        CliError::user(format!("{} cannot be written: {error}", path.display()))
                    })?;
                }
            }
        }
        if let Some(folder) = &self.to {
            out::line(&format!("{} stories are in {}", ids.len(), folder.display()))?;
        }
        Ok(CliExit::Completed)
    }
}

async fn all(client: &Client) -> Result<Vec<String>, CliError> {
    let (mut ids, mut before) = (Vec::new(), None);
    loop {
        let mut query = vec![("limit", "1000")];
        query.extend(before.as_deref().map(|before| ("before", before)));
        let page: Stories = client.read(&["stories"], &query).await?;
        ids.extend(page.stories.into_iter().map(|story| story.id));
        match page.next {
            Some(next) => before = Some(next.to_string()),
            None => return Ok(ids),
        }
    }
}
