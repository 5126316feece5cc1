//! Text in flight.

use musher_core::{
    Channel, Context, CostBasis, Delta, EventKind, ItemId, Spend, Tokens, UsageOf, UsageReport,
};

use super::super::frame::{BlockDelta, StreamEvent, StreamPart};
use super::{Frame, Translator, scope};
use crate::session::Signal;

/// A message of which pieces arrive.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    message: String,
    /// The call that a block proposes, by block.
    calls: Vec<(u64, String)>,
}

impl Translator {
    pub(super) fn stream_event(&mut self, frame: &mut Frame<'_>) -> Option<()> {
        let event: StreamEvent = frame.read()?;
        let parent = event.parent_tool_use_id.clone();
        let owner =
            scope(parent.as_deref(), event.agent_id.as_deref(), event.subagent_type.as_deref());
        match event.event {
            StreamPart::MessageStart { message } => {
                let usage = message.usage;
                let tokens = Tokens {
                    input: usage.input_tokens.unwrap_or(0),
                    cache_read: usage.cache_read_input_tokens.unwrap_or(0),
                    cache_write_other: usage.cache_creation_input_tokens.unwrap_or(0),
                    output: usage.output_tokens.unwrap_or(0),
                    ..Tokens::default()
                };
                if owner.is_main() {
                    self.model_call(frame, &message.id);
                }
                let report = UsageReport {
                    of: UsageOf::ModelCall,
                    cumulative: false,
                    model: Some(message.model),
                    spend: Spend { tokens, cost_usd: None },
                    cost_basis: CostBasis::Unknown,
                    context: Some(Context { used: tokens.context(), window: None }),
                    partial: true,
                };
                frame.event_in(owner, EventKind::Usage(report));
                let streaming = Streaming { message: message.id, calls: Vec::new() };
                self.streaming.insert(parent, streaming);
            }
            StreamPart::ContentBlockStart { index, content_block } => {
                if let (Some(streaming), Some(call)) =
                    (self.streaming.get_mut(&parent), content_block.id)
                {
                    streaming.calls.push((index, call));
                }
                frame.signal(Signal::Alive);
            }
            StreamPart::ContentBlockDelta { index, delta } => {
                let streaming = self.streaming.get(&parent);
                let text_item = || {
                    let message = streaming.map_or("", |streaming| streaming.message.as_str());
                    item_id(message, index)
                };
                let call_item = || {
                    let call = streaming.and_then(|s| s.calls.iter().find(|(at, _)| *at == index));
                    call.map_or_else(text_item, |(_, call)| ItemId::new(call.clone()))
                };
                let (item, channel, text) = match delta {
                    BlockDelta::TextDelta { text } => (text_item(), Channel::Text, text),
                    BlockDelta::ThinkingDelta { thinking } => {
                        (text_item(), Channel::Reasoning, thinking)
                    }
                    BlockDelta::InputJsonDelta { partial_json } => {
                        (call_item(), Channel::ToolInput, partial_json)
                    }
                    BlockDelta::Other => {
                        frame.signal(Signal::Alive);
                        return Some(());
                    }
                };
                frame.signal(Signal::Delta(Delta { item, channel, text, scope: owner }));
            }
            StreamPart::Other => frame.signal(Signal::Alive),
        }
        Some(())
    }

    /// Counts a call to the model once, whether its message is streamed or comes whole.
    pub(super) fn model_call(&mut self, frame: &mut Frame<'_>, message: &str) {
        if self.blocks.get(message).is_none() {
            self.blocks.add(message, 0);
            frame.signal(Signal::ModelCall);
        }
    }
}

/// A block of a message; the streamed pieces and the whole one agree on it.
pub(super) fn item_id(message: &str, index: u64) -> ItemId {
    ItemId::new(format!("{message}:{index}"))
}
