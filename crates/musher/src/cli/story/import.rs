//! `musher story import`: adds the stories of Markdown files, or changes those that are there already.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::super::place::PlaceArgs;
use super::super::{CliError, CliExit, out, words};
use super::markdown::StoryFile;
use musher_client::api::ApiPutStories;

#[derive(Debug, Args)]
pub(super) struct StoryImportArgs {
    /// Markdown files, one story each, or folders of them.
    #[arg(value_name = "FILE", required_unless_present = "lines")]
    files: Vec<PathBuf>,
    /// Add one story for each line of a file, with the line as its title; `-` reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    lines: Option<PathBuf>,
    /// Change stories that are there already; without it an import that would change one is refused.
    #[arg(long, conflicts_with = "lines")]
    update: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

impl StoryImportArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let stories = match &self.lines {
            Some(file) => of_lines(file)?,
            None => of_files(&self.files)?,
        };
        if stories.is_empty() {
            return Err(CliError::hinted("there is no story to import", "name Markdown files"));
        }
        let existing = match (&self.lines, self.update) {
            (Some(_), _) => "keep",
            (None, true) => "update",
            (None, false) => "refuse",
        };
        let body = json!({ "stories": stories, "existing": existing });
        let reply = place.client()?.put(&["stories"], &body).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let ApiPutStories { added, changed, unchanged } = reply.read()?;
        for (what, ids) in [("added", added), ("changed", changed), ("unchanged", unchanged)] {
            if !ids.is_empty() {
                out::hanging(&format!("{what}: {}", ids.join(", ")), 2)?;
            }
        }
        Ok(CliExit::Completed)
    }
}

fn of_lines(file: &Path) -> Result<Vec<StoryFile>, CliError> {
    let text = match file.as_os_str() == "-" {
        true => words::read("list", Some("-".into()), None)?,
        false => words::read("list", None, Some(file))?,
    };
    let titles = text.lines().map(str::trim).filter(|line| !line.is_empty());
    titles
        .map(|title| {
            StoryFile::of_title(title).ok_or_else(|| {
                let message = format!("no id can be made of the title `{title}`");
                CliError::hinted(message, "begin it with letters or digits")
            })
        })
        .collect()
}

fn of_files(files: &[PathBuf]) -> Result<Vec<StoryFile>, CliError> {
    let mut stories = Vec::new();
    for file in files {
        let found = if file.is_dir() { markdown_in(file)? } else { vec![file.clone()] };
        for file in found {
            stories.push(read(&file)?);
        }
    }
    Ok(stories)
}

/// A story in a file.
pub(super) fn read(file: &Path) -> Result<StoryFile, CliError> {
    let text = words::read("story", None, Some(file))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    StoryFile::read(&text, &stem)
        .map_err(|error| CliError::user(format!("{} is no story: {error}", file.display())))
}

/// The Markdown files of a folder, by name.
pub(super) fn markdown_in(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let unread = |error: std::io::Error| {
        CliError::user(format!("the folder `{}` cannot be read: {error}", folder.display()))
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
