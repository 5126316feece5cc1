//! Writes a fact into the tables that are read: stories, runs, asks, usage.
//!
//! The tables follow `State::apply`; they also remember what is over.

use rusqlite::{Connection, named_params, params};

use musher_core::pool::{Fact, GrantStep, RESTART_ASK, UndeliveredCode};
use musher_core::{
    ClosedBy, ErrorClass, ErrorInfo, Outcome, RunId, RunKind, RunPlan, Sender, SessionId, Spend,
    StoryId, StorySpec, Tokens, Wait,
};

use super::rows;
use super::views::RunWait;

/// The tables, and the moment at which a fact was committed.
struct Tables<'a> {
    db: &'a Connection,
    at: i64,
}

/// Writes one fact into the tables.
pub(super) fn project(db: &Connection, id: u64, at: i64, fact: &Fact) -> rusqlite::Result<()> {
    let tables = Tables { db, at };
    match fact {
        Fact::StoryAdded { story } => tables.add_story(story),
        Fact::StoryEdited { story } => tables.touch(story),
        Fact::StorySpecSet { story, spec } => {
            tables.set_spec(story, spec)?;
            tables.touch(story)
        }
        Fact::StoryFinished { story } => tables.story(story, "done", None),
        Fact::StoryReopened { story } => tables.story(story, "open", None),
        Fact::StoryArchived { story } => tables.archive(story),
        Fact::StoryMerged { story, commit, .. } => tables.story(story, "done", Some(commit)),
        Fact::MergeStarted { .. } | Fact::MergeFailed { .. } => Ok(()),
        Fact::RunQueued { run, plan, .. } => tables.queue(*run, plan),
        // What is in the way of a run that has not begun stands where its error would.
        Fact::RunWaits { run, wait } => tables.run(
            "UPDATE runs SET error = ?2 WHERE id = ?1 AND phase = 'queued'",
            params![rows::run_number(*run), in_the_way(wait).as_ref().map(rows::json).transpose()?],
        ),
        Fact::RunPreparing { run, slot, branch, .. } => tables.run(
            "UPDATE runs SET phase = 'preparing', slot = ?2, branch = ?3, error = NULL WHERE id = ?1",
            params![rows::run_number(*run), slot.0, branch],
        ),
        Fact::RunPrepared { run, head } => tables.run(
            "UPDATE runs SET phase = 'starting', head = ?2, prepared_at = ?3 WHERE id = ?1",
            params![rows::run_number(*run), head, at],
        ),
        Fact::RunStarted { run } => tables.run(
            "UPDATE runs SET phase = 'live', started_at = ?2 WHERE id = ?1",
            params![rows::run_number(*run), at],
        ),
        Fact::RunnerLost { run } => tables.run(
            "UPDATE runs SET phase = 'closing' WHERE id = ?1",
            params![rows::run_number(*run)],
        ),
        Fact::RunEnded { run, outcome, error, session, seq, .. } => {
            if seq.is_none() {
                tables.end_without_a_log(id, *run)?;
            }
            tables.end(*run, *outcome, error.as_ref(), session.as_ref())
        }
        Fact::RunFinished { run, commit, error } => tables.run(
            "UPDATE runs SET phase = 'over', commit_ = ?2, finish_error = ?3 WHERE id = ?1",
            params![rows::run_number(*run), commit, error],
        ),
        Fact::RunParked { run, .. } => tables.park(*run),
        Fact::RunUnparked { run, command, from } => {
            tables.send(*run, RESTART_ASK, from.as_ref())?;
            tables.unpark(*run, command.as_ref().map(|command| command.as_str()))
        }
        Fact::SessionSeen { run, session, .. } => tables.run(
            "UPDATE runs SET session = ?2 WHERE id = ?1",
            params![rows::run_number(*run), session.as_str()],
        ),
        Fact::UsageCounted { run, seq, model, spend, cut, settles, .. } => {
            tables.count(id, *run, *seq, model.as_deref(), spend)?;
            tables.mark(id, spend, *cut, *settles)?;
            if *settles { tables.settle(id, *run) } else { Ok(()) }
        }
        Fact::AskOpened { run, seq, ask } => {
            tables.open_ask(*run, ask.as_str(), Some(rows::whole(*seq)))
        }
        Fact::AskClosed { run, seq, ask, by } => {
            let closed = params![rows::run_number(*run), ask.as_str(), rows::whole(*seq)];
            tables.run(
                "INSERT INTO ask_ends (run, ask, seq) VALUES (?1, ?2, ?3)
                    ON CONFLICT (run, ask) DO UPDATE SET seq = excluded.seq",
                closed,
            )?;
            tables.run(
                "UPDATE asks SET state = iif(state = 'answered', state, 'closed'), by = ?3,
                    closed_at = ?4 WHERE run = ?1 AND ask = ?2",
                params![rows::run_number(*run), ask.as_str(), rows::word(by)?, at],
            )
        }
        // Who has answered was told when the answer came.
        Fact::AnswerOffered { grant: Some(GrantStep::Saved), .. } => Ok(()),
        Fact::AnswerOffered { run, ask, command, from, .. } => {
            tables.send(*run, ask.as_str(), from.as_ref())?;
            tables.run(
                "UPDATE asks SET state = 'offered', command = ?3 WHERE run = ?1 AND ask = ?2",
                params![rows::run_number(*run), ask.as_str(), command.as_str()],
            )
        }
        Fact::AskAnswered { run, ask, command } => tables.run(
            "UPDATE asks SET state = 'answered', command = ?3, by = ?4, closed_at = ?5
                WHERE run = ?1 AND ask = ?2",
            params![
                rows::run_number(*run),
                ask.as_str(),
                command.as_str(),
                rows::word(&ClosedBy::Person)?,
                at
            ],
        ),
        Fact::AnswerRefused { run, ask, code, .. } => match code {
            UndeliveredCode::Unfit | UndeliveredCode::Failed => tables.run(
                "UPDATE asks SET state = 'open', command = NULL WHERE run = ?1 AND ask = ?2",
                params![rows::run_number(*run), ask.as_str()],
            ),
            // What closed it is told by the log; the answer did not.
            UndeliveredCode::AskClosed | UndeliveredCode::RunEnded => tables.run(
                "UPDATE asks SET command = NULL WHERE run = ?1 AND ask = ?2",
                params![rows::run_number(*run), ask.as_str()],
            ),
        },
        Fact::EndWished { run, wish, .. } => tables.run(
            "UPDATE runs SET wish = iif(wish = 'kill', wish, ?2) WHERE id = ?1",
            params![rows::run_number(*run), rows::word(wish)?],
        ),
        Fact::SetupDone { .. }
        | Fact::PromptOffered { .. }
        | Fact::SteerOffered { .. }
        | Fact::TakeBackOffered { .. }
        | Fact::InterruptOffered { .. }
        | Fact::ChangeOffered { .. }
        | Fact::CommandDelivered { .. }
        | Fact::CommandUndelivered { .. }
        | Fact::SlotReleased { .. } => Ok(()),
    }
}

