//! Text in flight.

use std::collections::HashMap;
use std::fmt::Write as _;

use musher_core::{Channel, Delta, ItemId};

use super::super::frame::StreamEvent;
use super::{AgentFrame, Translator, scope};
use crate::session::Signal;

/// The messages of which pieces arrive: that of the agent, and those of its helpers by the call that they belong to.
#[derive(Debug, Default)]
pub(super) struct StreamingMessages {
    main: Option<Streaming>,
    helpers: HashMap<String, Streaming>,
}

impl StreamingMessages {
    fn of(&self, parent: Option<&str>) -> Option<&Streaming> {
        match parent {
            None => self.main.as_ref(),
            Some(call) => self.helpers.get(call),
        }
    }

    fn of_mut(&mut self, parent: Option<&str>) -> Option<&mut Streaming> {
        match parent {
            None => self.main.as_mut(),
            Some(call) => self.helpers.get_mut(call),
        }
    }

    fn begin(&mut self, parent: Option<&str>, message: String) {
        let streaming = Streaming { message, calls: Vec::new() };
        match parent {
            None => self.main = Some(streaming),
            Some(call) => {
                self.helpers.insert(call.to_owned(), streaming);
            }
        }
    }
}

/// A message of which pieces arrive.
#[derive(Debug, Default)]
struct Streaming {
    message: String,
    /// The call that a block proposes, by block.
    calls: Vec<(u64, String)>,
}

impl Translator {
    pub(super) fn stream_event(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let mut event = StreamEvent::read(frame.text)?;
        let parent = event.parent_tool_use_id.as_deref();
        let owner = scope(parent, event.agent_id.as_deref(), event.subagent_type.as_deref());
        let part = &mut event.event;
        match &*part.kind {
            "message_start" => {
                let message = part.message.take()?;
                if owner.is_main() {
                    self.model_call(frame, &message.id);
                }
                self.calls.began(frame, &owner, &message.id, &message.model, &message.usage);
                self.streaming.begin(parent, message.id);
            }
            "content_block_start" => {
                let block = part.content_block.take()?;
                let streaming = self.streaming.of_mut(parent);
                if let (Some(streaming), Some(call)) = (streaming, block.id) {
                    streaming.calls.push((part.index?, call));
                }
                frame.signal(Signal::Alive);
            }
            "content_block_delta" => {
                let (index, delta) = (part.index?, part.delta.as_mut()?);
                let (channel, text) = match &*delta.kind {
                    "text_delta" => (Channel::Text, delta.text.take()?),
                    "thinking_delta" => (Channel::Reasoning, delta.thinking.take()?),
                    "input_json_delta" => (Channel::ToolInput, delta.partial_json.take()?),
                    _ => {
                        frame.signal(Signal::Alive);
                        return Some(());
                    }
                };
                let streaming = self.streaming.of(parent);
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
                let ended = part.delta.as_ref().is_some_and(|delta| delta.stop_reason.is_some());
                let usage = part.usage.take().unwrap_or_default();
                if let Some(streaming) = self.streaming.of(parent) {
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
    // There is one for each piece of text: the digits are written in place.
    let mut id = String::with_capacity(message.len() + 4);
    id.push_str(message);
    // Writing to a text cannot fail.
    let _written = write!(id, ":{index}");
    ItemId::new(id)
}
