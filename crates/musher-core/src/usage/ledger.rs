//! The ledger: computes what one run has spent from usage reports of calls and from cumulative totals.

mod lineage;
mod open;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use self::lineage::Lineage;
use self::open::OpenCalls;
use super::{Spend, UsageOf, UsageReport, Usd};
use crate::Recent;

/// How many ids are remembered, so that a repeated report counts once. A frame is repeated soon or never.
const REMEMBERED: usize = 128;

/// What one run has spent, by model.
///
/// Agents that report cumulative totals carry them over when a session is resumed or forked. So a run that resumes is
/// given its parent's last totals, or it would be billed for its parent's work again. Where such a total exceeds what was
/// counted, because an earlier run ended before its usage was reported, the rest is counted now, as [`LedgerEntry::earlier`].
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// The vendor's totals of the session, and the calls that may not be in them.
    lineage: Lineage,
    /// The lineage holds what earlier runs of the session were billed.
    resumes: bool,
    /// The models with a vendor total in this run.
    told: BTreeSet<String>,
    /// The models for which earlier runs left an unknown cost that a total can settle.
    untold: BTreeSet<String>,
    /// What this run has spent, with the usage of earlier runs that was reported only in this one.
    spent: BTreeMap<String, Spend>,
    /// The part of that which is known to be the cost of earlier runs.
    earlier: Usd,
    /// Calls without a final report.
    open: OpenCalls,
    /// Ids with a final report.
    counted: Recent<(), REMEMBERED>,
}

/// What one report adds to the ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerEntry {
    /// What is added.
    pub spend: Spend,
    /// The part that earlier runs of the session have spent and that a vendor total shows only now.
    pub earlier: Option<Spend>,
    /// No end of the call was seen. A total that includes it comes in a later run, or never.
    pub cut: bool,
    /// With this report, no cost of earlier runs that a total can settle is unknown any more.
    pub settles: bool,
}

impl LedgerEntry {
    pub fn is_nothing(&self) -> bool {
        self.spend == Spend::default() && !self.settles
    }
}

impl From<Spend> for LedgerEntry {
    fn from(spend: Spend) -> Self {
        Self { spend, ..Self::default() }
    }
}

impl Ledger {
    /// The model name for usage without one.
    pub const UNNAMED: &str = "unknown";

    /// A ledger that starts from the cumulative totals of the session that is resumed or forked.
    pub fn resuming(lineage: Lineage) -> Self {
        let untold = lineage.totals.iter().filter(|(_, total)| total.cost_usd.is_none());
        let untold = untold.map(|(model, _)| model.clone()).collect();
        Self { resumes: !lineage.is_empty(), lineage, untold, ..Self::default() }
    }

    /// Enters a report and returns what it adds to this run. Partial reports add nothing until [`left`](Self::left).
    pub fn enter(&mut self, report: &UsageReport) -> LedgerEntry {
        let is_counted = |id: &str| self.counted.has(id);
        if report.partial {
            if !report.id.as_deref().is_some_and(is_counted) {
                self.remember(report);
            }
            return LedgerEntry::default();
        }
        let model = report.model.as_deref().unwrap_or(Self::UNNAMED);
        let is_call = report.of == UsageOf::ModelCall;
        if let Some(id) = &report.id {
            // One frame reports the totals of several models.
            let key = if is_call { id.clone() } else { format!("{id}/{model}") };
            if is_counted(&key) {
                return LedgerEntry::default();
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
                LedgerEntry { cut: report.cut, ..report.spend.into() }
            }
        };
        let spent = self.spent.entry(model.to_owned()).or_default();
        *spent = spent.plus(entry.spend);
        self.earlier = self.earlier.plus(entry.earlier.unwrap_or_default().known_cost());
        entry
    }

    /// An increment with the total after it. The first one of a run shows what the vendor had counted before the run;
    /// afterwards only the difference of totals counts, so that a repeated frame counts once.
    fn increment(&mut self, model: &str, added: Spend, total: Spend) -> LedgerEntry {
        let before = self.lineage.totals.insert(model.to_owned(), total);
        let first = self.told.insert(model.to_owned());
        match before {
            Some(before) if !first && !total.fell_below(before) => total.since(before).into(),
            _ if !first || !self.resumes => added.into(),
            before => {
                let before = before.unwrap_or_default();
                let had = total.since(added);
                // A program that was killed may have lost its last totals.
                if had.fell_below(before) {
                    return added.into();
                }
                let settles = total.cost_usd.is_some() && self.settle(model);
                let rest = self.lineage.beyond_cut(model, had.since(before));
                let earlier = (rest != Spend::default()).then_some(rest);
                LedgerEntry { spend: added.plus(rest), earlier, cut: false, settles }
            }
        }
    }

    /// A cumulative total without an increment.
    fn total(&mut self, model: &str, now: Spend) -> LedgerEntry {
        self.told.insert(model.to_owned());
        match self.lineage.totals.insert(model.to_owned(), now) {
            Some(before) if !now.fell_below(before) => {
                let settles = now.cost_usd.is_some() && self.settle(model);
                LedgerEntry { settles, ..now.since(before).into() }
            }
            // A total that fell was reset; all of it is new.
            Some(_) | None => now.into(),
        }
    }

    /// Whether this was the last model with an unknown cost. Usage without a model is in the total of some model.
    fn settle(&mut self, model: &str) -> bool {
        let was_untold = [model, Self::UNNAMED].map(|model| self.untold.remove(model));
        was_untold.contains(&true) && self.untold.is_empty()
    }

    fn remember(&mut self, report: &UsageReport) {
        // After a call is over, only the next total can add to it.
        if let Some(id) = report.id.as_deref().filter(|_| report.over) {
            self.counted.add(id, ());
        }
        self.open.remember(report);
    }

    /// Final reports for all calls without one, to be emitted and entered by whatever ends the session: what was reported
    /// in part counts, and the rest is unknown.
    pub fn left(&self) -> Vec<UsageReport> {
        self.open.left()
    }

    /// Whether this id has a final report.
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

    /// The known cost of this run alone; a lower bound.
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
