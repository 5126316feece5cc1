//! What an agent can read and say about its own run.

use std::sync::{Mutex, PoisonError};

use musher_core::{PlanEntry, Question, QuestionOption, ToolKind};
use musher_runtime::CancellationToken;
use musher_runtime::tools::{Effect, ReplyFuture, ToolCall, ToolHost, ToolReply, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::mcp::input;

/// Questions that are put at once, and options that each may have.
const QUESTIONS: usize = 8;
const OPTIONS: usize = 16;

/// What a run is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Story {
    pub run: String,
    pub story: String,
    pub agent: String,
    pub title: String,
    pub text: String,
}

/// The tools of one run. They know no other run, so none can be named.
#[derive(Debug)]
pub struct Talk {
    story: Story,
    /// The plan as it was set last.
    plan: Mutex<Vec<PlanEntry>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Plan {
    /// The whole plan in its order, replacing the one before; left out, the plan is only read.
    entries: Option<Vec<Step>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Step {
    text: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Words {
    /// One or two sentences for a person.
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskPerson {
    /// What the person is asked, in one go.
    #[schemars(length(min = 1, max = 8))]
    questions: Vec<Put>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Put {
    text: String,
    /// One word or two above the question.
    header: Option<String>,
    /// What to choose from; left out, the answer is free text.
    #[serde(default)]
    #[schemars(length(max = 16))]
    options: Vec<Offer>,
    /// Whether several options may be chosen.
    #[serde(default)]
    multi: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Offer {
    label: String,
    description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Finish {
    /// What was done, and what a person should look at.
    summary: String,
}

impl Talk {
    pub fn new(story: Story) -> Self {
        Self { story, plan: Mutex::new(Vec::new()) }
    }

    fn reply(&self, name: &str, given: Json) -> Result<ToolReply, ToolReply> {
        match name {
            "story" => {
                let Nothing {} = input::read(name, given)?;
                Ok(self.tell_story())
            }
            "plan" => self.set_plan(input::read(name, given)?),
            "progress" => {
                let Words { text } = input::read(name, given)?;
                Ok(ToolReply::done("Noted.").with_effect(Effect::Progress { text }))
            }
            "ask_person" => ask_person(input::read(name, given)?),
            "finish" => {
                let Finish { summary } = input::read(name, given)?;
                Ok(ToolReply::done("Noted. End your turn now.")
                    .with_effect(Effect::Finish { summary }))
            }
            other => {
                let shown: String = other.chars().take(64).collect();
                let text = format!("there is no tool `{}`; list the tools", shown.escape_debug());
                Err(ToolReply::failed(text))
            }
        }
    }

    fn tell_story(&self) -> ToolReply {
        let Story { story, title, text, .. } = &self.story;
        let structured = serde_json::to_value(&self.story).unwrap_or_default();
        ToolReply::done(format!("{story}: {title}\n\n{text}")).with_structured(structured)
    }

    fn set_plan(&self, plan: Plan) -> Result<ToolReply, ToolReply> {
        let mut kept = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let effect = match plan.entries {
            None => Effect::None,
            Some(steps) => {
                *kept = steps.into_iter().map(PlanEntry::from).collect();
                Effect::Plan(kept.clone())
            }
        };
        let lines = kept.iter().map(|entry| format!("[{}] {}", entry.status, entry.text));
        let text = match kept.is_empty() {
            true => "There is no plan yet.".to_owned(),
            false => lines.collect::<Vec<_>>().join("\n"),
        };
        let structured = json!({ "entries": *kept });
        Ok(ToolReply::done(text).with_structured(structured).with_effect(effect))
    }
}

impl From<Step> for PlanEntry {
    fn from(step: Step) -> Self {
        let status = match step.status {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
        };
        Self { text: step.text, status: status.into() }
    }
}

fn ask_person(AskPerson { questions }: AskPerson) -> Result<ToolReply, ToolReply> {
    if questions.is_empty() || questions.len() > QUESTIONS {
        return Err(ToolReply::failed(format!("ask 1 to {QUESTIONS} questions at once")));
    }
    if questions.iter().any(|put| put.text.trim().is_empty() || put.options.len() > OPTIONS) {
        let text = format!("a question needs a text, and has at most {OPTIONS} options");
        return Err(ToolReply::failed(text));
    }
    let option = |Offer { label, description }| QuestionOption { label, description };
    let questions = questions.into_iter().map(|Put { text, header, options, multi }| Question {
        text,
        header,
        options: options.into_iter().map(option).collect(),
        multi,
    });
    Ok(ToolReply::done("").with_effect(Effect::Question(questions.collect())))
}

impl ToolHost for Talk {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![
            input::spec::<Nothing>(
                "story",
                "Read the story that you work on: what is wanted, and when it is done.",
                ToolKind::Read,
            ),
            input::spec::<Plan>(
                "plan",
                "Set or read the list of things to do, which a person sees beside your work.",
                ToolKind::Other,
            ),
            input::spec::<Words>(
                "progress",
                "Tell a person how far you are. Nobody answers.",
                ToolKind::Other,
            ),
            input::spec::<AskPerson>(
                "ask_person",
                "Ask the person something that only they can decide, and wait for the answer.",
                ToolKind::Question,
            ),
            input::spec::<Finish>(
                "finish",
                "Say that the work is done, with a summary for the person.",
                ToolKind::Other,
            ),
        ]
    }

    fn call<'a>(&'a self, call: ToolCall, _cancel: &'a CancellationToken) -> ReplyFuture<'a> {
        let reply = self.reply(&call.name, call.input).unwrap_or_else(|failed| failed);
        Box::pin(std::future::ready(reply))
    }
}
