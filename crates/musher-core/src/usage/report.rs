//! One report of usage: of a model call under way, of one that is over, or of a total.

use serde::{Deserialize, Serialize};

use super::{ContextWindow, CostBasis, Spend, Tokens, UsageOf};

/// One report of usage by one model.
///
/// # How a runtime reports a model call
///
/// Money is spent when a request is sent, not when its answer has come to its end, so each request is named by an id
/// and told as soon as it is sent. Whatever becomes of the run, the ledger then knows what it does not know:
///
/// 1. [`begun`](Self::begun) when the request is sent (each try has an id of its own). If nothing else is ever said of
///    it, it is counted at the end of the session with an unknown cost.
/// 2. [`so_far`](Self::so_far) whenever more is known. It replaces what was said of the same call before and is not
///    counted yet; if it is the last word, it is counted at the end as the least that the call can have used.
/// 3. One last word, which is counted at once and only once:
///    [`call`](Self::call) for an answer that came whole; [`cut`](Self::cut) for one that broke off or was interrupted,
///    with what is known of it ([`Spend::as_estimate`] if any of it is worked out, [`Spend::unpriced`] if its cost is not
///    known); [`free`](Self::free) for a request that was refused before anything was made.
///
/// A runtime whose program tells its bill later as a total says [`so_far`](Self::so_far) and then
/// [`over`](Self::over) instead of a last word: the next total holds the call, and only if none comes is the call
/// counted by itself. A call that no total will hold is [`cut`](Self::cut) before the total is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageReport {
    pub of: UsageOf,
    /// A running total of the session's whole lineage rather than an increment.
    pub cumulative: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub spend: Spend,
    pub cost_basis: CostBasis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextWindow>,
    /// Told while a call runs. It is counted only if the session ends without a word that replaces it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The model call, or the frame that told a total: of one id only the first last word counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Of a partial report: the call has come to its end, and the next total holds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
    /// The call did not come to its end, and no total will hold it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Beside an increment: the running total of the session's lineage, with it, as the agent's program keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Box<Spend>>,
}

impl UsageReport {
    /// A request that was sent, and of which nothing is known yet.
    pub fn begun(id: impl Into<String>, model: Option<String>) -> Self {
        Self::so_far(id, model, Spend::unpriced(Tokens::default()))
    }

    /// What is known so far of a call that is under way.
    pub fn so_far(id: impl Into<String>, model: Option<String>, spend: Spend) -> Self {
        Self { partial: true, ..Self::call(id, model, spend) }
    }

    /// The whole of a call. The basis of its cost is the table of prices, where it has one.
    pub fn call(id: impl Into<String>, model: Option<String>, spend: Spend) -> Self {
        Self {
            of: UsageOf::ModelCall,
            cumulative: false,
            model,
            spend,
            cost_basis: match spend.cost_usd {
                Some(_) => CostBasis::PriceTable,
                None => CostBasis::Unknown,
            },
            context: None,
            partial: false,
            id: Some(id.into()),
            over: false,
            cut: false,
            total: None,
        }
    }

    /// All that will ever be known of a call that did not come to its end.
    pub fn cut(id: impl Into<String>, model: Option<String>, spend: Spend) -> Self {
        Self { cut: true, ..Self::call(id, model, spend) }
    }

    /// A request that was refused before the model did anything: it cost nothing, and that is known.
    pub fn free(id: impl Into<String>, model: Option<String>) -> Self {
        Self::call(id, model, Spend::default())
    }

    /// The same of a call that has come to its end: the next total holds it.
    #[must_use]
    pub fn over(self) -> Self {
        Self { over: true, ..self }
    }

    /// The same with how full the model's window is.
    #[must_use]
    pub fn with_context(self, used: u64, window: Option<u64>) -> Self {
        Self { context: Some(ContextWindow { used, window }), ..self }
    }
}
