//! The scenario that is written in a file: a JSON list of steps, for whatever no other scenario does.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::Scene;
use crate::model::ledger::Usage;
use crate::model::mint;
use crate::model::reply::{Answer, Block, Refusal, Reply, ToolCall};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Step {
    thinking: Option<String>,
    text: Option<String>,
    tools: Vec<Tool>,
    usage: Option<Usage>,
    delay_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: String,
    #[serde(default = "no_input")]
    input: Value,
}

fn no_input() -> Value {
    Value::Object(serde_json::Map::new())
}

pub(super) fn answer(scene: &Scene<'_>) -> Answer {
    let path = scene.marker.text("file", "script.json");
    let steps = match read(&path) {
        Ok(steps) => steps,
        Err(error) => return Answer::Refuse(Refusal::new(400, format!("script {path}: {error}"))),
    };
    match steps.into_iter().nth(scene.step) {
        Some(step) => Answer::Reply(reply(scene, step)),
        None => scene.say("Done."),
    }
}

fn read(path: &str) -> Result<Vec<Step>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn reply(scene: &Scene<'_>, step: Step) -> Reply {
    let mut blocks = Vec::new();
    blocks.extend(step.thinking.as_deref().map(Block::thinking));
    blocks.extend(step.text.as_deref().map(Block::text));
    blocks.extend(step.tools.into_iter().enumerate().map(|(position, tool)| {
        Block::Tool(ToolCall {
            id: mint::tool_id(scene.step, position),
            name: tool.name,
            input: tool.input,
        })
    }));
    let mut reply = Reply::new(blocks, step.usage.unwrap_or_else(|| scene.usage()));
    reply.delay = Duration::from_millis(step.delay_ms);
    reply
}
