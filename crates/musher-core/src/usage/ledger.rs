//! The ledger: turns increments and running totals into what one run has spent.

use std::collections::BTreeMap;

use super::{Spend, UsageReport, Usd};

const UNNAMED: &str = "unknown";

/// One run's books, by model.
///
/// Agents that report running totals carry them over when a session is resumed or forked, so a run that resumes must
/// be given its parent's last totals, or it would be billed for its parent's work again.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// The last running total of the session's lineage.
    lineage: BTreeMap<String, Spend>,
    /// What this run alone has spent.
    spent: BTreeMap<String, Spend>,
}

impl Ledger {
    /// Books that start from the running totals of the session that is resumed or forked.
    pub fn resuming(totals: BTreeMap<String, Spend>) -> Self {
        Self { lineage: totals, spent: BTreeMap::new() }
    }

    /// Enters a report and returns what it adds to this run. Partial reports add nothing.
    pub fn enter(&mut self, report: &UsageReport) -> Spend {
        if report.partial {
            return Spend::default();
        }
        let model = report.model.as_deref().unwrap_or(UNNAMED);
        let last = self.lineage.get(model).copied();
        let (added, total) = if report.cumulative {
            let now = report.spend;
            let added = match last {
                // A total that fell was reset; all of it is new.
                Some(before) if now.fell_below(before) => now,
                Some(before) => now.since(before),
                None => now,
            };
            (added, now)
        } else {
            (report.spend, last.map_or(report.spend, |before| before.plus(report.spend)))
        };
        self.lineage.insert(model.to_owned(), total);
        self.spent
            .entry(model.to_owned())
            .and_modify(|spent| *spent = spent.plus(added))
            .or_insert(added);
        added
    }

    /// What this run has spent, over all models.
    pub fn spent(&self) -> Spend {
        self.spent.values().copied().reduce(Spend::plus).unwrap_or_default()
    }

    /// What this run has cost as far as anybody knows; the least that it can be.
    pub fn known_cost(&self) -> Usd {
        self.spent.values().filter_map(|spend| spend.cost_usd).fold(Usd::default(), Usd::plus)
    }

    /// What this run has spent, by model.
    pub fn by_model(&self) -> &BTreeMap<String, Spend> {
        &self.spent
    }

    /// The running totals to give to the next run of this session or of a fork.
    pub fn lineage(&self) -> &BTreeMap<String, Spend> {
        &self.lineage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CostBasis, Tokens, UsageOf, Usd};

    fn report(model: &str, input: u64, output: u64, cost: f64, cumulative: bool) -> UsageReport {
        UsageReport {
            of: if cumulative { UsageOf::Session } else { UsageOf::Turn },
            cumulative,
            model: Some(model.into()),
            spend: Spend {
                tokens: Tokens { input, output, ..Tokens::default() },
                cost_usd: Some(Usd::from_dollars(cost)),
            },
            cost_basis: CostBasis::Reported,
            context: None,
            partial: false,
        }
    }

    #[test]
    fn running_totals_become_increments_turn_by_turn() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.enter(&report("m", 100, 20, 0.1, true)).tokens.input, 100);
        let second = ledger.enter(&report("m", 250, 50, 0.3, true));
        assert_eq!((second.tokens.input, second.tokens.output), (150, 30));
        assert_eq!(second.cost_usd, Some(Usd::from_dollars(0.2)));
        assert_eq!(ledger.spent().tokens.total(), 300);
    }

    #[test]
    fn a_resumed_or_forked_run_is_not_billed_for_its_parent() {
        let mut parent = Ledger::default();
        parent.enter(&report("m", 100, 20, 0.1, true));
        let mut child = Ledger::resuming(parent.lineage().clone());
        child.enter(&report("m", 150, 30, 0.15, true));
        assert_eq!(child.spent().tokens.input, 50);
        assert_eq!(child.spent().cost_usd, Some(Usd::from_dollars(0.05)));
        assert_eq!(parent.spent().tokens.input, 100);
    }

    #[test]
    fn a_total_that_fell_was_reset_and_is_never_negative_spend() {
        let mut ledger = Ledger::default();
        ledger.enter(&report("m", 100, 20, 0.1, true));
        let after = ledger.enter(&report("m", 30, 5, 0.02, true));
        assert_eq!((after.tokens.input, after.tokens.output), (30, 5));
        assert_eq!(ledger.spent().tokens.input, 130);
    }

    #[test]
    fn increments_and_totals_of_one_session_agree() {
        let mut ledger = Ledger::default();
        ledger.enter(&report("m", 100, 20, 0.1, false));
        let from_total = ledger.enter(&report("m", 160, 30, 0.17, true));
        assert_eq!(from_total.tokens.input, 60);
        assert_eq!(from_total.cost_usd, Some(Usd::from_dollars(0.07)));
    }

    #[test]
    fn a_partial_report_is_shown_but_not_billed() {
        let mut ledger = Ledger::default();
        let mut partial = report("m", 100, 1, 0.0, false);
        partial.partial = true;
        ledger.enter(&partial);
        assert_eq!(ledger.spent(), Spend::default());
    }

    #[test]
    fn an_unknown_cost_is_unknown_in_the_sum_and_never_zero() {
        let mut ledger = Ledger::default();
        ledger.enter(&report("known", 1, 1, 0.1, false));
        let mut unknown = report("unknown", 1, 1, 0.0, false);
        unknown.spend.cost_usd = None;
        ledger.enter(&unknown);
        assert_eq!(ledger.spent().cost_usd, None);
        assert_eq!(
            ledger.known_cost(),
            Usd::from_dollars(0.1),
            "a budget still counts what is known"
        );
        assert_eq!(ledger.spent().tokens.total(), 4);
    }
}
