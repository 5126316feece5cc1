//! What the agent says and thinks: it comes in pieces, and nothing tells where one message ends.

use musher_core::{Channel, Delta, EventKind, EventScope, ItemBody, ItemId};
use serde::Deserialize;

use super::{AcpTranslator, AgentFrame, Signal};
use crate::json::{self, JsonText, RawJson};

/// A message that grows beyond this is told in parts.
const MAX_PART_BYTES: usize = 256 * 1024;

/// Whether it is said or thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Text,
    Thought,
}

/// The message that is being said, if any.
#[derive(Debug, Default)]
pub(super) struct OpenTexts {
    minted: u64,
    open: Option<OpenText>,
}

#[derive(Debug)]
struct OpenText {
    item: ItemId,
    message: Option<String>,
    scope: EventScope,
    voice: Voice,
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    content: ChunkContent<'a>,
    #[serde(default, borrow)]
    message_id: Option<JsonText<'a>>,
    #[serde(default, borrow, rename = "_meta")]
    meta: Option<RawJson<'a>>,
}

#[derive(Deserialize)]
struct ChunkContent<'a> {
    #[serde(rename = "type", borrow)]
    kind: JsonText<'a>,
    #[serde(default, borrow)]
    text: Option<JsonText<'a>>,
}

impl AcpTranslator {
    pub(super) fn said(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: EventScope,
        update: &str,
        voice: Voice,
    ) -> Option<()> {
        let Chunk { content, message_id, meta } = json::read(update)?;
        if let Some(meta) = meta {
            self.chunk_usage(&scope, &meta);
        }
        // Pictures and the like are kept as they are.
        let text = content.text.filter(|_| &*content.kind == "text")?;
        if text.is_empty() {
            frame.signal(Signal::Alive);
            return Some(());
        }
        let same = self.texts.open.as_ref().is_some_and(|open| {
            open.voice == voice
                && open.scope == scope
                && open.message.as_deref() == message_id.as_deref()
                && open.text.len() + text.len() <= MAX_PART_BYTES
        });
        if !same {
            self.close_text(frame);
            self.answers(frame, &scope);
            self.texts.minted += 1;
            self.texts.open = Some(OpenText {
                item: ItemId::new(format!("message-{}", self.texts.minted)),
                message: message_id.map(|id| id.to_string()),
                scope: scope.clone(),
                voice,
                text: String::new(),
            });
        }
        let open = self.texts.open.as_mut()?;
        open.text.push_str(&text);
        let channel = match voice {
            Voice::Text => Channel::Text,
            Voice::Thought => Channel::Reasoning,
        };
        let item = open.item.clone();
        frame.signal(Signal::Delta(Delta { item, channel, text: text.to_string(), scope }));
        Some(())
    }

    /// What is being said, or was said last in this turn.
    pub(super) fn last_words(&self) -> &str {
        let open = self.texts.open.as_ref().map(|open| open.text.as_str());
        open.or_else(|| self.turn.as_ref()?.said.as_deref()).unwrap_or_default()
    }

    /// The message ends: something else begins.
    pub(super) fn close_text(&mut self, frame: &mut AgentFrame<'_>) {
        self.end_text(frame, false);
    }

    /// The message ends, and may have been broken off.
    pub(super) fn end_text(&mut self, frame: &mut AgentFrame<'_>, aborted: bool) {
        let Some(OpenText { item, scope, voice, text, .. }) = self.texts.open.take() else {
            return;
        };
        let body = match voice {
            Voice::Text => {
                if let Some(turn) = self.turn.as_mut().filter(|_| scope.is_main()) {
                    turn.said = Some(text.clone());
                }
                ItemBody::Text { text }
            }
            Voice::Thought => ItemBody::Reasoning { text, opaque: None },
        };
        frame.event_in(scope, EventKind::ItemDone { item, body, aborted });
    }
}
