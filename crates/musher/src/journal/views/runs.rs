//! Runs as people see them, those that are not over first.

use rusqlite::{OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use musher_core::pool::TextKey;
use musher_core::{
    AgentName, EndRequest, ErrorInfo, FirstPrompt, Outcome, RunId, RunLine, RunPhaseKind,
    SessionId, SlotId, StoryId, Wait,
};

use super::{Filter, SpentView, spent};
use crate::journal::{JournalError, Views, lookup, rows};

/// How many letters of a prompt are shown.
const PROMPT_HEAD: usize = 200;

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    pub id: RunId,
    pub story: StoryId,
    pub agent: AgentName,
    /// The title of the story; absent when it was erased.
    pub title: Option<String>,
    pub model: Option<String>,
    /// `fresh`, `retry`, `resume`, `fork` or `restart`.
    pub kind: String,
    /// The run that it follows.
    pub of: Option<RunId>,
    /// `main`, or `fork` if it stands beside the agent's run.
    pub line: RunLine,
    /// `queued`, `preparing`, `starting`, `live`, `closing`, `finishing` or `over`.
    pub phase: RunPhaseKind,
    /// `stop` or `kill`, if a person wants it to end.
    pub wish: Option<EndRequest>,
    pub slot: Option<SlotId>,
    /// The branch that it works on.
    pub branch: Option<String>,
    /// The branch that its work is merged into, if not the project's own.
    pub base: Option<String>,
    /// The commit that it began at.
    pub head: Option<String>,
    pub session: Option<SessionId>,
    pub outcome: Option<Outcome>,
    pub error: Option<ErrorInfo>,
    /// Why it has not begun, beside that all places are taken; it is told as its note.
    pub wait: Option<RunWait>,
    /// The commit in which its uncommitted work was kept.
    pub commit: Option<String>,
    /// Why its uncommitted work could not be kept.
    pub finish_error: Option<String>,
    /// Whether it was lost too often and a person is asked.
    pub parked: bool,
    /// How many of its asks wait for a person.
    pub open_asks: u64,
    pub spent: SpentView,
    /// The head of the words that it began with, where they were a person's own and not the story's.
    pub prompt: Option<String>,
    pub queued_at: i64,
    pub prepared_at: Option<i64>,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
}

/// What is in the way of a run that has not begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunWait {
    /// Absent when an older build wrote it.
    #[serde(flatten)]
    pub wait: Option<Wait>,
    /// The same in words.
    #[serde(flatten)]
    pub words: ErrorInfo,
}

impl RunWait {
    /// The words, with what can be done about it.
    pub fn note(&self) -> String {
        match &self.words.hint {
            Some(hint) => format!("{}; {hint}", self.words.message),
            None => self.words.message.clone(),
        }
    }
}

/// Which runs are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhichRuns {
    /// Those that are not over, then page by page those that are.
    #[default]
    All,
    /// Those that are not over.
    Live,
}

/// Runs, narrowed down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunsQuery {
    pub which: WhichRuns,
    pub story: Option<StoryId>,
    pub agent: Option<AgentName>,
    /// Where the page before ended.
    pub before: Option<RunId>,
    /// How many ended runs.
    pub limit: Option<u32>,
}

/// A page of runs, the newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct RunsPage {
    pub runs: Vec<RunView>,
    /// What to give as `before` for the next page.
    pub next: Option<RunId>,
}

/// How many runs are at work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    pub all: u64,
    pub of_agent: u64,
    pub of_story: u64,
}

impl Views {
    /// How many runs have a slot: all, those of an agent and those on a story.
    pub fn busy(&self, agent: &AgentName, story: &StoryId) -> Result<Busy, JournalError> {
        let sql = "SELECT count(*), coalesce(sum(agent = ?1), 0), coalesce(sum(story = ?2), 0)
            FROM runs WHERE phase NOT IN ('queued', 'over')";
        self.read(|db| {
            db.prepare_cached(sql)?.query_row((agent.as_str(), story.as_str()), |row| {
                Ok(Busy {
                    all: rows::count(row.get(0)?),
                    of_agent: rows::count(row.get(1)?),
                    of_story: rows::count(row.get(2)?),
                })
            })
        })
    }

    /// The runs. Those that are not over are all on the first page.
    pub fn runs(&self, query: &RunsQuery) -> Result<RunsPage, JournalError> {
        self.read(|db| {
            let mut runs = match query.before {
                None => select(db, query, "phase <> 'over'", None)?,
                Some(_) => Vec::new(),
            };
            let limit = super::page(query.limit);
            let mut next = None;
            match query.which {
                WhichRuns::Live => {}
                WhichRuns::All => {
                    let over = select(db, query, "phase = 'over'", Some(limit))?;
                    let is_full = over.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
                    next = over.last().map(|run| run.id).filter(|_| is_full);
                    runs.extend(over);
                }
            }
            Ok(RunsPage { runs, next })
        })
    }

