//! Model calls in progress: what each has used, as far as it is told.
//!
//! Codex tells the running totals of a thread after each call, together with the tools that the call asked for. A call that is
//! cut off is in no total. So a call is told when it begins, and the difference of two totals is what it used.

use std::collections::HashMap;
use std::sync::OnceLock;

use musher_core::{
    ErrorInfo, EventKind, EventScope, Lineage, Spend, Tokens, TurnOutcome, UsageReport,
};

use super::super::frame::{TokenCount, UsageNotice};
use super::{AgentFrame, CodexTranslator, RpcParams, Signal};
use crate::prices::Prices;

/// The calls of all threads.
#[derive(Debug, Default)]
pub(super) struct CallBook {
    minted: u64,
    threads: HashMap<Option<String>, ThreadCalls>,
}

#[derive(Debug, Default)]
struct ThreadCalls {
    /// The call that is under way.
    open: Option<String>,
    /// A tool was used since it began, so that another call follows it.
    tools_used: bool,
    /// What the thread had used when it was last told.
    told: Option<Tokens>,
    /// The same with its cost, as far as all of it was used by one model: prices of several cannot be told apart in it.
    counted: Option<Spend>,
}

fn key(scope: &EventScope) -> Option<String> {
    match scope {
        EventScope::Main => None,
        EventScope::Subagent { agent, .. } => Some(agent.clone()),
    }
}

impl CallBook {
    /// The books of a session of which this was counted before.
    pub(super) fn resuming(lineage: &Lineage, model: Option<&str>) -> Self {
        let alone =
            lineage.totals.len() <= 1 && lineage.totals.keys().all(|one| Some(&**one) == model);
        let counted = alone.then(|| lineage.totals.values().next().copied().unwrap_or_default());
        // A thread that is forked does not tell what it had used before.
        let before = lineage.totals.values().map(|spend| spend.tokens).reduce(Tokens::plus);
        let main = ThreadCalls { counted, told: before, ..ThreadCalls::default() };
        Self { minted: 0, threads: HashMap::from([(None, main)]) }
    }

    /// The model has changed: from here on a total holds calls of several.
    pub(super) fn model_changed(&mut self) {
        self.threads.values_mut().for_each(|thread| thread.counted = None);
    }

    fn thread(&mut self, scope: &EventScope) -> &mut ThreadCalls {
        self.threads.entry(key(scope)).or_default()
    }

    fn mint(&mut self) -> String {
        self.minted += 1;
        format!("call-{}", self.minted)
    }

    /// A request is sent.
    pub(super) fn begin(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        model: Option<&str>,
    ) {
        if self.thread(scope).open.is_some() {
            return;
        }
        let id = self.mint();
        let report = UsageReport::begun(&id, model.map(str::to_owned));
        frame.event_in(scope.clone(), EventKind::Usage(report));
        if scope.is_main() {
            frame.signal(Signal::ModelCall);
        }
        let thread = self.thread(scope);
        thread.open = Some(id);
        thread.tools_used = false;
    }

    pub(super) fn tool_used(&mut self, scope: &EventScope) {
        self.thread(scope).tools_used = true;
    }

    /// The call that is under way has broken off: nobody knows what it cost.
    pub(super) fn cut(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        model: Option<&str>,
    ) {
        if let Some(id) = self.thread(scope).open.take() {
            let unknown = Spend::unpriced(Tokens::default());
            let report = UsageReport::cut(id, model.map(str::to_owned), unknown);
            frame.event_in(scope.clone(), EventKind::Usage(report));
        }
    }

    /// The turn ends: a call that is still open was never made, or was cut off.
    pub(super) fn turn_ended(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        outcome: TurnOutcome,
        error: Option<&ErrorInfo>,
        model: Option<&str>,
    ) {
        // A service that refuses a request charges nothing for it.
        let refused = error.is_some_and(|error| error.http.is_some_and(|status| status >= 400));
        if outcome != TurnOutcome::Completed && !refused {
            return self.cut(frame, scope, model);
        }
        if let Some(id) = self.thread(scope).open.take() {
            let report = UsageReport::free(id, None);
            frame.event_in(scope.clone(), EventKind::Usage(report));
        }
    }
}

impl CodexTranslator {
    pub(super) fn tokens_used(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: &EventScope,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let UsageNotice { token_usage: told } = params.read()?;
        let model = self.model.clone();
        let in_turn = !scope.is_main() || self.turn.is_some();
        let thread = self.calls.thread(scope);
        let before = thread.told.replace(tokens(told.total));
        // A thread that is resumed tells first what it had used before: that of a run which was killed is in it too.
        if !in_turn {
            thread.counted = thread.counted.map(|counted| {
                let more = tokens(told.total).minus(counted.tokens);
                counted.plus(spend(more, model.as_deref()))
            });
            frame.signal(Signal::Alive);
            return Some(());
        }
        let used = tokens(told.total).minus(before.unwrap_or_default());
        if used == Tokens::default() {
            // It is told again when a turn is interrupted.
            frame.signal(Signal::Alive);
            return Some(());
        }
        let used = spend(used, model.as_deref());
        thread.counted = thread.counted.map(|counted| counted.plus(used));
        let (whole, more) = (thread.counted, thread.tools_used);
        let id = thread.open.take().unwrap_or_else(|| self.calls.mint());
        let context = told.last.map(|last| tokens(last).context());
        let mut report = UsageReport::call(id, model.clone(), used);
        report.total = whole.filter(|_| scope.is_main()).map(Box::new);
        if let Some(context) = context {
            report = report.with_context(context, told.model_context_window);
        }
        frame.event_in(scope.clone(), EventKind::Usage(report));
        if more {
            self.calls.begin(frame, scope, model.as_deref());
        }
        Some(())
    }
}

fn tokens(count: TokenCount) -> Tokens {
    let cached = count.cached_input_tokens.saturating_add(count.cache_write_input_tokens);
    Tokens {
        input: count.input_tokens.saturating_sub(cached),
        cache_read: count.cached_input_tokens,
        cache_write_other: count.cache_write_input_tokens,
        output: count.output_tokens,
        reasoning: count.reasoning_output_tokens,
        ..Tokens::default()
    }
}

/// Tokens at the published price of the model, where it has one.
fn spend(tokens: Tokens, model: Option<&str>) -> Spend {
    let cost = model.and_then(|model| prices()?.find(model)?.cost(&tokens));
    Spend::costing(tokens, cost)
}

/// The published prices of the models that the program uses.
fn prices() -> Option<&'static Prices> {
    static PRICES: OnceLock<Option<Prices>> = OnceLock::new();
    let load = || Prices::load(include_str!("../../openai/prices.toml"), None).ok();
    PRICES.get_or_init(load).as_ref()
}
