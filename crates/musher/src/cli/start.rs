//! `musher start`: starts an agent on a story.

use clap::Args;
use musher_core::{AgentName, StoryId};
use serde_json::Value as Json;

use super::logs;
use super::place::PlaceArgs;
use super::run_options::RunOptionArgs;
use super::{CliError, CliExit, receipt, words};
use musher_client::api::ApiReceipt;

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The story's id.
    story: StoryId,
    /// The agent; the first one in the project file if left out.
    agent: Option<AgentName>,
    /// What to do, instead of what the story says; `-` reads it from standard input.
    #[arg(short, long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Use another model than the agent's own.
    #[arg(short, long)]
    model: Option<String>,
    #[command(flatten)]
    options: RunOptionArgs,
    /// Follow the run until it ends.
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

impl StartArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let prompt = self.prompt.map(|text| words::read("prompt", Some(text), None)).transpose()?;
        let mut body = self.options.fields()?;
        let mut put = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                body.insert(name.into(), value.into());
            }
        };
        put("agent", self.agent.map(String::from));
        put("model", self.model);
        put("prompt", prompt);
        let path = ["stories", self.story.as_str(), "start"];
        let reply = place.client()?.post(&path, &Json::Object(body)).await?;
        let receipt: ApiReceipt = reply.read()?;
        match receipt {
            ApiReceipt::Queued { run } if self.follow => logs::follow(&place, &run).await,
            ApiReceipt::Queued { .. }
            | ApiReceipt::Added { .. }
            | ApiReceipt::Done
            | ApiReceipt::Sent
            | ApiReceipt::Pending { .. } => receipt::told(&place, &reply, "the run begins"),
        }
    }
}
