//! `musher story add`: adds a story.

use std::path::{Path, PathBuf};

use clap::Args;
use musher_core::StoryId;
use serde_json::{Map, Value as Json, json};

use super::super::place::PlaceArgs;
use super::super::run_options::{variable, variables};
use super::super::{CliError, CliExit, receipt, words};
use super::import::{markdown_in, read};
use super::wants::StoryWantsArgs;

/// Where templates are, as seen from the repository.
const TEMPLATES: &str = ".musher/stories";

#[derive(Debug, Args)]
pub(super) struct StoryAddArgs {
    /// The title, in one line.
    title: String,
    /// `-` reads the text from standard input.
    #[arg(value_name = "-", value_parser = ["-"], conflicts_with_all = ["text", "file"])]
    dash: Option<String>,
    /// The description.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// Read the text from a file.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Its id; the next free one if left out.
    #[arg(long, value_name = "ID")]
    id: Option<StoryId>,
    /// A value for `{{ set.KEY }}` in the prompts of agents; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    context: Vec<(String, String)>,
    /// Begin with a template: a file NAME.md in `.musher/stories`.
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    #[command(flatten)]
    wants: StoryWantsArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

impl StoryAddArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let given = self.dash.or(self.text);
        let mut body = match &self.template {
            Some(name) => template(&place.repo()?, name)?,
            None => Map::new(),
        };
        body.insert("title".into(), json!(self.title));
        if given.is_some() || self.file.is_some() {
            let text = words::read("text", given, self.file.as_deref())?;
            body.insert("text".into(), json!(text));
        }
        if let Some(id) = &self.id {
            body.insert("id".into(), json!(id));
        }
        let context = variables(self.context)?;
        if !context.is_empty() {
            body.insert("context".into(), json!(context));
        }
        body.extend(self.wants.fields().map_err(CliError::user)?);
        let reply = place.client()?.post(&["stories"], &Json::Object(body)).await?;
        receipt::told(&place, &reply, "the story is added")
    }
}

/// What a template says, without a title and an id.
fn template(repo: &Path, name: &str) -> Result<Map<String, Json>, CliError> {
    let folder = repo.join(TEMPLATES);
    let known = if folder.is_dir() { markdown_in(&folder)? } else { Vec::new() };
    let is_it = |file: &&PathBuf| file.file_stem().is_some_and(|stem| stem == name);
    let Some(file) = known.iter().find(is_it) else {
        let names = known.iter().filter_map(|file| file.file_stem());
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        let hint = match names.is_empty() {
            true => format!("write one as {TEMPLATES}/{name}.md"),
            false => format!("there are: {}", names.join(", ")),
        };
        return Err(CliError::hinted(format!("there is no template `{name}`"), &hint));
    };
    let story = serde_json::to_value(read(file)?).map_err(|e| CliError::user(e.to_string()))?;
    let Json::Object(mut fields) = story else { return Ok(Map::new()) };
    fields.remove("id");
    Ok(fields)
}
