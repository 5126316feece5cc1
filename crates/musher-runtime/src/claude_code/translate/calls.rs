//! Model calls in progress: what each has used so far, and which of them the next result frame includes.
//!
//! The program reports its bill at the end of a turn, and a turn may never end. So each call is reported while it runs: when
//! the request is sent, when the response begins (its input is then known) and when it ends. A result includes the calls that
//! ended; a call that was cut off is in no result.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use musher_core::{EventKind, EventScope, Spend, Tokens, UsageReport};

use super::super::frame::ApiUsage;
use super::AgentFrame;
use crate::prices::Prices;

/// An estimate of the bytes per token, for output whose tokens are not reported.
const BYTES_PER_TOKEN: usize = 4;
/// How many responses of one turn may break off before the oldest is reported as cut.
const MAX_BROKEN_RESPONSES: usize = 64;

/// Calls whose final usage has not been reported.
#[derive(Debug, Default)]
pub(super) struct UnbilledCalls {
    minted: u64,
    /// The id of the main agent's request that has no response yet.
    asked: Option<String>,
    /// Responses in progress, by message id.
    open: BTreeMap<String, Call>,
    /// Responses to the main agent that broke off. A result includes some of them and not others.
    broken: Vec<Call>,
    /// The input of the calls that have ended since the last result, by model.
    ended: HashMap<String, u64>,
    /// The input in the last cumulative total, by model.
    totals: HashMap<String, u64>,
    /// Running sub-agents, by task: they may call the model without reporting it.
    helpers: HashMap<String, String>,
}

#[derive(Debug)]
struct Call {
    id: String,
    owner: EventScope,
    model: String,
    tokens: Tokens,
    /// The output is not complete.
    part: bool,
    /// How many bytes of its response have arrived.
    bytes: usize,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The next result includes it.
    Over,
    /// No result includes it.
    Cut,
}

impl UnbilledCalls {
    fn mint(&mut self) -> String {
        self.minted += 1;
        format!("call-{}", self.minted)
    }

    /// The main agent sends a request. A retry after a refusal is the same call.
    pub(super) fn asked(&mut self, frame: &mut AgentFrame<'_>, model: Option<String>) {
        if self.asked.is_none() {
            let id = self.mint();
            frame.event(EventKind::Usage(UsageReport::begun(&id, model)));
            self.asked = Some(id);
        }
    }

    /// A response begins, or a part arrives of one that is not streamed.
    pub(super) fn began(
        &mut self,
        frame: &mut AgentFrame<'_>,
        owner: &EventScope,
        message: &str,
        model: &str,
        usage: &ApiUsage,
    ) {
        if self.open.contains_key(message) {
            return;
        }
        let call = self.take_up(frame, owner, model, usage);
        let report = call.so_far().with_context(call.tokens.context(), None);
        frame.event_in(owner.clone(), EventKind::Usage(report));
        self.open.insert(message.to_owned(), call);
    }

    /// A whole response arrives at once.
    pub(super) fn came_whole(
        &mut self,
        frame: &mut AgentFrame<'_>,
        owner: &EventScope,
        message: &str,
        model: &str,
        usage: &ApiUsage,
    ) {
        if self.open.contains_key(message) {
            return self.used(frame, message, usage, true);
        }
        let mut call = self.take_up(frame, owner, model, usage);
        call.part = usage.output_tokens.is_none();
        *self.ended.entry(call.model.clone()).or_default() += call.tokens.context();
        let report = call.ending(End::Over).with_context(call.tokens.context(), None);
        frame.event_in(owner.clone(), EventKind::Usage(report));
    }

    fn take_up(
        &mut self,
        frame: &mut AgentFrame<'_>,
        owner: &EventScope,
        model: &str,
        usage: &ApiUsage,
    ) -> Call {
        // A new call means that the previous one is over: an open response of the main agent broke off, and a sub-agent does
        // not report when its calls end.
        match owner {
            EventScope::Main => self.break_off(frame),
            EventScope::Subagent { .. } => {
                self.close(frame, End::Over, |_, call| call.owner == *owner);
            }
        }
        let asked = if owner.is_main() { self.asked.take() } else { None };
        let id = asked.unwrap_or_else(|| self.mint());
        let mut call = Call {
            id,
            owner: owner.clone(),
            model: model.to_owned(),
            tokens: Tokens::default(),
            part: true,
            bytes: 0,
        };
        call.take(usage);
        call
    }

    /// A part of a response arrives.
    pub(super) fn grew(&mut self, message: &str, bytes: usize) {
        if let Some(call) = self.open.get_mut(message) {
            call.bytes += bytes;
        }
    }

    /// More usage of a response is reported, and perhaps its end.
    pub(super) fn used(
        &mut self,
        frame: &mut AgentFrame<'_>,
        message: &str,
        usage: &ApiUsage,
        ended: bool,
    ) {
        let Some(call) = self.open.get_mut(message) else { return };
        call.take(usage);
        if ended {
            call.part = usage.output_tokens.is_none();
            self.close(frame, End::Over, |named, _| named == message);
        }
    }

    fn break_off(&mut self, frame: &mut AgentFrame<'_>) {
        let main = self.open.extract_if(.., |_, call| call.owner.is_main());
        self.broken.extend(main.map(|(_, call)| call));
        // A result may include the ones dropped here. Counting a call twice is better than not counting it.
        let excess = self.broken.len().saturating_sub(MAX_BROKEN_RESPONSES);
        for call in self.broken.drain(..excess) {
            frame.event_in(EventScope::Main, EventKind::Usage(call.ending(End::Cut)));
        }
    }

