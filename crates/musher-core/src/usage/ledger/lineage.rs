//! Where the books of a run begin that resumes or forks a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::Spend;

/// What a session had spent when it was left, by model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// What the running totals of its vendor hold for sure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub totals: BTreeMap<String, Spend>,
    /// What was counted of calls whose end nobody saw, the newest last. A total may hold them all the same: the agent's
    /// program may have heard an end that its runner did not live to write down.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cut: BTreeMap<String, Vec<Spend>>,
}

impl Lineage {
    /// How many calls that were cut are known one by one for each model. Older ones are in no total, or were found there.
    pub const CUT_KEPT: usize = 32;

    pub fn is_empty(&self) -> bool {
        self.totals.is_empty() && self.cut.is_empty()
    }

    /// Counts what a total holds.
    pub fn add(&mut self, model: &str, spend: Spend) {
        let total = self.totals.entry(model.to_owned()).or_default();
        *total = total.plus(spend);
    }

    /// Counts a call whose end nobody saw.
    pub fn cut(&mut self, model: &str, spend: Spend) {
        if spend.tokens.total() == 0 {
            return;
        }
        let calls = self.cut.entry(model.to_owned()).or_default();
        if calls.len() == Self::CUT_KEPT {
            calls.remove(0);
        }
        calls.push(spend);
    }

    /// What a total tells that was not counted before, without what was counted of cut calls that it holds. It holds one
    /// if it has room for it: what comes after a call in a total comes after its end.
    pub(super) fn beyond_cut(&self, model: &str, rest: Spend) -> Spend {
        let calls = self.cut.get(model).into_iter().flatten().rev();
        calls.fold(rest, |rest, call| match rest.tokens.fell_below(call.tokens) {
            true => rest,
            false => rest.since(*call),
        })
    }
}
