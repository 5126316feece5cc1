//! A batch: everything that the pool decides in one go, written in one transaction.

use std::path::Path;

use rusqlite::{Transaction, named_params, params};

use musher_core::pool::{CommandReply, Fact, Refusal, STATE_VERSION, State, TextKey};
use musher_core::{Actor, AgentName, AskId, CommandId, PastRun, RunId, StoryId};

use super::identity::JournalIdentity;
use super::lookup::{self, KEPT_MS};
use super::mark::GivenNumbers;
use super::place::JournalFiles;
use super::{JournalError, KeptCommand, PastAsk, format, project, rows};

/// How many facts are folded at most when the server begins, and a batch more.
const FACTS_PER_SNAPSHOT: u64 = 10_000;
/// The one before the last is kept in case that the last cannot be read.
const SNAPSHOTS_KEPT: u32 = 2;

/// What the pool decided about one input.
#[derive(Debug, Default)]
pub struct DecidedStep {
    /// When it was decided, Unix milliseconds.
    pub at: i64,
    /// Who caused it.
    pub by: Option<Actor>,
    pub facts: Vec<Fact>,
    pub texts: Vec<(TextKey, String)>,
    /// The reply to keep for those who send the same command again.
    pub kept: Option<KeptReply>,
    /// The last word on commands that were offered before.
    pub settled: Vec<(CommandId, Result<CommandReply, Refusal>)>,
}

/// A reply that is kept under its sender's key.
#[derive(Debug, Clone)]
pub struct KeptReply {
    pub key: String,
    pub request_hash: String,
    pub command: CommandId,
    pub reply: Result<CommandReply, Refusal>,
}

/// One transaction. It sees what it has written itself; dropped without a commit, it never was.
#[derive(Debug)]
pub struct JournalBatch<'journal> {
    pub(super) transaction: Transaction<'journal>,
    pub(super) path: &'journal Path,
    /// The last fact of the journal, of which the batch makes a new one.
    pub(super) committed: &'journal mut u64,
    pub(super) snapshot: &'journal mut u64,
    pub(super) last: u64,
    /// The format that the journal needs, and the one that it needs with this batch.
    pub(super) needed: &'journal mut u32,
    pub(super) format: u32,
    pub(super) identity: &'journal JournalIdentity,
    pub(super) place: &'journal JournalFiles,
}

impl JournalBatch<'_> {
    /// Writes what was decided about one input.
    pub fn write(&mut self, step: &DecidedStep) -> Result<(), JournalError> {
        let path = self.path;
        let mut write = || -> rusqlite::Result<()> {
            let by = match &step.by {
                Some(by) if !step.facts.is_empty() => Some(rows::json(by)?),
                Some(_) | None => None,
            };
            for fact in &step.facts {
                self.last += 1;
                let sql = "INSERT INTO facts (id, at, body, actor) VALUES (?1, ?2, ?3, ?4)";
                self.run(sql, params![rows::whole(self.last), step.at, rows::json(fact)?, by])?;
                project::project(&self.transaction, self.last, step.at, fact)?;
                if fact.format() > self.format {
                    self.format = fact.format();
                    format::raise(&self.transaction, self.format)?;
                }
            }
            for (key, body) in &step.texts {
                let sql = "INSERT OR REPLACE INTO texts (key, body) VALUES (?1, ?2)";
                self.run(sql, params![rows::text_key(key), body])?;
            }
            if let Some(kept) = &step.kept {
                self.keep(step.at, kept)?;
            }
            for (command, reply) in &step.settled {
                let sql = "UPDATE idempotency SET reply = ?2, settled = 1
                    WHERE command = ?1 AND settled = 0";
                self.run(sql, params![command.as_str(), rows::json(reply)?])?;
            }
            Ok(())
        };
        write().map_err(JournalError::database(path, "write"))
    }

    fn keep(&self, at: i64, kept: &KeptReply) -> rusqlite::Result<()> {
        forget(&self.transaction, at)?;
        let sql =
            "INSERT OR REPLACE INTO idempotency (key, request_hash, command, reply, settled, at)
            VALUES (:key, :hash, :command, :reply, :settled, :at)";
        let named = named_params! {
            ":key": kept.key,
            ":hash": kept.request_hash,
            ":command": kept.command.as_str(),
            ":reply": rows::json(&kept.reply)?,
            ":settled": kept.reply != Ok(CommandReply::Offered),
            ":at": at,
        };
        self.run(sql, named)
    }

    fn run(&self, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.transaction.prepare_cached(sql)?.execute(params).map(|_| ())
    }

    /// Makes everything durable, with a snapshot of the state if one is due, and returns the number of the last fact.
    pub fn commit(self, state: &State) -> Result<u64, JournalError> {
        let Self { transaction, path, committed, snapshot, last, needed, format, identity, place } =
            self;
        let due = last.saturating_sub(*snapshot) >= FACTS_PER_SNAPSHOT;
        let commit = || {
            if due {
                write_snapshot(&transaction, last, state)?;
            }
            transaction.commit()
        };
        commit().map_err(JournalError::database(path, "write"))?;
        place.check()?;
        identity.advance(GivenNumbers { fact: last, run: state.last_run, story: state.last_story });
        if due {
            *snapshot = last;
        }
        (*committed, *needed) = (last, format);
        Ok(last)
    }

    /// A run that is over.
    pub fn past(&self, run: RunId) -> Result<Option<PastRun>, JournalError> {
        self.read(lookup::past(&self.transaction, run))
    }

    /// The last run of a story that is over, of this agent if one is named.
    pub fn latest_past(
        &self,
        story: &StoryId,
        agent: Option<&AgentName>,
    ) -> Result<Option<PastRun>, JournalError> {
        self.read(lookup::latest_past(&self.transaction, story, agent))
    }

    /// What became of an ask that was closed.
    pub fn past_ask(&self, run: RunId, ask: &AskId) -> Result<Option<PastAsk>, JournalError> {
        self.read(lookup::past_ask(&self.transaction, run, ask))
    }

    /// What was replied to the command with this key.
    pub fn kept(&self, key: &str, now: i64) -> Result<Option<KeptCommand>, JournalError> {
        self.read(lookup::kept(&self.transaction, key, now))
    }

    fn read<T>(&self, result: rusqlite::Result<T>) -> Result<T, JournalError> {
        result.map_err(JournalError::database(self.path, "read"))
    }
}

/// Forgets replies that were kept long enough. One that is not settled is kept until it is.
pub(super) fn forget(db: &rusqlite::Connection, now: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM idempotency WHERE settled = 1 AND at <= ?1";
    db.prepare_cached(sql)?.execute([now.saturating_sub(KEPT_MS)]).map(|_| ())
}

fn write_snapshot(db: &Transaction<'_>, fact: u64, state: &State) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO snapshots (fact, version, state) VALUES (?1, ?2, ?3)";
    db.execute(sql, params![rows::whole(fact), STATE_VERSION, rows::json(state)?])?;
    let sql = "DELETE FROM snapshots WHERE fact NOT IN
        (SELECT fact FROM snapshots ORDER BY fact DESC LIMIT ?1)";
    db.execute(sql, [SNAPSHOTS_KEPT]).map(|_| ())
}
