//! The scope of an operator: stories, runs, asks, logs and diffs of one project, as tools for an assistant.

mod asks;
mod diff;
mod events;
mod name;
mod runs;
mod stories;
mod wait;

use std::sync::Arc;

use musher_core::ToolKind;
use musher_runtime::CancellationToken;
use musher_runtime::tools::{ReplyFuture, ToolCall, ToolHost, ToolReply, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::api_client::{ApiClient, ApiRequest};
use super::input;

/// What a model is told of these tools as a whole.
pub const INSTRUCTIONS: &str = "\
Musher drives a team of coding agents. A story is a piece of work; a run is one try of an agent at a story, on a branch \
of its own. Add a story, start a run on it, wait for the run, read what it changed. While a run waits for a person, \
list_asks tells what it asks; relay that to your person, and answer only what they decided. Runs are named r1, r2 …, or \
by their story, which means its latest run.";

/// The longest text for a model; what is longer is cut.
const MAX_TOOL_TEXT_BYTES: usize = 100_000;

/// The tools of an operator. It holds no rules: each call becomes a request like any other client's.
#[derive(Debug, Clone)]
pub struct Operator {
    office: Arc<dyn ApiClient>,
}

impl Operator {
    pub fn new(office: impl ApiClient + 'static) -> Self {
        Self { office: Arc::new(office) }
    }
}

/// A tool that is one request and its reply.
trait OperatorTool: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const KIND: ToolKind;

    fn wanted(self) -> ApiRequest;

    /// The reply for programs and the reply for a model.
    fn shown(reply: Json) -> (Json, String) {
        let text = reply.to_string();
        (reply, text)
    }
}

/// One row of the table.
struct Row {
    name: &'static str,
    spec: fn() -> ToolSpec,
    wanted: fn(Json) -> Result<ApiRequest, ToolReply>,
    shown: fn(Json) -> (Json, String),
}

const fn row<T: OperatorTool>() -> Row {
    Row {
        name: T::NAME,
        spec: || input::spec::<T>(T::NAME, T::ABOUT, T::KIND),
        wanted: |given| Ok(input::read::<T>(T::NAME, given)?.wanted()),
        shown: T::shown,
    }
}

/// The errands in the order in which they are listed.
static TABLE: &[Row] = &[
    row::<stories::ListStories>(),
    row::<stories::ReadStory>(),
    row::<stories::AddStory>(),
    row::<runs::ListAgents>(),
    row::<runs::StartRun>(),
    row::<runs::ListRuns>(),
    row::<runs::ReadRun>(),
    row::<runs::PromptRun>(),
    row::<runs::InterruptRun>(),
    row::<runs::StopRun>(),
    row::<events::ReadEvents>(),
    row::<diff::ReadDiff>(),
    row::<asks::ListAsks>(),
    row::<asks::AnswerAsk>(),
    row::<runs::ChangeModel>(),
];

impl ToolHost for Operator {
    fn tools(&self) -> Vec<ToolSpec> {
        let wait = input::spec::<wait::WaitForRuns>(wait::NAME, wait::ABOUT, ToolKind::Read);
        TABLE.iter().map(|row| (row.spec)()).chain([wait]).collect()
    }

    fn call<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ReplyFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                reply = self.do_errand(call) => reply.unwrap_or_else(|failed| failed),
                () = cancel.cancelled() => ToolReply::cancelled(),
            }
        })
    }
}

impl Operator {
    async fn do_errand(&self, call: ToolCall) -> Result<ToolReply, ToolReply> {
        if call.name == wait::NAME {
            let given = input::read::<wait::WaitForRuns>(wait::NAME, call.input)?;
            return wait::wait(self.office.as_ref(), given, &call.progress).await;
        }
        let Some(row) = TABLE.iter().find(|row| row.name == call.name) else {
            let shown: String = call.name.chars().take(64).collect();
            let text = format!("there is no tool `{}`; list the tools", shown.escape_debug());
            return Err(ToolReply::failed(text));
        };
        let reply = self.office.ask((row.wanted)(call.input)?).await;
        let (structured, text) = (row.shown)(reply.map_err(|why| refused(&why))?);
        Ok(ToolReply::done(cut(text)).with_structured(structured))
    }
}

fn refused(why: &super::api_client::ApiRefused) -> ToolReply {
    ToolReply::failed(why.to_string())
}

/// The beginning of a text that is too long.
fn cut(mut text: String) -> String {
    if text.len() > MAX_TOOL_TEXT_BYTES {
        let end = text.floor_char_boundary(MAX_TOOL_TEXT_BYTES);
        let rest = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n… {rest} more bytes were cut; ask for less"));
    }
    text
}
