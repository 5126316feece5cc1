//! The content of a message, read in one go: a text, or blocks of many kinds.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor as _};
use serde_json::Value as Json;

use crate::json::{Loose, loose, next_loose};

/// More blocks than this in one message are no conversation.
const BLOCKS: usize = 256;

#[derive(Debug, Default)]
pub(in super::super) enum Content<'a> {
    Text(String),
    Blocks(Vec<Block<'a>>),
    /// Neither, or more than can be meant.
    #[default]
    Odd,
}

/// A block of content, of whatever kind. Fields that are not of the expected shape are as good as missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Block<'a> {
    #[serde(rename = "type", borrow, deserialize_with = "loose")]
    pub(in super::super) kind: Cow<'a, str>,
    #[serde(deserialize_with = "loose")]
    pub(in super::super) id: Cow<'a, str>,
    #[serde(deserialize_with = "loose")]
    pub(in super::super) name: Cow<'a, str>,
    pub(in super::super) input: Json,
    #[serde(deserialize_with = "loose")]
    pub(in super::super) text: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub(in super::super) thinking: Option<String>,
    pub(in super::super) signature: Option<Json>,
    pub(in super::super) data: Option<Json>,
    #[serde(deserialize_with = "loose")]
    pub(in super::super) tool_use_id: Cow<'a, str>,
    pub(in super::super) content: Json,
    #[serde(deserialize_with = "loose")]
    pub(in super::super) is_error: bool,
}

impl<'de> Loose<'de> for Content<'de> {
    fn text(text: Cow<'de, str>) -> Self {
        Self::Text(text.into_owned())
    }

    fn nothing() -> Self {
        Self::Blocks(Vec::new())
    }

    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = next_loose(&mut list)? {
            if blocks.len() == BLOCKS {
                return IgnoredAny.visit_seq(list).map(|_| Self::Odd);
            }
            blocks.push(block);
        }
        Ok(Self::Blocks(blocks))
    }
}

impl<'de> Loose<'de> for Block<'de> {
    fn object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(object))
    }
}
