//! The ledger: turns what is reported of calls and totals into what one run has spent.

mod lineage;
mod open;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use self::lineage::Lineage;
use self::open::OpenCalls;
use super::{Spend, UsageOf, UsageReport, Usd};
use crate::Recent;

/// How many ids are remembered, so that what is told twice counts once. A frame is repeated soon or never.
const REMEMBERED: usize = 128;

/// One run's books, by model.
///
/// Agents that report running totals carry them over when a session is resumed or forked, so a run that resumes must
/// be given its parent's last totals, or it would be billed for its parent's work again. Where such a total holds more
/// than was ever counted, because an earlier run ended before it was told, the rest is counted now, as [`Entry::earlier`].
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// What the vendor has counted of the session, and what it may not have.
    lineage: Lineage,
    /// Earlier runs of the session are in these books, and not only in those of the vendor.
    resumes: bool,
    /// The models of which the vendor has told a total in this run.
    told: BTreeSet<String>,
    /// The models of which earlier runs have left a cost unknown that a total can tell.
    untold: BTreeSet<String>,
    /// What this run alone has spent, with what it was told of earlier runs.
    spent: BTreeMap<String, Spend>,
    /// What of that is known to be the cost of earlier runs.
    earlier: Usd,
    /// Calls without a last word.
    open: OpenCalls,
    /// What has had its last word.
    counted: Recent<(), REMEMBERED>,
}

/// What one report adds to the books.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entry {
    /// What is added.
    pub spend: Spend,
    /// What of it earlier runs of the session have spent; a total of the vendor told it only now.
    pub earlier: Option<Spend>,
    /// The call did not come to its end as far as anybody saw. A total that holds it is told by a later run, or never.
    pub cut: bool,
    /// With this, everything is known that earlier runs of the session have left unknown and a total can tell.
    pub settles: bool,
}

impl Entry {
    pub fn is_nothing(&self) -> bool {
        self.spend == Spend::default() && !self.settles
    }
}

impl From<Spend> for Entry {
    fn from(spend: Spend) -> Self {
        Self { spend, ..Self::default() }
    }
}

impl Ledger {
    /// The model of what has none.
    pub const UNNAMED: &str = "unknown";

    /// Books that start from the running totals of the session that is resumed or forked.
    pub fn resuming(lineage: Lineage) -> Self {
        let untold = lineage.totals.iter().filter(|(_, total)| total.cost_usd.is_none());
        let untold = untold.map(|(model, _)| model.clone()).collect();
        Self { resumes: !lineage.is_empty(), lineage, untold, ..Self::default() }
    }

    /// Enters a report and returns what it adds to this run. Partial reports add nothing until [`left`](Self::left).
    pub fn enter(&mut self, report: &UsageReport) -> Entry {
        let is_counted = |id: &str| self.counted.has(id);
        if report.partial {
            if !report.id.as_deref().is_some_and(is_counted) {
                self.remember(report);
            }
            return Entry::default();
        }
        let model = report.model.as_deref().unwrap_or(Self::UNNAMED);
        let is_call = report.of == UsageOf::ModelCall;
        if let Some(id) = &report.id {
            // A frame tells the totals of several models.
            let key = if is_call { id.clone() } else { format!("{id}/{model}") };
            if is_counted(&key) {
                return Entry::default();
            }
            self.counted.add(&key, ());
            self.open.close(id);
        }
        if !is_call {
            self.open.told_in_a_total();
        }
        let entry = match (&report.total, report.cumulative) {
            (Some(total), false) => self.increment(model, report.spend, **total),
            (_, true) => self.total(model, report.spend),
            (None, false) => {
                match report.cut {
                    true => self.lineage.cut(model, report.spend),
                    false => self.lineage.add(model, report.spend),
                }
                Entry { cut: report.cut, ..report.spend.into() }
            }
        };
        let spent = self.spent.entry(model.to_owned()).or_default();
        *spent = spent.plus(entry.spend);
        self.earlier = self.earlier.plus(entry.earlier.unwrap_or_default().known_cost());
        entry
    }

    /// An increment with the total after it. The first one of a run tells what the vendor had counted before the run;
    /// afterwards the total alone speaks, so that a frame that comes twice counts once.
    fn increment(&mut self, model: &str, added: Spend, total: Spend) -> Entry {
        let before = self.lineage.totals.insert(model.to_owned(), total);
        let first = self.told.insert(model.to_owned());
        match before {
            Some(before) if !first && !total.fell_below(before) => total.since(before).into(),
            _ if !first || !self.resumes => added.into(),
            before => {
                let before = before.unwrap_or_default();
                let had = total.since(added);
                // A program that was killed may have forgotten what it had counted.
                if had.fell_below(before) {
                    return added.into();
                }
                let settles = total.cost_usd.is_some() && self.settle(model);
                let rest = self.lineage.beyond_cut(model, had.since(before));
                let earlier = (rest != Spend::default()).then_some(rest);
                Entry { spend: added.plus(rest), earlier, cut: false, settles }
            }
        }
    }

    /// A running total without an increment.
    fn total(&mut self, model: &str, now: Spend) -> Entry {
        self.told.insert(model.to_owned());
        match self.lineage.totals.insert(model.to_owned(), now) {
            Some(before) if !now.fell_below(before) => {
                let settles = now.cost_usd.is_some() && self.settle(model);
                Entry { settles, ..now.since(before).into() }
            }
            // A total that fell was reset; all of it is new.
            Some(_) | None => now.into(),
        }
    }

    /// Whether this was the last model of which something was unknown. What has no model is in the total of some model.
    fn settle(&mut self, model: &str) -> bool {
        let was_untold = [model, Self::UNNAMED].map(|model| self.untold.remove(model));
        was_untold.contains(&true) && self.untold.is_empty()
    }

    fn remember(&mut self, report: &UsageReport) {
        // Only the next total has more to say of a call that is over.
        if let Some(id) = report.id.as_deref().filter(|_| report.over) {
            self.counted.add(id, ());
        }
        self.open.remember(report);
    }

    /// The last words on all calls that have none, to be said and entered by what ends the session: what was told of
    /// them counts, and what was not is unknown.
    pub fn left(&self) -> Vec<UsageReport> {
        self.open.left()
    }

    /// Whether the last word of this id was said.
    pub fn has_counted(&self, id: &str) -> bool {
        self.counted.has(id)
    }

    /// Whether nothing was ever counted, not even that something was free.
    pub fn is_empty(&self) -> bool {
        self.spent.is_empty()
    }

    /// What this run has spent, over all models.
    pub fn spent(&self) -> Spend {
        self.spent.values().copied().fold(Spend::default(), Spend::plus)
    }

    /// What this run has cost by itself as far as anybody knows; the least that it can be.
    pub fn known_cost(&self) -> Usd {
        self.spent().known_cost().minus(self.earlier)
    }

    /// What this run has spent, by model.
    pub fn by_model(&self) -> &BTreeMap<String, Spend> {
        &self.spent
    }

    /// What to give to the next run of this session or of a fork.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }
}