impl Tables<'_> {
    fn run(&self, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute(params).map(|_| ())
    }

    fn add_story(&self, story: &StoryId) -> rusqlite::Result<()> {
        let sql =
            "INSERT INTO stories (id, state, created_at, updated_at) VALUES (?1, 'open', ?2, ?2)
            ON CONFLICT (id) DO NOTHING";
        self.run(sql, params![story.as_str(), self.at])
    }

    fn set_spec(&self, story: &StoryId, spec: &StorySpec) -> rusqlite::Result<()> {
        let sql = "INSERT INTO story_specs (story, spec) VALUES (?1, ?2)
            ON CONFLICT (story) DO UPDATE SET spec = excluded.spec";
        self.run(sql, params![story.as_str(), rows::json(spec)?])
    }

    fn touch(&self, story: &StoryId) -> rusqlite::Result<()> {
        let sql = "UPDATE stories SET updated_at = ?2 WHERE id = ?1";
        self.run(sql, params![story.as_str(), self.at])
    }

    fn story(&self, story: &StoryId, state: &str, merged: Option<&String>) -> rusqlite::Result<()> {
        let sql = "UPDATE stories SET state = ?2, merged = ?3, updated_at = ?4 WHERE id = ?1";
        self.run(sql, params![story.as_str(), state, merged, self.at])
    }

    /// An archived story still tells where it was merged; nothing is asked about it any more.
    fn archive(&self, story: &StoryId) -> rusqlite::Result<()> {
        let sql = "UPDATE stories SET state = 'archived', updated_at = ?2 WHERE id = ?1";
        self.run(sql, params![story.as_str(), self.at])?;
        let sql = "SELECT id FROM runs WHERE story = ?1 AND parked = 1";
        let mut parked = self.db.prepare_cached(sql)?;
        let parked = parked.query_map([story.as_str()], |row| rows::get_run(row, "id"))?;
        for run in parked.collect::<Result<Vec<_>, _>>()? {
            self.unpark(run, None)?;
        }
        Ok(())
    }

    fn queue(&self, run: RunId, plan: &RunPlan) -> rusqlite::Result<()> {
        let sql =
            "INSERT INTO runs (id, story, agent, model, kind, of, line, words, phase, queued_at)
            VALUES (:id, :story, :agent, :model, :kind, :of, :line, :words, 'queued', :at)
            ON CONFLICT (id) DO NOTHING";
        let named = named_params! {
            ":id": rows::run_number(run),
            ":story": plan.story.as_str(),
            ":agent": plan.agent.as_str(),
            ":model": plan.model,
            ":kind": kind(&plan.kind),
            ":of": plan.kind.of().map(rows::run_number),
            ":line": rows::word(&plan.line)?,
            ":words": rows::json(&plan.words)?,
            ":at": self.at,
        };
        self.run(sql, named)
    }

    /// A run that never was live has nothing to finish, so it is over.
    fn end(
        &self,
        run: RunId,
        outcome: Outcome,
        error: Option<&ErrorInfo>,
        session: Option<&SessionId>,
    ) -> rusqlite::Result<()> {
        let sql = "UPDATE runs SET
            phase = iif(phase IN ('live', 'closing', 'finishing'), 'finishing', 'over'),
            outcome = :outcome, error = :error, session = coalesce(:session, session), ended_at = :at
            WHERE id = :id";
        let id = rows::run_number(run);
        let named = named_params! {
            ":id": id,
            ":outcome": rows::word(&outcome)?,
            ":error": error.map(rows::json).transpose()?,
            ":session": session.map(SessionId::as_str),
            ":at": self.at,
        };
        self.run(sql, named)?;
        let sql = "UPDATE asks SET state = 'closed', by = ?2, closed_at = ?3
            WHERE run = ?1 AND state IN ('open', 'offered')";
        self.run(sql, params![id, rows::word(&ClosedBy::ProcessEnd)?, self.at])
    }

    fn park(&self, run: RunId) -> rusqlite::Result<()> {
        self.run("UPDATE runs SET parked = 1 WHERE id = ?1", params![rows::run_number(run)])?;
        self.open_ask(run, RESTART_ASK, None)
    }

    /// Only people unpark: they answer, or they do something else with the story.
    fn unpark(&self, run: RunId, command: Option<&str>) -> rusqlite::Result<()> {
        let id = rows::run_number(run);
        self.run("UPDATE runs SET parked = 0 WHERE id = ?1", params![id])?;
        let sql = "UPDATE asks SET state = iif(:command IS NULL, 'closed', 'answered'),
            command = :command, by = :by, closed_at = :at WHERE run = :run AND ask = :ask";
        let by = rows::word(&ClosedBy::Person)?;
        let at = self.at;
        let named = named_params! {":run": id, ":ask": RESTART_ASK, ":command": command, ":by": by, ":at": at};
        self.run(sql, named)
    }

    /// Keeps who has answered an ask; who tried before and was refused is forgotten.
    fn send(&self, run: RunId, ask: &str, from: Option<&Sender>) -> rusqlite::Result<()> {
        let sql = "INSERT INTO ask_ends (run, ask, sender) VALUES (?1, ?2, ?3)
            ON CONFLICT (run, ask) DO UPDATE SET sender = excluded.sender";
        let from = from.map(rows::json).transpose()?;
        self.run(sql, params![rows::run_number(run), ask, from])
    }

    fn open_ask(&self, run: RunId, ask: &str, seq: Option<i64>) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO asks (run, ask, seq, state, opened_at)
            VALUES (?1, ?2, ?3, 'open', ?4)";
        self.run(sql, params![rows::run_number(run), ask, seq, self.at])
    }

    /// A run that was begun and whose log does not tell its end has spent nobody knows what.
    fn end_without_a_log(&self, fact: u64, run: RunId) -> rusqlite::Result<()> {
        let sql = "SELECT phase IN ('live', 'closing') FROM runs WHERE id = ?1";
        let mut sql = self.db.prepare_cached(sql)?;
        let begun = sql.query_row([rows::run_number(run)], |row| row.get::<_, bool>(0));
        match begun {
            Ok(true) => {
                let unknown = Spend::unpriced(Tokens::default());
                self.count(fact, run, 0, None, &unknown)?;
                self.mark(fact, &unknown, true, false)
            }
            Ok(false) | Err(rusqlite::Error::QueryReturnedNoRows) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn mark(&self, fact: u64, spend: &Spend, cut: bool, settles: bool) -> rusqlite::Result<()> {
        let unknown = spend.cost_usd.is_none();
        if !(spend.estimated || cut || settles || unknown) {
            return Ok(());
        }
        let known = if unknown { spend.known_cost().dollars() } else { 0.0 };
        let sql = "INSERT INTO usage_marks (fact, estimated, cut, known_usd, settles)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        self.run(sql, params![rows::whole(fact), spend.estimated, cut, known, settles])
    }

    /// A total has told what the runs that this one follows had left for it.
    fn settle(&self, fact: u64, run: RunId) -> rusqlite::Result<()> {
        let sql = "WITH RECURSIVE before (run) AS (
                SELECT of FROM runs WHERE id = ?2 AND of IS NOT NULL
                UNION SELECT runs.of FROM runs JOIN before ON runs.id = before.run
                    WHERE runs.of IS NOT NULL)
            UPDATE usage_marks SET settled_by = ?1 WHERE cut = 0 AND settled_by IS NULL AND fact IN
                (SELECT fact FROM usage WHERE cost_usd IS NULL AND run IN (SELECT run FROM before))";
        self.run(sql, params![rows::whole(fact), rows::run_number(run)])
    }

    fn count(
        &self,
        fact: u64,
        run: RunId,
        seq: u64,
        model: Option<&str>,
        spend: &Spend,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO usage (fact, run, seq, at, model, input, cache_read, cache_write_5m,
                cache_write_1h, cache_write_other, output, reasoning, cost_usd)
            VALUES (:fact, :run, :seq, :at, :model, :input, :cache_read, :cache_write_5m,
                :cache_write_1h, :cache_write_other, :output, :reasoning, :cost_usd)";
        let tokens = &spend.tokens;
        let named = named_params! {
            ":fact": rows::whole(fact),
            ":run": rows::run_number(run),
            ":seq": rows::whole(seq),
            ":at": self.at,
            ":model": model,
            ":input": rows::whole(tokens.input),
            ":cache_read": rows::whole(tokens.cache_read),
            ":cache_write_5m": rows::whole(tokens.cache_write_5m),
            ":cache_write_1h": rows::whole(tokens.cache_write_1h),
            ":cache_write_other": rows::whole(tokens.cache_write_other),
            ":output": rows::whole(tokens.output),
            ":reasoning": rows::whole(tokens.reasoning),
            ":cost_usd": spend.cost_usd.map(|cost| cost.dollars()),
        };
        self.run(sql, named)
    }
}

