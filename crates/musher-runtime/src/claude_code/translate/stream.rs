//! Text in flight.

use musher_core::{Channel, Delta, ItemId};

use super::super::frame::StreamEvent;
use super::{AgentFrame, Translator, scope};
use crate::session::Signal;

/// A message of which pieces arrive.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    message: String,
    /// The call that a block proposes, by block.
    calls: Vec<(u64, String)>,
}

impl Translator {
    pub(super) fn stream_event(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let event = StreamEvent::read(frame.text)?;
        let parent = event.parent_tool_use_id.as_deref();
        let owner = scope(parent, event.agent_id.as_deref(), event.subagent_type.as_deref());
        let part = event.event;
        match &*part.kind {
            "message_start" => {
                let message = part.message?;
                if owner.is_main() {
                    self.model_call(frame, &message.id);
                }
                self.calls.began(frame, &owner, &message.id, &message.model, &message.usage);
                let streaming = Streaming { message: message.id, calls: Vec::new() };
                self.streaming.insert(parent.map(str::to_owned), streaming);
            }
            "content_block_start" => {
                let block = part.content_block?;
                let streaming = self.streaming.get_mut(&parent.map(str::to_owned));
                if let (Some(streaming), Some(call)) = (streaming, block.id) {
                    streaming.calls.push((part.index?, call));
                }
                frame.signal(Signal::Alive);
            }
            "content_block_delta" => {
                let (index, delta) = (part.index?, part.delta?);
                let (channel, text) = match &*delta.kind {
                    "text_delta" => (Channel::Text, delta.text?),
                    "thinking_delta" => (Channel::Reasoning, delta.thinking?),
                    "input_json_delta" => (Channel::ToolInput, delta.partial_json?),
                    _ => {
                        frame.signal(Signal::Alive);
                        return Some(());
                    }
                };
                let streaming = self.streaming.get(&parent.map(str::to_owned));
                if let Some(streaming) = streaming {
                    self.calls.grew(&streaming.message, text.len());
                }
                let call = streaming.filter(|_| channel == Channel::ToolInput).and_then(|open| {
                    open.calls.iter().find(|(at, _)| *at == index).map(|(_, call)| call.clone())
                });
                let item = call.map(ItemId::new).unwrap_or_else(|| {
                    item_id(streaming.map_or("", |streaming| streaming.message.as_str()), index)
                });
                frame.signal(Signal::Delta(Delta { item, channel, text, scope: owner }));
            }
            "message_delta" => {
                let ended = part.delta.is_some_and(|delta| delta.stop_reason.is_some());
                let usage = part.usage.unwrap_or_default();
                if let Some(streaming) = self.streaming.get(&parent.map(str::to_owned)) {
                    self.calls.used(frame, &streaming.message, &usage, ended);
                }
                frame.signal(Signal::Alive);
            }
            _ => frame.signal(Signal::Alive),
        }
        Some(())
    }

    /// Counts a call to the model once, whether its message is streamed or comes whole.
    pub(super) fn model_call(&mut self, frame: &mut AgentFrame<'_>, message: &str) {
        if self.blocks.get(message).is_none() {
            self.blocks.add(message, 0);
            frame.signal(Signal::ModelCall);
        }
    }
}

/// A block of a message; the streamed pieces and the whole one agree on it.
pub(super) fn item_id(message: &str, index: u64) -> ItemId {
    let index = index.to_string();
    ItemId::new([message, &index].join(":"))
}
