//! Model calls without a last word. However many there are, they take little room: calls that need not be told apart any
//! more are one sum for each model.

use std::collections::BTreeMap;

use super::super::{Spend, UsageReport};

/// How many calls are known one by one. No agent has so many under way, unless it never ends any.
const APART: usize = 256;

#[derive(Debug, Clone, Default)]
pub(super) struct OpenCalls {
    /// In the order in which they began.
    apart: BTreeMap<u64, UsageReport>,
    ids: BTreeMap<String, u64>,
    began: u64,
    sums: BTreeMap<(Kind, Option<String>), UsageReport>,
}

/// Why calls need not be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// They are over: the next total holds all of them.
    Over,
    /// They have no name, because an older runner told of them once. The next total holds them.
    Nameless,
    /// They are too many. No total is known to hold them.
    Many,
}

impl Kind {
    /// What the id of a sum begins with. No call of any runtime is named like this.
    fn name(self) -> &'static str {
        match self {
            Self::Over => "calls-over",
            Self::Nameless => "calls-nameless",
            Self::Many => "calls-many",
        }
    }
}

impl OpenCalls {
    /// Takes in what is told of a call under way, in place of what was told of it before.
    pub(super) fn remember(&mut self, report: &UsageReport) {
        let Some(id) = &report.id else {
            return self.add(Kind::Nameless, report);
        };
        if report.over {
            self.close(id);
            return self.add(Kind::Over, report);
        }
        let began = self.ids.get(id).copied().unwrap_or_else(|| {
            self.began += 1;
            self.ids.insert(id.clone(), self.began);
            self.began
        });
        self.apart.insert(began, report.clone());
        if self.apart.len() > APART
            && let Some((_, oldest)) = self.apart.pop_first()
        {
            self.ids.retain(|_, began| self.apart.contains_key(began));
            self.add(Kind::Many, &oldest);
        }
    }

    /// The last word on this call, or on a sum of calls, was said.
    pub(super) fn close(&mut self, id: &str) {
        if let Some(began) = self.ids.remove(id) {
            self.apart.remove(&began);
        } else if id.starts_with("calls-") {
            self.sums.retain(|_, sum| sum.id.as_deref() != Some(id));
        }
    }

    /// A total holds every call that was over when it was told.
    pub(super) fn told_in_a_total(&mut self) {
        self.sums.retain(|(kind, _), _| *kind == Kind::Many);
    }

    /// The last words on all of them.
    pub(super) fn left(&self) -> Vec<UsageReport> {
        self.sums.values().chain(self.apart.values()).map(last_word).collect()
    }

    fn add(&mut self, kind: Kind, call: &UsageReport) {
        let sum = self.sums.entry((kind, call.model.clone())).or_insert_with(|| {
            let model = call.model.as_deref().unwrap_or(super::Ledger::UNNAMED);
            let id = format!("{}/{model}", kind.name());
            UsageReport { id: Some(id), spend: Spend::default(), context: None, ..call.clone() }
        });
        sum.spend = sum.spend.plus(counted(call));
        // One call of unknown cost makes the cost of the sum unknown.
        if call.spend.cost_usd.is_none() {
            sum.cost_basis = call.cost_basis;
        }
    }
}

/// What counts of a call: what was told of one that is not over is the least that it can be.
fn counted(call: &UsageReport) -> Spend {
    let told = call.spend.tokens.total() > 0;
    if !call.over && told { call.spend.as_estimate() } else { call.spend }
}

fn last_word(call: &UsageReport) -> UsageReport {
    UsageReport {
        partial: false,
        over: false,
        cut: !call.over,
        spend: counted(call),
        context: None,
        ..call.clone()
    }
}
