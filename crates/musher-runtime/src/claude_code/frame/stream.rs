//! A piece of a message in flight. There are more of these lines than of all others together.

use serde::Deserialize;

use crate::json::{JsonText, Plain, lenient, once, read};

#[derive(Debug, Deserialize)]
pub(in super::super) struct StreamEvent<'a> {
    #[serde(borrow)]
    pub(in super::super) event: StreamPart<'a>,
    pub(in super::super) parent_tool_use_id: Option<JsonText<'a>>,
    pub(in super::super) agent_id: Option<JsonText<'a>>,
    pub(in super::super) subagent_type: Option<JsonText<'a>>,
}

/// Its kind tells which of the fields are there. Those that few lines have are apart, so that the others are short to move.
#[derive(Debug, Deserialize)]
pub(in super::super) struct StreamPart<'a> {
    #[serde(rename = "type", borrow)]
    pub(in super::super) kind: JsonText<'a>,
    pub(in super::super) index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(in super::super) message: Option<Box<StartedMessage>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(in super::super) content_block: Option<BlockStart>,
    pub(in super::super) delta: Option<BlockDelta<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(in super::super) usage: Option<Box<ApiUsage>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct BlockDelta<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(in super::super) kind: JsonText<'a>,
    pub(in super::super) text: Option<String>,
    pub(in super::super) thinking: Option<String>,
    pub(in super::super) partial_json: Option<String>,
    pub(in super::super) stop_reason: Option<JsonText<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct StartedMessage {
    #[serde(default)]
    pub(in super::super) id: String,
    #[serde(default)]
    pub(in super::super) model: String,
    #[serde(default)]
    pub(in super::super) usage: ApiUsage,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct ApiUsage {
    pub(in super::super) input_tokens: Option<u64>,
    pub(in super::super) output_tokens: Option<u64>,
    pub(in super::super) cache_read_input_tokens: Option<u64>,
    pub(in super::super) cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(in super::super) cache_creation: Option<CacheCreation>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct CacheCreation {
    pub(in super::super) ephemeral_5m_input_tokens: Option<u64>,
    pub(in super::super) ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct BlockStart {
    #[serde(default)]
    pub(in super::super) id: Option<String>,
}

impl<'a> StreamEvent<'a> {
    pub(in super::super) fn read(line: &'a str) -> Option<Self> {
        Self::read_plain(line).or_else(|| read(line))
    }

    fn read_plain(line: &'a str) -> Option<Self> {
        let (mut event, mut parent, mut agent, mut name) = (None, None, None, None);
        let mut plain = Plain::new(line)?;
        plain.object(|plain, field| match field {
            "event" => once(&mut event, StreamPart::read_plain(plain)?),
            "parent_tool_use_id" => once(&mut parent, plain.optional_text()?),
            "agent_id" => once(&mut agent, plain.optional_text()?),
            "subagent_type" => once(&mut name, plain.optional_text()?),
            _ => plain.skip(),
        })?;
        plain.end()?;
        Some(Self {
            event: event?,
            parent_tool_use_id: parent.flatten(),
            agent_id: agent.flatten(),
            subagent_type: name.flatten(),
        })
    }
}

impl<'a> StreamPart<'a> {
    fn read_plain(plain: &mut Plain<'a>) -> Option<Self> {
        let (mut kind, mut index, mut delta) = (None, None, None);
        let (mut message, mut content_block, mut usage) = (None, None, None);
        plain.object(|plain, field| match field {
            "type" => once(&mut kind, plain.text()?),
            "index" => once(&mut index, plain.count()?),
            "delta" => once(&mut delta, BlockDelta::read_plain(plain)?),
            "message" => once(&mut message, Box::new(StartedMessage::read_plain(plain)?)),
            "content_block" => once(&mut content_block, BlockStart::read_plain(plain)?),
            "usage" => once(&mut usage, Box::new(ApiUsage::read_plain(plain)?)),
            _ => plain.skip(),
        })?;
        Some(Self { kind: kind?, index, message, content_block, delta, usage })
    }
}

impl<'a> BlockDelta<'a> {
    fn read_plain(plain: &mut Plain<'a>) -> Option<Self> {
        let (mut kind, mut text, mut thinking, mut partial_json) = (None, None, None, None);
        let mut stop_reason = None;
        plain.object(|plain, field| match field {
            "type" => once(&mut kind, plain.text()?),
            "text" => once(&mut text, plain.string()?),
            "thinking" => once(&mut thinking, plain.string()?),
            "partial_json" => once(&mut partial_json, plain.string()?),
            "stop_reason" => once(&mut stop_reason, plain.optional_text()?),
            _ => plain.skip(),
        })?;
        let (kind, stop_reason) = (kind.unwrap_or_default(), stop_reason.flatten());
        Some(Self { kind, text, thinking, partial_json, stop_reason })
    }
}

impl StartedMessage {
    fn read_plain(plain: &mut Plain<'_>) -> Option<Self> {
        let (mut id, mut model, mut usage) = (None, None, None);
        plain.object(|plain, field| match field {
            "id" => once(&mut id, plain.string()?),
            "model" => once(&mut model, plain.string()?),
            "usage" => once(&mut usage, ApiUsage::read_plain(plain)?),
            _ => plain.skip(),
        })?;
        Some(Self {
            id: id.unwrap_or_default(),
            model: model.unwrap_or_default(),
            usage: usage.unwrap_or_default(),
        })
    }
}

impl ApiUsage {
    fn read_plain(plain: &mut Plain<'_>) -> Option<Self> {
        let (mut input, mut output, mut cache_read, mut cache_write) = (None, None, None, None);
        let mut cache_creation = None;
        plain.object(|plain, field| match field {
            "input_tokens" => once(&mut input, plain.optional_count()?),
            "output_tokens" => once(&mut output, plain.optional_count()?),
            "cache_read_input_tokens" => once(&mut cache_read, plain.optional_count()?),
            "cache_creation_input_tokens" => once(&mut cache_write, plain.optional_count()?),
            "cache_creation" => once(&mut cache_creation, CacheCreation::read_plain(plain)?),
            _ => plain.skip(),
        })?;
        Some(Self {
            input_tokens: input.flatten(),
            output_tokens: output.flatten(),
            cache_read_input_tokens: cache_read.flatten(),
            cache_creation_input_tokens: cache_write.flatten(),
            cache_creation,
        })
    }
}

impl CacheCreation {
    fn read_plain(plain: &mut Plain<'_>) -> Option<Self> {
        let (mut five_minutes, mut one_hour) = (None, None);
        plain.object(|plain, field| match field {
            "ephemeral_5m_input_tokens" => once(&mut five_minutes, plain.optional_count()?),
            "ephemeral_1h_input_tokens" => once(&mut one_hour, plain.optional_count()?),
            _ => plain.skip(),
        })?;
        Some(Self {
            ephemeral_5m_input_tokens: five_minutes.flatten(),
            ephemeral_1h_input_tokens: one_hour.flatten(),
        })
    }
}

impl BlockStart {
    fn read_plain(plain: &mut Plain<'_>) -> Option<Self> {
        let mut id = None;
        plain.object(|plain, field| match field {
            "id" => once(&mut id, plain.string()?),
            _ => plain.skip(),
        })?;
        Some(Self { id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_pieces_of_text_are_read_the_fast_way_and_mean_the_same() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/claude");
        let mut pieces = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
            for line in String::from_utf8_lossy(&bytes).lines() {
                let ordinary: Option<StreamEvent<'_>> = read(line);
                let plain = StreamEvent::read_plain(line);
                if ordinary.is_some() {
                    assert!(plain.is_some(), "{line}");
                    pieces += 1;
                }
                if plain.is_some() {
                    assert_eq!(format!("{plain:?}"), format!("{ordinary:?}"), "{line}");
                }
            }
        }
        assert!(pieces > 100, "{pieces}");
    }
}
