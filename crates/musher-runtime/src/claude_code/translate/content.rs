//! Whole messages: what the agent said, proposed and was told.

use musher_core::{
    CallId, ErrorInfo, EventKind, EventScope, ItemBody, Origin, ToolKind, ToolOutput, ToolPhase,
    ToolUpdate,
};
use serde_json::Value as Json;

use super::super::frame::{
    Assistant, Block, Content, MessageFrame, ToolResultMeta, User, Verbatim,
};
use super::super::tools;
use super::stream::item_id;
use super::{AgentFrame, Translator, scope};
use crate::session::Signal;

/// The model of messages that the program itself makes up.
const SYNTHETIC: &str = "<synthetic>";

impl Translator {
    pub(super) fn assistant(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let mut said: Assistant<'_> = frame.read()?;
        let content = std::mem::take(&mut said.message.content);
        if matches!(content, Content::Odd) {
            return None;
        }
        let owner = scope(
            said.parent_tool_use_id.as_deref(),
            said.agent_id.as_deref(),
            said.subagent_type.as_deref(),
        );
        if !said.supersedes.is_empty() {
            self.retract(frame, &said.supersedes, "superseded");
        }
        let synthetic = &*said.message.model == SYNTHETIC;
        if !synthetic && self.blocks.get(&said.message.id).is_none() {
            // It was not streamed. What the agent itself says so is whole.
            let MessageFrame { id, model, usage, .. } = &said.message;
            match usage {
                Some(usage) if owner.is_main() => {
                    self.calls.came_whole(frame, &owner, id, model, usage);
                }
                Some(usage) => self.calls.began(frame, &owner, id, model, usage),
                None => {}
            }
            if owner.is_main() {
                self.model_call(frame, id);
            }
        }
        if let Some(code) = &said.error {
            let text = text_of(&content);
            let class = self.trouble.heard(code, said.api_error.as_deref());
            let mut error = ErrorInfo::new(class, text).with_code(code.clone());
            error.request_id = said.request_id;
            self.trouble.message = Some(error.message.clone());
            frame.event_in(owner, EventKind::Error { error });
            return Some(());
        }
        let blocks = match content {
            Content::Text(text) => {
                let body = ItemBody::Text { text };
                self.said(frame, &said, &owner, body);
                return Some(());
            }
            Content::Blocks(blocks) => blocks,
            Content::Odd => return None,
        };
        for (nth, block) in blocks.into_iter().enumerate() {
            let body = match &*block.kind {
                "tool_use" | "server_tool_use" => {
                    // Every block has its number, also one that becomes no content.
                    self.next_block(&said.message.id);
                    self.proposed(frame, &owner, block);
                    continue;
                }
                "text" => ItemBody::Text { text: block.text.unwrap_or_default() },
                "thinking" => ItemBody::Reasoning {
                    text: block.thinking.unwrap_or_default(),
                    opaque: block.signature,
                },
                "redacted_thinking" => {
                    ItemBody::Reasoning { text: String::new(), opaque: block.data }
                }
                other => ItemBody::Other { name: other.to_owned(), value: verbatim(frame, nth) },
            };
            self.said(frame, &said, &owner, body);
        }
        Some(())
    }

    fn said(
        &mut self,
        frame: &mut AgentFrame<'_>,
        said: &Assistant<'_>,
        owner: &EventScope,
        body: ItemBody,
    ) {
        let item = item_id(&said.message.id, self.next_block(&said.message.id));
        if let Some(uuid) = &said.uuid {
            self.remember(uuid, item.clone());
        }
        frame.event_in(owner.clone(), EventKind::ItemDone { item, body, aborted: said.aborted });
    }

    fn remember(&mut self, uuid: &str, item: musher_core::ItemId) {
        match self.items.newest(uuid) {
            Some(items) => items.push(item),
            None => self.items.add(uuid, vec![item]),
        }
    }

    /// The number of the next block of a message.
    fn next_block(&mut self, message: &str) -> u64 {
        match self.blocks.get(message) {
            Some(next) => std::mem::replace(next, *next + 1),
            None => {
                self.blocks.add(message, 1);
                0
            }
        }
    }

    pub(super) fn retract(&mut self, frame: &mut AgentFrame<'_>, messages: &[String], why: &str) {
        let items: Vec<_> =
            messages.iter().filter_map(|message| self.items.remove(message)).flatten().collect();
        frame.event(EventKind::ItemsRetracted { items, why: why.to_owned() });
    }

    fn proposed(&mut self, frame: &mut AgentFrame<'_>, owner: &EventScope, block: Block<'_>) {
        let name = block.name.into_owned();
        let call = CallId::new(block.id);
        let input = block.input;
        let kind = tools::kind(&name);
        if kind == ToolKind::Plan
            && let Some(plan) = input["plan"].as_str()
        {
            self.plans.insert(call.clone(), plan.to_owned());
        }
        if let Some(entries) = tools::plan(&name, &input) {
            frame.event_in(owner.clone(), EventKind::Plan { entries });
        }
        let update = ToolUpdate {
            kind: Some(kind),
            subject: tools::subject(kind, &input).text,
            edits: tools::edits(&name, &input),
            name: Some(name),
            input: Some(input),
            ..ToolUpdate::phase(call, ToolPhase::Proposed)
        };
        frame.event_in(owner.clone(), EventKind::Tool(Box::new(update)));
    }

