//! What was spent, by run, story, agent, model or day.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Params, Row, Transaction};
use serde::{Deserialize, Serialize};

use musher_core::{Ledger, Lineage, RunId, SessionId, Spend, StoryId, Tokens, Usd};

use crate::journal::{JournalError, Views, rows};

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const DISORDER_MS: i64 = 2 * 60 * 60 * 1000;
/// What [`spend`] reads, by place: there may be a row for each call of a model, and to find columns by name takes most of
/// the time.
const SPEND: &str = "input, cache_read, cache_write_5m, cache_write_1h, cache_write_other, output, \
     reasoning, cost_usd, usage.fact, estimated, cut, known_usd, settles, settled_by";
const USAGE: &str = "usage LEFT JOIN usage_marks ON usage_marks.fact = usage.fact";

/// Tokens in disjoint buckets, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SpentView {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    /// Cache writes whose lifetime nobody told.
    pub cache_write_other: u64,
    pub output: u64,
    /// Already counted in `output`.
    pub reasoning: u64,
    /// Absent when any part of it is unknown, which is not zero.
    pub cost_usd: Option<f64>,
    /// The least that it can have cost.
    pub known_cost_usd: f64,
    /// Some of this was not told but worked out, and is the least that it can be.
    pub estimated: bool,
}

/// By what usage is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    Run,
    Story,
    Agent,
    Model,
    /// The day in UTC.
    Day,
}

impl UsageBy {
    fn column(self) -> &'static str {
        match self {
            Self::Run => "usage.run",
            Self::Story => "runs.story",
            Self::Agent => "runs.agent",
            Self::Model => "usage.model",
            Self::Day => "usage.at",
        }
    }
}

/// The sum for one run, story, agent, model or day.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRowView {
    /// The run, story, agent or model, or the day as Unix milliseconds of its begin; absent for an unnamed model.
    pub key: Option<String>,
    /// The part of it, if it was split; written as a key is.
    pub part: Option<String>,
    pub spent: SpentView,
}

impl Views {
    /// What was spent since a moment (Unix milliseconds), in the order of the keys.
    pub fn usage(&self, by: UsageBy, since: i64) -> Result<Vec<UsageRowView>, JournalError> {
        self.usage_split(by, None, since)
    }

    /// The same, with each sum split into parts.
    pub fn usage_split(
        &self,
        by: UsageBy,
        split: Option<UsageBy>,
        since: i64,
    ) -> Result<Vec<UsageRowView>, JournalError> {
        self.read(|db| {
            let key = by.column();
            let part = split.map_or("NULL", UsageBy::column);
            let sql = format!(
                "SELECT {SPEND}, {key} AS key, {part} AS part FROM {USAGE}
                    JOIN runs ON runs.id = usage.run WHERE usage.at >= ?1"
            );
            let mut sums: BTreeMap<(Key, Option<Key>), Sum> = BTreeMap::new();
            let mut sql = db.prepare_cached(&sql)?;
            let mut found = sql.query([since])?;
            while let Some(row) = found.next()? {
                let part = split.map(|split| Key::read(row, "part", split)).transpose()?;
                sums.entry((Key::read(row, "key", by)?, part)).or_default().add(&Line::read(row)?);
            }
            let row = |((key, part), sum): ((Key, Option<Key>), Sum)| UsageRowView {
                key: key.text(),
                part: part.and_then(Key::text),
                spent: sum.spent(),
            };
            Ok(sums.into_iter().map(row).collect())
        })
    }
}

impl Views {
    /// What was spent since a moment, if anything was. The newest is read first, so that only what is wanted is read.
    pub fn spent_since(&self, since: i64) -> Result<Option<SpentView>, JournalError> {
        self.read(|db| {
            let mut sum = Sum::default();
            let sql = format!("SELECT {SPEND}, at FROM {USAGE} ORDER BY usage.fact DESC");
            let mut sql = db.prepare_cached(&sql)?;
            let mut found = sql.query([])?;
            while let Some(row) = found.next()? {
                let at: i64 = row.get("at")?;
                // A clock that was set back leaves a little disorder.
                if at < since.saturating_sub(DISORDER_MS) {
                    break;
                }
                if at >= since {
                    sum.add(&Line::read(row)?);
                }
            }
            Ok(sum.all.is_some().then(|| sum.spent()))
        })
    }

    /// What the runs of a session have spent: where the books of the next one begin.
    pub fn session_lineage(&self, session: &SessionId) -> Result<Lineage, JournalError> {
        self.read(|db| {
            let sql = format!(
                "SELECT {SPEND}, usage.model AS model FROM runs JOIN {USAGE}
                    WHERE usage.run = runs.id AND runs.session = ?1 ORDER BY usage.fact"
            );
            let mut lineage = Lineage::default();
            let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
            let mut sql = db.prepare_cached(&sql)?;
            let mut found = sql.query([session.as_str()])?;
            while let Some(row) = found.next()? {
                let line = Line::read(row)?;
                let model: Option<String> = row.get("model")?;
                let model = model.unwrap_or_else(|| Ledger::UNNAMED.to_owned());
                match line.cut {
                    true => lineage.cut(&model, line.spend),
                    false => sums.entry(model).or_default().add(&line),
                }
            }
            lineage.totals = sums.into_iter().map(|(model, sum)| (model, sum.total())).collect();
            Ok(lineage)
        })
    }
}