/// What keeps a run from beginning, beside that all places are taken.
fn in_the_way(wait: &Wait) -> Option<RunWait> {
    let words = match wait {
        Wait::Place => return None,
        Wait::DayCap { cap } => {
            let message = format!("the cap of {cap} for today is reached");
            let hint = "raise it with `musher cap USD`, or wait for the next day (UTC); what runs of unknown cost may have spent counts too";
            ErrorInfo::new(ErrorClass::Budget, message).with_hint(hint)
        }
        Wait::After { story } => {
            let message = format!("story {story} must be done first");
            let hint =
                "wait for it, or change what the story comes after (`musher story edit --after`)";
            ErrorInfo::new(ErrorClass::Config, message).with_hint(hint)
        }
        Wait::AfterArchived { story } => {
            let message = format!("story {story} was archived before it was done");
            let hint = "change what the story comes after (`musher story edit --after`)";
            ErrorInfo::new(ErrorClass::Config, message).with_hint(hint)
        }
        Wait::StoryBudget { cap } => {
            let message =
                format!("the budget of {cap} for the story is spent, or reserved by its runs");
            let hint = "raise it with `musher story edit --budget USD`; what runs of unknown cost may have spent counts too";
            ErrorInfo::new(ErrorClass::Budget, message).with_hint(hint)
        }
    };
    Some(RunWait { wait: Some(wait.clone()), words })
}

fn kind(kind: &RunKind) -> &'static str {
    match kind {
        RunKind::Fresh => "fresh",
        RunKind::Retry { .. } => "retry",
        RunKind::Resume { .. } => "resume",
        RunKind::Fork { .. } => "fork",
        RunKind::Restart { .. } => "restart",
    }
}
