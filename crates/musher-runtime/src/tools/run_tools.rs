//! The tools through which an agent speaks to its session: a plan, questions, progress, and the end.

use std::sync::{LazyLock, Mutex, PoisonError};

use musher_core::{Answer, PlanEntry, Question, QuestionOption, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::input::{parse, spec};
use super::{ReplyFuture, SessionEffect, ToolCall, ToolHost, ToolReply, ToolSpec, hosts};

/// How many steps a plan may have.
const STEPS: usize = 100;
const QUESTIONS: usize = 8;
const OPTIONS: usize = 12;
/// The longest step, question or option.
const LINE: usize = 2000;
/// The longest summary.
const SUMMARY: usize = 32 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetPlan {
    /// All steps of the plan, which replace those before. Leave it out to read the plan as it is.
    steps: Option<Vec<PlanStep>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanStep {
    /// What is to be done.
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

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskPerson {
    /// The questions, each answered by a choice or in free text.
    questions: Vec<OneQuestion>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneQuestion {
    /// The question, with what the person needs to know to answer it.
    text: String,
    /// Answers to choose from; the person may always write something else.
    options: Option<Vec<OneOption>>,
    /// Several options may be chosen.
    multi: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneOption {
    label: String,
    /// What choosing it means.
    description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReportProgress {
    /// One sentence for people: what is done, or what comes next.
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Finish {
    /// What was done and how it was checked, and what is left open.
    summary: String,
}

static SPECS: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
    vec![
        spec::<SetPlan>(
            "plan",
            "Sets the plan of the work, which people can follow: all steps, each with its status. Without steps it gives the plan as it is.",
            ToolKind::Plan,
        ),
        spec::<AskPerson>(
            "ask_person",
            "Asks the person and waits for the answer. Use it only when the work cannot continue without one.",
            ToolKind::Question,
        ),
        spec::<ReportProgress>(
            "report_progress",
            "Tells people in one sentence how far the work is.",
            ToolKind::Other,
        ),
        spec::<Finish>(
            "finish",
            "Ends the work with a summary. Call it once, when everything that was asked for is done and checked.",
            ToolKind::Other,
        ),
    ]
});

/// A plan, questions to the person, progress and the end. They touch nothing: what they want is told as an [`SessionEffect`].
#[derive(Debug, Default)]
pub struct RunTools {
    plan: Mutex<Vec<PlanEntry>>,
}

impl RunTools {
    /// Goes on with the plan of an earlier session.
    pub fn with_plan(plan: Vec<PlanEntry>) -> Self {
        Self { plan: Mutex::new(plan) }
    }

    fn carry_out(&self, call: ToolCall) -> Result<ToolReply, ToolReply> {
        let Some(spec) = SPECS.iter().find(|spec| spec.name == call.name) else {
            return Err(hosts::unknown(&call.name, &SPECS));
        };
        let refuse = |problem: String| ToolReply::failed(format!("{}: {problem}", spec.name));
        match &*call.name {
            "plan" => self.plan(parse(spec, call.input)?).map_err(refuse),
            "ask_person" => ask_person(parse(spec, call.input)?).map_err(refuse),
            "report_progress" => {
                let ReportProgress { text } = parse(spec, call.input)?;
                let text = checked("text", text, LINE).map_err(refuse)?;
                Ok(ToolReply::done("told").with_effect(SessionEffect::Progress { text }))
            }
            _ => {
                let Finish { summary } = parse(spec, call.input)?;
                let summary = checked("summary", summary, SUMMARY).map_err(refuse)?;
                let structured = json!({ "summary": summary });
                Ok(ToolReply::done("the work is finished")
                    .with_structured(structured)
                    .with_effect(SessionEffect::Finish { summary }))
            }
        }
    }

    fn plan(&self, input: SetPlan) -> Result<ToolReply, String> {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(steps) = input.steps else {
            return Ok(shown(&plan));
        };
        few("steps", steps.len(), 0..=STEPS)?;
        let entry = |step: PlanStep| {
            let text = checked("text", step.text, LINE)?;
            Ok(PlanEntry { text, status: step.status.as_str().to_owned() })
        };
        *plan = steps.into_iter().map(entry).collect::<Result<_, String>>()?;
        Ok(shown(&plan).with_effect(SessionEffect::Plan(plan.clone())))
    }
}

fn shown(plan: &[PlanEntry]) -> ToolReply {
    let lines: Vec<String> = (1..)
        .zip(plan)
        .map(|(number, entry)| format!("{number}. [{}] {}", entry.status, entry.text))
        .collect();
    let text = match lines.is_empty() {
        true => "there is no plan".to_owned(),
        false => lines.join("\n"),
    };
    ToolReply::done(text).with_structured(json!({ "steps": plan }))
}

fn ask_person(input: AskPerson) -> Result<ToolReply, String> {
    few("questions", input.questions.len(), 1..=QUESTIONS)?;
    let option = |option: OneOption| {
        let label = checked("label", option.label, LINE)?;
        let description = option.description.map(|text| checked("description", text, LINE));
        Ok(QuestionOption { label, description: description.transpose()? })
    };
    let question = |question: OneQuestion| {
        let options = question.options.unwrap_or_default();
        few("options", options.len(), 0..=OPTIONS)?;
        Ok(Question {
            text: checked("text", question.text, LINE)?,
            header: None,
            options: options.into_iter().map(option).collect::<Result<_, String>>()?,
            multi: question.multi.unwrap_or(false),
        })
    };
    let questions = input.questions.into_iter().map(question).collect::<Result<_, String>>()?;
    // The text stands only where nobody puts the questions to anyone.
    let text = "the question was not put to anyone; decide by yourself and say so in the summary";
    Ok(ToolReply::done(text).with_effect(SessionEffect::Question(questions)))
}

fn few(field: &str, count: usize, fits: std::ops::RangeInclusive<usize>) -> Result<(), String> {
    match fits.contains(&count) {
        true => Ok(()),
        false => {
            let (least, most) = (fits.start(), fits.end());
            Err(format!("`{field}` has {count} entries; give {least} to {most}"))
        }
    }
}

fn checked(field: &str, text: String, most: usize) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err(format!("`{field}` is empty; write what is meant"));
    }
    if text.len() > most {
        return Err(format!("`{field}` has {} bytes; say it in at most {most}", text.len()));
    }
    Ok(text)
}

impl ToolReply {
    /// The reply of a call whose questions were put to the person, now that there is an answer.
    pub fn answered(questions: &[Question], answer: &Answer) -> Self {
        match answer {
            Answer::Replies { replies } => {
                let pairs: Vec<_> = questions.iter().zip(replies).collect();
                let lines =
                    pairs.iter().map(|(q, reply)| format!("{}\n> {}", q.text, reply.joined()));
                let text = lines.collect::<Vec<_>>().join("\n");
                let replies: Vec<_> = pairs
                    .iter()
                    .map(|(q, reply)| json!({ "question": q.text, "answer": reply.joined() }))
                    .collect();
                Self::done(text).with_structured(json!({ "answers": replies }))
            }
            Answer::Deny { reason } | Answer::DenyAndInterrupt { reason } => Self::failed(format!(
                "the question was not answered: {reason}; continue without an answer if you can"
            )),
            Answer::Allow { .. } | Answer::AllowAlways { .. } | Answer::Form { .. } => {
                Self::failed("the answer does not fit the question; continue without it if you can")
            }
        }
    }
}

impl ToolHost for RunTools {
    fn tools(&self) -> Vec<ToolSpec> {
        SPECS.clone()
    }

    fn offers(&self, name: &str) -> bool {
        SPECS.iter().any(|spec| spec.name == name)
    }

    fn call<'a>(&'a self, call: ToolCall, _: &'a CancellationToken) -> ReplyFuture<'a> {
        let reply = self.carry_out(call).unwrap_or_else(|refusal| refusal);
        Box::pin(std::future::ready(reply))
    }
}
