//! What the pool looks up while it decides: runs that are over, closed asks, texts, and commands that were sent before.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use musher_core::pool::{CommandReply, Refusal, TextKey};
use musher_core::{AgentName, AskId, ClosedBy, CommandId, PastRun, RunId, SlotId, StoryId};

use super::rows;

/// How long the reply to a command is kept for those who send it again.
pub(super) const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// A command that came with a key, and what was replied to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCommand {
    pub request_hash: String,
    pub command: CommandId,
    /// [`CommandReply::Offered`] until the last word on it is spoken.
    pub reply: Result<CommandReply, Refusal>,
}

/// What became of an ask that is no longer in the pool's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastAsk {
    Answered,
    Closed(ClosedBy),
}

/// A run that is over.
pub(super) fn past(db: &Connection, run: RunId) -> rusqlite::Result<Option<PastRun>> {
    let sql = "SELECT * FROM runs WHERE id = ?1 AND phase = 'over'";
    db.prepare_cached(sql)?.query_row([rows::run_number(run)], past_run).optional()
}

/// The last run of a story that is over, of this agent if one is named.
pub(super) fn latest_past(
    db: &Connection,
    story: &StoryId,
    agent: Option<&AgentName>,
) -> rusqlite::Result<Option<PastRun>> {
    let sql =
        "SELECT * FROM runs WHERE story = ?1 AND (?2 IS NULL OR agent = ?2) AND phase = 'over'
        ORDER BY id DESC LIMIT 1";
    let agent = agent.map(AgentName::as_str);
    db.prepare_cached(sql)?.query_row(params![story.as_str(), agent], past_run).optional()
}

fn past_run(row: &Row<'_>) -> rusqlite::Result<PastRun> {
    Ok(PastRun {
        run: rows::get_run(row, "id")?,
        story: rows::get_word(row, "story")?,
        agent: rows::get_word(row, "agent")?,
        model: row.get("model")?,
        words: rows::get_json(row, "words")?,
        session: rows::get_word_if_any(row, "session")?,
        slot: row.get::<_, Option<u32>>("slot")?.map(SlotId),
        outcome: rows::get_word(row, "outcome")?,
    })
}

/// An ask that was closed.
pub(super) fn past_ask(
    db: &Connection,
    run: RunId,
    ask: &AskId,
) -> rusqlite::Result<Option<PastAsk>> {
    let sql = "SELECT state, by FROM asks WHERE run = ?1 AND ask = ?2";
    let read = |row: &Row<'_>| {
        let state: String = row.get("state")?;
        Ok((state, rows::get_word_if_any(row, "by")?))
    };
    let found = db
        .prepare_cached(sql)?
        .query_row(params![rows::run_number(run), ask.as_str()], read)
        .optional()?;
    Ok(found.and_then(|(state, by)| match (state.as_str(), by) {
        ("answered", _) => Some(PastAsk::Answered),
        ("closed", by) => by.map(PastAsk::Closed),
        (_, _) => None,
    }))
}

pub(super) fn text(db: &Connection, key: &TextKey) -> rusqlite::Result<Option<String>> {
    let mut found = db.prepare_cached("SELECT body FROM texts WHERE key = ?1")?;
    found.query_row([rows::text_key(key)], |row| row.get(0)).optional()
}

/// What was replied to the command with this key, unless that was too long ago.
pub(super) fn kept(db: &Connection, key: &str, now: i64) -> rusqlite::Result<Option<KeptCommand>> {
    let sql = "SELECT request_hash, command, reply FROM idempotency
        WHERE key = :key AND (settled = 0 OR at > :since)";
    let read = |row: &Row<'_>| {
        Ok(KeptCommand {
            request_hash: row.get("request_hash")?,
            command: rows::get_word(row, "command")?,
            reply: rows::get_json(row, "reply")?,
        })
    };
    let since = now.saturating_sub(KEPT_MS);
    let named = named_params! {":key": key, ":since": since};
    db.prepare_cached(sql)?.query_row(named, read).optional()
}
