//! Asks as people see them: who asks, about which story, and what became of it.

use rusqlite::{OptionalExtension, Row};
use serde::{Deserialize, Serialize};

use musher_core::{AgentName, AskId, ClosedBy, CommandId, RunId, Sender, StoryId};

use super::Filter;
use crate::journal::{JournalError, Views, rows};

/// Where an ask is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskPhase {
    /// It waits for a person.
    Open,
    /// An answer is on its way.
    Offered,
    /// A person's answer counted.
    Answered,
    /// Something else closed it.
    Closed,
}

/// An ask. What it asks is told by the event `seq` of the run's log; the pool's own ask has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskView {
    pub run: RunId,
    pub ask: AskId,
    pub story: StoryId,
    pub agent: AgentName,
    pub seq: Option<u64>,
    pub state: AskPhase,
    /// What closed it.
    pub by: Option<ClosedBy>,
    /// The command that carries the answer.
    pub command: Option<CommandId>,
    pub opened_at: i64,
    pub closed_at: Option<i64>,
    /// Who sent that answer.
    pub from: Option<Sender>,
    /// The event that tells how it was closed.
    pub closed_seq: Option<u64>,
}

/// Which asks are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhichAsks {
    /// Those that are not closed.
    #[default]
    Open,
    All,
}

/// Asks, narrowed down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AsksQuery {
    pub which: WhichAsks,
    pub run: Option<RunId>,
    pub story: Option<StoryId>,
    pub limit: Option<u32>,
}

const SELECT: &str =
    "SELECT asks.*, runs.story, runs.agent, ask_ends.sender, ask_ends.seq AS closed_seq
    FROM asks JOIN runs ON runs.id = asks.run
    LEFT JOIN ask_ends ON ask_ends.run = asks.run AND ask_ends.ask = asks.ask";

impl Views {
    /// The asks, the oldest first; who has waited longest is answered first.
    pub fn asks(&self, query: &AsksQuery) -> Result<Vec<AskView>, JournalError> {
        let mut filter = Filter::default();
        match query.which {
            WhichAsks::Open => filter.only("asks.state IN ('open', 'offered')"),
            WhichAsks::All => {}
        }
        filter.compare("asks.run =", query.run.map(rows::run_number));
        filter.compare("runs.story =", query.story.clone().map(String::from));
        let sql = format!(
            "{SELECT} {}
                ORDER BY asks.opened_at, asks.run, asks.seq LIMIT {}",
            filter.sql(),
            super::page(query.limit)
        );
        self.read(|db| db.prepare_cached(&sql)?.query_map(filter.values(), read)?.collect())
    }

    pub fn ask(&self, run: RunId, ask: &AskId) -> Result<Option<AskView>, JournalError> {
        self.read(|db| {
            let sql = format!("{SELECT} WHERE asks.run = ?1 AND asks.ask = ?2");
            let mut sql = db.prepare_cached(&sql)?;
            sql.query_row((rows::run_number(run), ask.as_str()), read).optional()
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<AskView> {
    let seq: Option<i64> = row.get("seq")?;
    let closed_seq: Option<i64> = row.get("closed_seq")?;
    let from: Option<String> = row.get("sender")?;
    Ok(AskView {
        run: rows::get_run(row, "run")?,
        ask: rows::get_word(row, "ask")?,
        story: rows::get_word(row, "story")?,
        agent: rows::get_word(row, "agent")?,
        seq: seq.map(rows::count),
        state: rows::get_word(row, "state")?,
        by: rows::get_word_if_any(row, "by")?,
        command: rows::get_word_if_any(row, "command")?,
        opened_at: row.get("opened_at")?,
        closed_at: row.get("closed_at")?,
        // A newer build may name a sender that this one does not know.
        from: from.and_then(|from| serde_json::from_str(&from).ok()),
        closed_seq: closed_seq.map(rows::count),
    })
}