    pub fn run(&self, run: RunId) -> Result<Option<RunView>, JournalError> {
        self.read(|db| {
            let sql = format!("{SELECT} WHERE id = ?1");
            let mut sql = db.prepare_cached(&sql)?;
            sql.query_row([rows::run_number(run)], |row| read(db, row)).optional()
        })
    }

    /// The run that is meant by a story and an agent: the newest that is not over, else the newest.
    pub fn latest_run(
        &self,
        story: &StoryId,
        agent: Option<&AgentName>,
    ) -> Result<Option<RunView>, JournalError> {
        self.read(|db| {
            let sql = format!(
                "{SELECT} WHERE story = ?1 AND (?2 IS NULL OR agent = ?2)
                    ORDER BY phase = 'over', id DESC LIMIT 1"
            );
            let agent = agent.map(AgentName::as_str);
            let mut sql = db.prepare_cached(&sql)?;
            sql.query_row((story.as_str(), agent), |row| read(db, row)).optional()
        })
    }
}

const SELECT: &str = "SELECT *, (SELECT count(*) FROM asks
    WHERE asks.run = runs.id AND asks.state IN ('open', 'offered')) AS open_asks,
    (SELECT body FROM texts WHERE key = 'story_title:' || runs.story) AS title,
    (SELECT spec FROM story_specs WHERE story_specs.story = runs.story) AS spec FROM runs";

fn select(
    db: &Transaction<'_>,
    query: &RunsQuery,
    condition: &str,
    limit: Option<u32>,
) -> rusqlite::Result<Vec<RunView>> {
    let mut filter = Filter::default();
    filter.only(condition);
    filter.compare("story =", query.story.clone().map(String::from));
    filter.compare("agent =", query.agent.clone().map(String::from));
    filter.compare("id <", query.before.map(rows::run_number));
    // A negative limit is none.
    let limit = limit.map_or(-1, i64::from);
    let sql = format!("{SELECT} {} ORDER BY id DESC LIMIT {limit}", filter.sql());
    db.prepare_cached(&sql)?.query_map(filter.values(), |row| read(db, row))?.collect()
}

fn read(db: &Transaction<'_>, row: &Row<'_>) -> rusqlite::Result<RunView> {
    let id = rows::get_run(row, "id")?;
    let story = rows::get_word(row, "story")?;
    let of: Option<i64> = row.get("of")?;
    let phase: RunPhaseKind = rows::get_word(row, "phase")?;
    // What is in the way of a run that has not begun stands where its error would.
    let (wait, error) = if phase == RunPhaseKind::Queued {
        (rows::get_json_if_any(row, "error")?, None)
    } else {
        (None, rows::get_json_if_any(row, "error")?)
    };
    let branch = rows::get_branch(row, &story)?;
    Ok(RunView {
        id,
        base: branch.as_ref().and_then(|branch| branch.base.as_ref()).map(ToString::to_string),
        branch: branch.map(|branch| branch.to_string()),
        story,
        agent: rows::get_word(row, "agent")?,
        title: row.get("title")?,
        model: row.get("model")?,
        kind: row.get("kind")?,
        of: of.map(rows::run_id),
        line: rows::get_word(row, "line")?,
        phase,
        wish: rows::get_word_if_any(row, "wish")?,
        slot: row.get::<_, Option<u32>>("slot")?.map(SlotId),
        head: row.get("head")?,
        session: rows::get_word_if_any(row, "session")?,
        outcome: rows::get_word_if_any(row, "outcome")?,
        error,
        wait,
        commit: row.get("commit_")?,
        finish_error: row.get("finish_error")?,
        parked: row.get("parked")?,
        open_asks: rows::count(row.get("open_asks")?),
        spent: spent::of_run(db, id)?,
        prompt: prompt(db, row, id)?,
        queued_at: row.get("queued_at")?,
        prepared_at: row.get("prepared_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}

impl Views {
    /// The options that a run was started with, as they were written, or those of the run that it follows.
    pub fn options(&self, run: RunId) -> Result<Option<String>, JournalError> {
        let sql = "WITH RECURSIVE followed (id, of) AS (
                SELECT id, of FROM runs WHERE id = ?1
                UNION ALL SELECT runs.id, runs.of FROM runs JOIN followed ON runs.id = followed.of
            )
            SELECT body FROM followed JOIN texts ON texts.key = 'options:r' || followed.id
            ORDER BY followed.id DESC LIMIT 1";
        self.read(|db| {
            let mut sql = db.prepare_cached(sql)?;
            sql.query_row([rows::run_number(run)], |row| row.get(0)).optional()
        })
    }
}

fn prompt(db: &Transaction<'_>, row: &Row<'_>, run: RunId) -> rusqlite::Result<Option<String>> {
    let kept_under = match rows::get_json(row, "words")? {
        FirstPrompt::Own => run,
        FirstPrompt::Of { run } => run,
        FirstPrompt::Story | FirstPrompt::Continue => return Ok(None),
    };
    let text = lookup::text(db, &TextKey::Prompt(kept_under))?;
    Ok(text.map(|text| text.chars().take(PROMPT_HEAD).collect()))
}