    /// A sub-agent starts.
    pub(super) fn helper_began(&mut self, frame: &mut AgentFrame<'_>, task: &str) {
        if !self.helpers.contains_key(task) {
            let id = self.mint();
            frame.event_in(helper(task), EventKind::Usage(UsageReport::begun(&id, None)));
            self.helpers.insert(task.to_owned(), id);
        }
    }

    /// A sub-agent ends. One that was stopped may have had a call in progress.
    pub(super) fn helper_ended(&mut self, frame: &mut AgentFrame<'_>, task: &str, stopped: bool) {
        let Some(id) = self.helpers.remove(task) else { return };
        let end = if stopped { End::Cut } else { End::Over };
        self.close(frame, end, |_, call| is_of(&call.owner, task));
        let unknown = Spend::unpriced(Tokens::default());
        let report = match end {
            End::Cut => UsageReport::cut(id, None, unknown),
            End::Over => UsageReport::so_far(id, None, unknown).over(),
        };
        frame.event_in(helper(task), EventKind::Usage(report));
    }

    /// The turn ends with these totals; `aborted` means that it was interrupted. Sub-agents in the background go on.
    pub(super) fn turn_ended(
        &mut self,
        frame: &mut AgentFrame<'_>,
        aborted: bool,
        totals: &[UsageReport],
    ) {
        if let Some(id) = self.asked.take() {
            let report = if aborted {
                UsageReport::cut(id, None, Spend::unpriced(Tokens::default()))
            } else {
                UsageReport::free(id, None)
            };
            frame.event(EventKind::Usage(report));
        }
        self.break_off(frame);
        let at_work: Vec<String> = self.helpers.keys().cloned().collect();
        let end = if aborted { End::Cut } else { End::Over };
        self.close(frame, end, |_, call| !at_work.iter().any(|task| is_of(&call.owner, task)));
        let mut ended = std::mem::take(&mut self.ended);
        for call in std::mem::take(&mut self.broken) {
            // The result includes it if the total exceeds the input of the ended calls by at least its input.
            let total = totals.iter().find(|total| total.model.as_ref() == Some(&call.model));
            let counted = total.map_or(0, |total| total.spend.tokens.context());
            let before = self.totals.get(&call.model).copied().unwrap_or(0);
            let counted = counted.saturating_sub(before);
            let explained = ended.entry(call.model.clone()).or_default();
            let input = call.tokens.context();
            let end = if counted.saturating_sub(*explained) >= input.max(1) {
                *explained += input;
                End::Over
            } else {
                End::Cut
            };
            frame.event_in(EventScope::Main, EventKind::Usage(call.ending(end)));
        }
        for total in totals.iter().filter(|total| total.cumulative) {
            let model = total.model.clone().unwrap_or_default();
            self.totals.insert(model, total.spend.tokens.context());
        }
    }

    fn close(&mut self, frame: &mut AgentFrame<'_>, end: End, which: impl Fn(&str, &Call) -> bool) {
        for (_, call) in self.open.extract_if(.., |message, call| which(message, call)) {
            if end == End::Over {
                *self.ended.entry(call.model.clone()).or_default() += call.tokens.context();
            }
            frame.event_in(call.owner.clone(), EventKind::Usage(call.ending(end)));
        }
    }
}

impl Call {
    /// Updates the tokens; a field that is absent keeps its last value.
    fn take(&mut self, usage: &ApiUsage) {
        let tokens = &mut self.tokens;
        let set = |place: &mut u64, told: Option<u64>| *place = told.unwrap_or(*place);
        set(&mut tokens.input, usage.input_tokens);
        set(&mut tokens.cache_read, usage.cache_read_input_tokens);
        set(&mut tokens.output, usage.output_tokens);
        let before = tokens.cache_write_5m + tokens.cache_write_1h + tokens.cache_write_other;
        if let Some(written) = usage.cache_creation_input_tokens
            // A later report may contain the sum alone.
            && (usage.cache_creation.is_some() || written != before)
        {
            let known = usage.cache_creation.unwrap_or_default();
            tokens.cache_write_5m = known.ephemeral_5m_input_tokens.unwrap_or(0);
            tokens.cache_write_1h = known.ephemeral_1h_input_tokens.unwrap_or(0);
            let known = tokens.cache_write_5m.saturating_add(tokens.cache_write_1h);
            tokens.cache_write_other = written.saturating_sub(known);
        }
    }

    /// What it has used. The output of an incomplete response is at least what has arrived; the cost is an estimate from
    /// published prices until the program reports its own.
    fn spend(&self) -> Spend {
        let mut tokens = self.tokens;
        if self.part {
            let seen = u64::try_from(self.bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
            tokens.output = tokens.output.max(seen);
        }
        let cost = prices().and_then(|prices| prices.find(&self.model)?.cost(&tokens));
        Spend::costing(tokens, cost).as_estimate()
    }

    fn ending(&self, end: End) -> UsageReport {
        match end {
            End::Over => self.so_far().over(),
            End::Cut => UsageReport::cut(&self.id, Some(self.model.clone()), self.spend()),
        }
    }

    fn so_far(&self) -> UsageReport {
        UsageReport::so_far(&self.id, Some(self.model.clone()), self.spend())
    }
}

/// The published prices of the models that the program uses.
fn prices() -> Option<&'static Prices> {
    static PRICES: OnceLock<Option<Prices>> = OnceLock::new();
    let load = || Prices::load(include_str!("../../anthropic/prices.toml"), None).ok();
    PRICES.get_or_init(load).as_ref()
}

fn helper(task: &str) -> EventScope {
    EventScope::Subagent { agent: task.to_owned(), parent_call: None, name: None }
}

fn is_of(owner: &EventScope, task: &str) -> bool {
    match owner {
        EventScope::Main => false,
        EventScope::Subagent { agent, .. } => agent == task,
    }
}
