//! What a prompt has used, as far as the agent tells it.
//!
//! Model calls are not told one by one. A prompt is one entry in the books: it is told when it begins, and its reply says what
//! it has used, or nobody knows.

use std::sync::OnceLock;

use musher_core::{
    CostBasis, ErrorInfo, EventKind, EventScope, Lineage, Spend, Tokens, TurnOutcome, UsageReport,
    Usd,
};
use serde_json::Value as Json;

use super::super::frame::{TurnUsage, UsageFrame};
use super::super::preset::AcpUsage;
use super::super::presets::PRICES;
use super::{AcpTranslator, AgentFrame, RpcError, RpcParams, Signal};
use crate::json::{self, RawJson};
use crate::prices::Prices;

/// The prompts of one conversation.
#[derive(Debug, Default)]
pub(super) struct PromptBook {
    minted: u64,
    open: Option<String>,
    /// A tool was used, so that another model call follows.
    tool_used: bool,
    /// The cost of the session as the agent told it last, if it began here.
    cost_before: Option<Usd>,
    cost_now: Option<Usd>,
    /// What the process had used when it was last told, where it tells totals.
    total_before: Tokens,
    /// What the calls of this prompt have used, where each tells it.
    chunks: Tokens,
}

impl PromptBook {
    /// The books of a session of which this was counted before.
    pub(super) fn resuming(lineage: &Lineage) -> Self {
        // Whether the cost of an earlier process is in that of this one is not told.
        let fresh = lineage.totals.is_empty();
        Self { cost_before: fresh.then(Usd::default), ..Self::default() }
    }

    /// A prompt is sent.
    pub(super) fn prompted(&mut self, model: Option<&str>) -> [Signal; 2] {
        self.minted += 1;
        let id = format!("prompt-{}", self.minted);
        let report = UsageReport::begun(&id, model.map(str::to_owned));
        self.open = Some(id);
        self.tool_used = false;
        self.chunks = Tokens::default();
        [Signal::event(EventKind::Usage(report)), Signal::ModelCall]
    }

    /// The model says something. After a tool that is another call.
    fn begin(&mut self, frame: &mut AgentFrame<'_>, scope: &EventScope) {
        if scope.is_main() && std::mem::take(&mut self.tool_used) {
            frame.signal(Signal::ModelCall);
        }
    }

    pub(super) fn tool_over(&mut self, scope: &EventScope) {
        self.tool_used |= scope.is_main();
    }

    /// What the session has cost since the last prompt, if both ends are known.
    fn cost(&mut self) -> Option<Usd> {
        let (before, now) = (self.cost_before, self.cost_now);
        self.cost_before = now.or(before);
        let more = now?.minus(before?);
        // A price of nothing is that of a model whose price the agent does not know.
        Some(more).filter(|more| !more.is_zero())
    }
}

impl AcpTranslator {
    /// The model says something, or wants a tool.
    pub(super) fn answers(&mut self, frame: &mut AgentFrame<'_>, scope: &EventScope) {
        if let Some(turn) = &mut self.turn {
            turn.answered = true;
        }
        self.calls.begin(frame, scope);
    }

    pub(super) fn usage_updated(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        update: &str,
    ) -> Option<()> {
        let told: UsageFrame = json::read(update)?;
        let cost = told.cost.filter(|cost| cost.currency == "USD");
        if let Some(cost) = cost.filter(|_| scope.is_main()) {
            self.calls.cost_now = Usd::told(cost.amount);
        }
        match self.calls.open.clone().filter(|_| scope.is_main()) {
            Some(id) => {
                let unknown = Spend::unpriced(Tokens::default());
                let report = UsageReport::so_far(id, self.model.clone(), unknown)
                    .with_context(told.used, Some(told.size).filter(|size| *size > 0));
                frame.event(EventKind::Usage(report));
            }
            None => frame.signal(Signal::Alive),
        }
        Some(())
    }

    /// Whether an agent that always tells what a prompt has used says that it was nothing.
    pub(super) fn used_nothing(&self, result: &Result<RpcParams<'_>, RpcError>) -> bool {
        let Ok(told) = result else { return false };
        let told: Json = told.read().unwrap_or_default();
        let now = serde_json::from_value::<TurnUsage>(told["usage"].clone()).ok();
        self.preset.usage == AcpUsage::Total
            && now.is_none_or(|now| of_turn(&now) == self.calls.total_before)
    }

    /// What one call has used, where a vendor tells it with a piece of text.
    pub(super) fn chunk_usage(&mut self, scope: &EventScope, meta: &RawJson<'_>) {
        if self.preset.usage != AcpUsage::Chunks || !scope.is_main() {
            return;
        }
        let told: Json = json::read_piece(meta).unwrap_or_default();
        if let Ok(usage) = serde_json::from_value::<TurnUsage>(told["usage"].clone()) {
            self.calls.chunks = self.calls.chunks.plus(of_turn(&usage));
        }
    }

