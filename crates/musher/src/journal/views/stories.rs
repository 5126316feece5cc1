//! Stories as people see them: with title, runs, open asks and cost.

use rusqlite::{OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use musher_core::pool::TextKey;
use musher_core::{
    AgentName, ErrorInfo, Outcome, RunId, RunPhaseKind, StoryId, StorySpec, Variables,
};

use super::{Filter, SpentView, spent};
use crate::journal::{JournalError, Views, lookup, rows};

/// How many letters of an error are shown with its story.
const MAX_ERROR_CHARS: usize = 300;

/// Where a story is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryPhase {
    Open,
    Done,
    Archived,
}

/// A story in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct StoryView {
    pub id: StoryId,
    /// Its place in the order in which stories were added.
    pub n: u64,
    /// Absent when it was erased.
    pub title: Option<String>,
    pub state: StoryPhase,
    /// The commit that its merge made.
    pub merged: Option<String>,
    pub runs: StoryRunsView,
    /// How many asks of its runs wait for a person.
    pub open_asks: u64,
    pub spent: SpentView,
    pub spec: StorySpec,
    /// Its newest run.
    pub latest: Option<LatestRun>,
    pub created_at: i64,
    pub updated_at: i64,
}

/// The newest run of a story: enough for a board, which then needs no list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestRun {
    pub run: RunId,
    pub agent: AgentName,
    pub phase: RunPhaseKind,
    pub outcome: Option<Outcome>,
    pub ended_at: Option<i64>,
    /// Why it failed, on one line.
    pub error: Option<String>,
    pub parked: bool,
    /// Whether it had a worktree, without which it can have changed nothing.
    pub begun: bool,
}

/// How many runs a story has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoryRunsView {
    pub all: u64,
    /// Those that are not over.
    pub live: u64,
}

/// A story with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct StoryWhole {
    pub story: StoryView,
    /// Absent when it was erased.
    pub text: Option<String>,
    /// What templates can use as `set.NAME`.
    pub context: Variables,
}

/// Which stories are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhichStories {
    /// Those that are not archived.
    #[default]
    Current,
    Archived,
    All,
}

/// Stories, narrowed down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoriesQuery {
    pub which: WhichStories,
    /// Where the page before ended.
    pub before: Option<u64>,
    pub limit: Option<u32>,
}

/// A page of stories, the newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct StoriesPage {
    pub stories: Vec<StoryView>,
    /// What to give as `before` for the next page.
    pub next: Option<u64>,
}

const SELECT: &str = "SELECT *,
    (SELECT count(*) FROM runs WHERE runs.story = stories.id) AS all_runs,
    (SELECT count(*) FROM runs WHERE runs.story = stories.id AND runs.phase <> 'over') AS live_runs,
    (SELECT count(*) FROM runs JOIN asks ON asks.run = runs.id
        WHERE runs.story = stories.id AND asks.state IN ('open', 'offered')) AS open_asks,
    (SELECT spec FROM story_specs WHERE story_specs.story = stories.id) AS spec
    FROM stories";

impl Views {
    pub fn stories(&self, query: &StoriesQuery) -> Result<StoriesPage, JournalError> {
        let mut filter = Filter::default();
        match query.which {
            WhichStories::Current => filter.only("state <> 'archived'"),
            WhichStories::Archived => filter.only("state = 'archived'"),
            WhichStories::All => {}
        }
        filter.compare("n <", query.before.map(rows::whole));
        let limit = super::page(query.limit);
        let sql = format!("{SELECT} {} ORDER BY n DESC LIMIT {limit}", filter.sql());
        self.read(|db| {
            let mut sql = db.prepare_cached(&sql)?;
            let found = sql.query_map(filter.values(), |row| read(db, row))?;
            let stories: Vec<_> = found.collect::<Result<_, _>>()?;
            let is_full = stories.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
            let next = stories.last().map(|story| story.n).filter(|_| is_full);
            Ok(StoriesPage { stories, next })
        })
    }

    pub fn story(&self, story: &StoryId) -> Result<Option<StoryWhole>, JournalError> {
        self.read(|db| {
            let sql = format!("{SELECT} WHERE id = ?1");
            let mut sql = db.prepare_cached(&sql)?;
            let found = sql.query_row([story.as_str()], |row| read(db, row)).optional()?;
            let Some(view) = found else { return Ok(None) };
            let text = lookup::text(db, &TextKey::StoryText(story.clone()))?;
            let context = lookup::text(db, &TextKey::StoryContext(story.clone()))?;
            let context = context.and_then(|kept| serde_json::from_str(&kept).ok());
            Ok(Some(StoryWhole { story: view, text, context: context.unwrap_or_default() }))
        })
    }
}

fn read(db: &Transaction<'_>, row: &Row<'_>) -> rusqlite::Result<StoryView> {
    let id: StoryId = rows::get_word(row, "id")?;
    let number = |name: &str| row.get(name).map(rows::count);
    Ok(StoryView {
        n: number("n")?,
        title: lookup::text(db, &TextKey::StoryTitle(id.clone()))?,
        state: rows::get_word(row, "state")?,
        merged: row.get("merged")?,
        runs: StoryRunsView { all: number("all_runs")?, live: number("live_runs")? },
        open_asks: number("open_asks")?,
        spent: spent::of_story(db, &id)?,
        spec: rows::get_spec(row)?,
        latest: latest(db, &id)?,
        id,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn latest(db: &Transaction<'_>, story: &StoryId) -> rusqlite::Result<Option<LatestRun>> {
    let sql = "SELECT id, agent, phase, outcome, ended_at, error, parked,
            head IS NOT NULL AND branch IS NOT NULL AS begun FROM runs
        WHERE story = ?1 ORDER BY id DESC LIMIT 1";
    let read = |row: &Row<'_>| {
        let error: Option<ErrorInfo> = rows::get_json_if_any(row, "error")?;
        Ok(LatestRun {
            run: rows::get_run(row, "id")?,
            agent: rows::get_word(row, "agent")?,
            phase: rows::get_word(row, "phase")?,
            outcome: rows::get_word_if_any(row, "outcome")?,
            ended_at: row.get("ended_at")?,
            error: error.map(|error| one_line(&error.message)),
            parked: row.get("parked")?,
            begun: row.get("begun")?,
        })
    };
    db.prepare_cached(sql)?.query_row([story.as_str()], read).optional()
}

/// The first line that says something, and not too much of it.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(MAX_ERROR_CHARS).collect()
}
