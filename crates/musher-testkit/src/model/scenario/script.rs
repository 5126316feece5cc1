//! The scenario that is written in a file: a JSON list of steps, for whatever no other scenario does.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{Scene, refuse};
use crate::model::ledger::Usage;
use crate::model::reply::{Answer, Block, Reply, ToolCall};
use crate::model::trouble::Trouble;

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
        Err(error) => return refuse(Trouble::Invalid(format!("script {path}: {error}"))),
    };
    match steps.into_iter().nth(scene.step) {
        Some(step) => Answer::Reply(Box::new(reply(scene, step))),
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
    let calls = step.tools.into_iter().map(|tool| ToolCall::new(tool.name, tool.input));
    blocks.extend(calls.map(Block::Tool));
    let mut reply = Reply::new(blocks, step.usage.unwrap_or_else(|| scene.usage()));
    reply.delay = Duration::from_millis(step.delay_ms);
    reply
}