    /// Tells what the prompt has used, now that it is over.
    pub(super) fn prompt_over(
        &mut self,
        frame: &mut AgentFrame<'_>,
        told: Option<&RpcParams<'_>>,
        outcome: TurnOutcome,
        error: Option<&ErrorInfo>,
    ) {
        let Some(id) = self.calls.open.take() else { return };
        let cost = self.calls.cost();
        let spent = self.spent(told);
        let used = spent.iter().any(|part| part.tokens != Tokens::default());
        if !used {
            // A service that refuses the first request of a prompt charges nothing for it.
            let refused = error.and_then(|error| error.http).is_some_and(|status| status >= 400);
            let idle = self.turn.as_ref().is_some_and(|turn| !turn.answered);
            let report = match (refused && idle, outcome) {
                (true, _) => UsageReport::free(id, self.model.clone()),
                (false, TurnOutcome::Completed) => {
                    UsageReport::call(id, self.model.clone(), Spend::unpriced(Tokens::default()))
                }
                (false, _) => {
                    let unknown = Spend::unpriced(Tokens::default());
                    UsageReport::cut(id, self.model.clone(), unknown)
                }
            };
            frame.event(EventKind::Usage(report));
            return;
        }
        let alone = spent.len() == 1;
        let part = self.preset.usage.is_partial();
        for (at, PromptSpend { model, tokens, estimated }) in spent.into_iter().enumerate() {
            let id = if at == 0 { id.clone() } else { format!("{id}-{}", at + 1) };
            let mut priced = Spend::costing(tokens, price(model.as_deref(), &tokens));
            priced.estimated = estimated;
            let whole = outcome == TurnOutcome::Completed || outcome == TurnOutcome::Refused;
            let report = match (whole, cost.filter(|_| alone && self.preset.powers.cost)) {
                (true, _) if part => {
                    let least = Spend::unpriced(tokens).at_least(priced.known_cost());
                    UsageReport::call(id, model, least)
                }
                (true, Some(cost)) => {
                    let report = UsageReport::call(id, model, Spend::costing(tokens, Some(cost)));
                    UsageReport { cost_basis: CostBasis::Reported, ..report }
                }
                (true, None) => UsageReport::call(id, model, priced),
                // What was under way when it ended is in no total.
                (false, known) => {
                    let known = known.unwrap_or_else(|| priced.known_cost());
                    UsageReport::cut(id, model, Spend::unpriced(tokens).at_least(known))
                }
            };
            frame.event(EventKind::Usage(report));
        }
    }

    /// The tokens that are told of a prompt, by model.
    fn spent(&mut self, told: Option<&RpcParams<'_>>) -> Vec<PromptSpend> {
        let told: Json = told.and_then(RpcParams::read).unwrap_or_default();
        let usage = || serde_json::from_value::<TurnUsage>(told["usage"].clone()).ok();
        let one =
            |tokens| vec![PromptSpend { model: self.model.clone(), tokens, estimated: false }];
        match self.preset.usage {
            AcpUsage::Unknown => Vec::new(),
            AcpUsage::Part | AcpUsage::Turn => {
                usage().map(|usage| one(of_turn(&usage))).unwrap_or_default()
            }
            AcpUsage::Total => {
                let Some(now) = usage().map(|usage| of_turn(&usage)) else { return Vec::new() };
                let used = now.minus(self.calls.total_before);
                let spent = one(used);
                self.calls.total_before = now;
                spent
            }
            AcpUsage::Chunks => one(self.calls.chunks),
            AcpUsage::Quota => {
                let models = told["_meta"]["quota"]["model_usage"].as_array();
                models.into_iter().flatten().filter_map(of_quota).collect()
            }
        }
    }
}

/// Some agents count what was cached inside the input, some beside it: the total tells which.
fn of_turn(usage: &TurnUsage) -> Tokens {
    let read = usage.cached_read_tokens.unwrap_or_default();
    let write = usage.cached_write_tokens.unwrap_or_default();
    let cached = read.saturating_add(write);
    let beside = usage.total_tokens >= usage.input_tokens + usage.output_tokens + cached;
    Tokens {
        input: if beside { usage.input_tokens } else { usage.input_tokens.saturating_sub(cached) },
        cache_read: read,
        cache_write_other: write,
        output: usage.output_tokens,
        reasoning: usage.thought_tokens.unwrap_or_default(),
        ..Tokens::default()
    }
}

/// What one model has used for a prompt.
struct PromptSpend {
    model: Option<String>,
    tokens: Tokens,
    /// What was cached stands in the input, and is not told apart: it costs less than it seems.
    estimated: bool,
}

fn of_quota(entry: &Json) -> Option<PromptSpend> {
    let count = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| entry["token_count"].get(name)?.as_u64());
        found.unwrap_or_default()
    };
    let tokens = Tokens {
        input: count(["input_tokens", "inputTokens"]),
        cache_read: count(["cached_input_tokens", "cachedInputTokens"]),
        cache_write_other: count(["cached_write_tokens", "cachedWriteTokens"]),
        output: count(["output_tokens", "outputTokens"]),
        reasoning: count(["reasoning_output_tokens", "reasoningOutputTokens"]),
        ..Tokens::default()
    };
    let cached = ["cached_input_tokens", "cachedInputTokens"];
    let estimated = cached.iter().all(|name| entry["token_count"].get(name).is_none());
    Some(PromptSpend { model: Some(entry["model"].as_str()?.to_owned()), tokens, estimated })
}

/// Tokens at the published price of the model, where it has one.
fn price(model: Option<&str>, tokens: &Tokens) -> Option<Usd> {
    // Some write the vendor before the model.
    let name = model?.rsplit('/').next()?;
    prices().iter().find_map(|table| table.find(name)?.cost(tokens))
}

fn prices() -> &'static [Prices] {
    static TABLES: OnceLock<Vec<Prices>> = OnceLock::new();
    let load = || PRICES.iter().filter_map(|table| Prices::load(table, None).ok()).collect();
    TABLES.get_or_init(load)
}