/// A key that sorts as people count.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Run(RunId),
    Name(Option<String>),
    Day(i64),
}

impl Key {
    fn read(row: &Row<'_>, column: &str, by: UsageBy) -> rusqlite::Result<Self> {
        Ok(match by {
            UsageBy::Run => Self::Run(rows::get_run(row, column)?),
            UsageBy::Story | UsageBy::Agent | UsageBy::Model => Self::Name(row.get(column)?),
            UsageBy::Day => {
                let at: i64 = row.get(column)?;
                Self::Day(at - at.rem_euclid(DAY_MS))
            }
        })
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Run(run) => Some(run.to_string()),
            Self::Name(name) => name,
            Self::Day(begin) => Some(begin.to_string()),
        }
    }
}

pub(super) fn of_run(db: &Transaction<'_>, run: RunId) -> rusqlite::Result<SpentView> {
    sum(db, &format!("SELECT {SPEND} FROM {USAGE} WHERE run = ?1"), [rows::run_number(run)])
}

pub(super) fn of_story(db: &Transaction<'_>, story: &StoryId) -> rusqlite::Result<SpentView> {
    let sql = format!(
        "SELECT {SPEND} FROM runs JOIN {USAGE} WHERE usage.run = runs.id AND runs.story = ?1"
    );
    sum(db, &sql, [story.as_str()])
}

fn sum(db: &Transaction<'_>, sql: &str, params: impl Params) -> rusqlite::Result<SpentView> {
    let mut sum = Sum::default();
    let mut sql = db.prepare_cached(sql)?;
    let mut found = sql.query(params)?;
    while let Some(row) = found.next()? {
        sum.add(&Line::read(row)?);
    }
    Ok(sum.spent())
}

/// One entry of the books, with its marks.
struct Line {
    fact: i64,
    spend: Spend,
    cut: bool,
    settles: bool,
    settled_by: Option<i64>,
}

impl Line {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let bucket = |place: usize| row.get(place).map(rows::count);
        let mark = |place: usize| -> rusqlite::Result<bool> {
            Ok(row.get::<_, Option<bool>>(place)?.unwrap_or(false))
        };
        let tokens = Tokens {
            input: bucket(0)?,
            cache_read: bucket(1)?,
            cache_write_5m: bucket(2)?,
            cache_write_1h: bucket(3)?,
            cache_write_other: bucket(4)?,
            output: bucket(5)?,
            reasoning: bucket(6)?,
        };
        let cost: Option<f64> = row.get(7)?;
        let mut spend = Spend::costing(tokens, cost.map(Usd::from_dollars));
        spend.estimated = mark(9)?;
        if let (None, Some(known)) = (cost, row.get::<_, Option<f64>>(11)?) {
            spend = spend.at_least(Usd::from_dollars(known));
        }
        let (cut, settles) = (mark(10)?, mark(12)?);
        Ok(Self { fact: row.get(8)?, spend, cut, settles, settled_by: row.get(13)? })
    }
}

/// A sum in the core's own arithmetic, which never overflows and keeps what is unknown unknown.
#[derive(Default)]
struct Sum {
    all: Option<Spend>,
    /// The entries that tell what others had left unknown.
    told: BTreeSet<i64>,
    /// The entries that would tell what of this is unknown.
    untold: BTreeSet<i64>,
}

impl Sum {
    fn add(&mut self, line: &Line) {
        let mut spend = line.spend;
        // What it cost stands in the entry that told it, which may be in this sum or in another.
        if let (None, Some(by)) = (spend.cost_usd, line.settled_by) {
            self.untold.insert(by);
            let told = Spend::costing(spend.tokens, Some(spend.known_cost()));
            spend = if spend.estimated { told.as_estimate() } else { told };
        }
        if line.settles {
            self.told.insert(line.fact);
        }
        self.all = Some(self.all.unwrap_or_default().plus(spend));
    }

    fn total(self) -> Spend {
        let all = self.all.unwrap_or_default();
        if self.untold.is_subset(&self.told) { all } else { all.at_least(all.known_cost()) }
    }

    fn spent(self) -> SpentView {
        let all = self.total();
        let tokens = all.tokens;
        SpentView {
            input: tokens.input,
            cache_read: tokens.cache_read,
            cache_write_5m: tokens.cache_write_5m,
            cache_write_1h: tokens.cache_write_1h,
            cache_write_other: tokens.cache_write_other,
            output: tokens.output,
            reasoning: tokens.reasoning,
            cost_usd: all.cost_usd.map(Usd::dollars),
            known_cost_usd: all.known_cost().dollars(),
            estimated: all.estimated,
        }
    }
}
