//! Between the words of the core and the columns of the tables.

use rusqlite::types::Type;
use rusqlite::{Error, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use musher_core::pool::TextKey;
use musher_core::{BranchRef, RunId, StoryId, StorySpec};

/// A number that a table can hold; no real one is cut.
pub(super) fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A number that a table held.
pub(super) fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

pub(super) fn run_number(run: RunId) -> i64 {
    whole(run.number())
}

pub(super) fn run_id(number: i64) -> RunId {
    RunId::minted(count(number))
}

/// A value as JSON.
pub(super) fn json<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| Error::ToSqlConversionFailure(error.into()))
}

/// The word that an enum without data is written as.
pub(super) fn word<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    Ok(json(value)?.trim_matches('"').to_owned())
}

/// Reads what [`json`] wrote.
pub(super) fn parsed<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(unreadable)
}

/// Reads a column that [`json`] wrote.
pub(super) fn get_json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    parsed(&row.get::<_, String>(column)?)
}

/// The same for a column that may be empty.
pub(super) fn get_json_if_any<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| parsed(&text)).transpose()
}

/// Reads a column that holds an id or a word.
pub(super) fn get_word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(text.into()).map_err(unreadable)
}

/// The same for a column that may be empty.
pub(super) fn get_word_if_any<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_value(text.into()).map_err(unreadable)).transpose()
}

pub(super) fn get_run(row: &Row<'_>, column: &str) -> rusqlite::Result<RunId> {
    Ok(run_id(row.get(column)?))
}

/// The branch of a run. A branch stays as its story wanted it when it was made.
pub(super) fn get_branch(row: &Row<'_>, story: &StoryId) -> rusqlite::Result<Option<BranchRef>> {
    let n: Option<u32> = row.get("branch")?;
    let spec = get_spec(row)?;
    Ok(n.map(|n| BranchRef::of(story.clone(), n, &spec)))
}

/// What the story of a row asks for.
pub(super) fn get_spec(row: &Row<'_>) -> rusqlite::Result<StorySpec> {
    Ok(get_json_if_any(row, "spec")?.unwrap_or_default())
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::FromSqlConversionFailure(0, Type::Text, error.into())
}

/// Under what a text is kept.
pub(super) fn text_key(key: &TextKey) -> String {
    match key {
        TextKey::StoryTitle(story) => format!("story_title:{story}"),
        TextKey::StoryText(story) => format!("story_text:{story}"),
        TextKey::StoryContext(story) => format!("story_context:{story}"),
        TextKey::Prompt(run) => format!("prompt:{run}"),
        TextKey::Options(run) => format!("options:{run}"),
        TextKey::Message(command) => format!("message:{command}"),
        TextKey::Answer(command) => format!("answer:{command}"),
    }
}