    pub(super) fn user(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let told: User<'_> = frame.read()?;
        let content = told.message.content;
        if matches!(content, Content::Odd) {
            return None;
        }
        let owner = scope(
            told.parent_tool_use_id.as_deref(),
            told.agent_id.as_deref(),
            told.subagent_type.as_deref(),
        );
        if told.uuid.as_ref().is_some_and(|uuid| self.own_prompts.contains(&**uuid)) {
            // The driver has recorded it when it was sent.
            frame.signal(Signal::Alive);
            return Some(());
        }
        let origin = if told.is_replay { Origin::Replay } else { Origin::Synthetic };
        let blocks = match content {
            Content::Text(text) => {
                let attachments = Vec::new();
                let message = EventKind::UserMessage { prompt: None, text, origin, attachments };
                frame.event_in(owner, message);
                return Some(());
            }
            Content::Blocks(blocks) => blocks,
            Content::Odd => return None,
        };
        let results = blocks.iter().filter(|block| block.kind == "tool_result").count();
        // The structured result is told once for the whole frame; with several results nobody knows whose it is.
        let mut structured = told.tool_use_result.filter(|_| results == 1);
        for (nth, block) in blocks.into_iter().enumerate() {
            match &*block.kind {
                "tool_result" => {
                    let update = tool_result(block, &told.tool_result_meta, structured.take());
                    frame.event_in(owner.clone(), EventKind::Tool(Box::new(update)));
                }
                "text" => {
                    let text = block.text.unwrap_or_default();
                    let attachments = Vec::new();
                    let message =
                        EventKind::UserMessage { prompt: None, text, origin, attachments };
                    frame.event_in(owner.clone(), message);
                }
                other => {
                    let name = format!("user/{}", if other.is_empty() { "block" } else { other });
                    let native = EventKind::Native { name, frame: Some(verbatim(frame, nth)) };
                    frame.event_in(owner.clone(), native);
                }
            }
        }
        Some(())
    }

    pub(super) fn tool_progress(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let progress: Json = frame.read()?;
        let call = CallId::new(progress["tool_use_id"].as_str()?);
        let elapsed = progress["elapsed_time_seconds"].as_f64();
        let update = ToolUpdate {
            elapsed_ms: elapsed.map(|seconds| (seconds * 1000.0) as u64),
            ..ToolUpdate::phase(call, ToolPhase::Progress)
        };
        let owner = scope(progress["parent_tool_use_id"].as_str(), None, None);
        frame.event_in(owner, EventKind::Tool(Box::new(update)));
        Some(())
    }
}

/// A block as it came. Few are of a kind that nobody knows, so that for those the frame is read again.
fn verbatim(frame: &AgentFrame<'_>, nth: usize) -> Json {
    let read: Option<Verbatim> = frame.read();
    let block = read.and_then(|read| read.message.content.into_iter().nth(nth));
    block.unwrap_or_default()
}

fn tool_result(block: Block<'_>, metas: &[ToolResultMeta], structured: Option<Json>) -> ToolUpdate {
    let id = block.tool_use_id;
    let text = unwrapped(match block.content {
        Json::String(text) => text,
        Json::Array(parts) => {
            let texts = parts.iter().map(|part| part["text"].as_str().unwrap_or("[not text]"));
            texts.collect::<Vec<_>>().join("\n")
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => String::new(),
    });
    let failed = block.is_error;
    let meta = metas.iter().find(|meta| meta.id == id);
    let rejected = meta
        .and_then(|meta| meta.permission_decision.as_ref())
        .is_some_and(|decision| decision.decision == "reject");
    let phase = match meta.and_then(|meta| meta.non_execution_kind.as_deref()) {
        Some(_) if rejected => ToolPhase::Denied,
        // Without a decision against it, the call was stopped rather than refused.
        Some("user-rejected") => ToolPhase::Cancelled,
        Some("permission-rule") => ToolPhase::Denied,
        Some(_) | None if failed => ToolPhase::Failed,
        Some(_) | None => ToolPhase::Completed,
    };
    let exit_code = structured.as_ref().and_then(exit_code);
    let reason = (phase == ToolPhase::Denied).then(|| text.clone());
    ToolUpdate {
        output: Some(ToolOutput { text, structured, exit_code }),
        reason,
        ..ToolUpdate::phase(CallId::new(id), phase)
    }
}

/// The text without what the program puts around its own errors.
fn unwrapped(text: String) -> String {
    let inner =
        text.strip_prefix("<tool_use_error>").and_then(|t| t.strip_suffix("</tool_use_error>"));
    if let Some(inner) = inner {
        return inner.to_owned();
    }
    match text.split_once(" hook error: ") {
        Some((hook, reason)) if hook.starts_with("PreToolUse:") && !hook.contains(' ') => {
            reason.to_owned()
        }
        _ => text,
    }
}

fn exit_code(structured: &Json) -> Option<i32> {
    let code = structured.get("exitCode").or_else(|| structured.get("exit_code"))?;
    i32::try_from(code.as_i64()?).ok()
}

fn text_of(content: &Content<'_>) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.text.as_deref());
            texts.collect::<Vec<_>>().join("\n")
        }
        Content::Odd => String::new(),
    }
}
