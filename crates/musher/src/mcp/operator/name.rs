//! How a run is named: `r12`, or `STORY` or `STORY:AGENT` for the latest.

use std::borrow::Cow;

use musher_core::{AgentName, IdError, RunId, StoryId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// The name of a run, which was checked: it can be a step of a path and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct RunPathName(String);

impl RunPathName {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunPathName {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        if RunId::parse(&text).is_err() {
            let (story, agent) = match text.split_once(':') {
                Some((story, agent)) => (story, Some(agent)),
                None => (text.as_str(), None),
            };
            StoryId::parse(story)?;
            agent.map(AgentName::parse).transpose()?;
        }
        Ok(Self(text))
    }
}

impl JsonSchema for RunPathName {
    fn schema_name() -> Cow<'static, str> {
        "RunName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A run such as `r12`, or a story's id for its latest run."
        })
    }
}
