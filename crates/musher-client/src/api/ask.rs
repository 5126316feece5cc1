//! Asks as the API tells them.

use musher_core::{Answer, Ask, Rule};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiFileDiff;

/// Asks, the oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = AsksReply)]
pub struct ApiAsks {
    #[schema(required)]
    pub asks: Vec<ApiAsk>,
}

/// An ask of a run, with what it says.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = AskNow)]
pub struct ApiAsk {
    #[schema(required)]
    pub run: String,
    #[schema(required)]
    pub ask: String,
    #[schema(required)]
    pub story: String,
    #[schema(required)]
    pub agent: String,
    /// The event of the run's log that tells what is asked; the pool's own ask has none.
    pub seq: Option<u64>,
    #[schema(required, value_type = ApiAskPhase)]
    pub state: String,
    /// What closed it.
    pub by: Option<String>,
    /// The command that carries the answer.
    pub command: Option<String>,
    #[schema(required)]
    pub opened_at: i64,
    pub closed_at: Option<i64>,
    /// A hash over the run, the ask and its body. An answer carries the digest of what was on the screen as `shown`.
    #[schema(required)]
    pub digest: String,
    /// What is asked, as in the event `ask_opened`; absent when the run's log was cleaned away.
    #[schema(value_type = Option<Object>)]
    pub body: Option<Ask>,
    /// Unix milliseconds after which the default answers.
    pub deadline: Option<i64>,
    /// The tool rule that `allow_always` would grant; absent when there is none that is safe.
    #[schema(value_type = Option<String>)]
    pub rule: Option<Rule>,
    /// The rules that `allow_always` may grant, from the exact one to the widest. Another rule is taken too, if it covers
    /// what is asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<ApiScope>,
    /// Unix milliseconds at which the person is reminded of it, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remind_at: Option<i64>,
    /// What the act would change in the files as they are now, if it is an open approval of such an act: file by file;
    /// absent when it changes none, or nobody can tell.
    pub change: Option<Vec<ApiFileDiff>>,
    /// Why something of it is missing.
    pub change_note: Option<String>,
    /// Who answered it, or what closed it; absent while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub won: Option<ApiWon>,
}

/// Where an ask is. A newer server may know more words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AskPhase)]
pub enum ApiAskPhase {
    /// It waits for a person.
    Open,
    /// An answer is on its way.
    Offered,
    /// A person's answer counted.
    Answered,
    /// Something else closed it.
    Closed,
}

/// A rule that can be granted in answer to an ask.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ScopeNow)]
pub struct ApiScope {
    #[schema(value_type = String)]
    pub rule: Rule,
    /// What it means in a few words.
    pub label: String,
}

/// Who answered an ask, or what closed it, and with which answer.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Won)]
pub struct ApiWon {
    /// As in the event `ask_closed`: `person`, `rule`, `deadline`, `agent` and so on.
    pub by: String,
    /// For people: the name of the browser or program, `the command line`, `a tool rule`, `the deadline`.
    pub who: String,
    /// The answer, as far as it is known.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}
