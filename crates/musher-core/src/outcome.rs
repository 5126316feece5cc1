//! How a turn and how a run ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{ErrorInfo, Ledger, PromptId, SessionId, Spend, Tokens, Usd};

/// How a run ended. Where a run *is* has another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    Failed,
    Stopped,
    Interrupted,
    TimedOut,
    OutOfTurns,
    OutOfBudget,
    Lost,
}

impl Outcome {
    /// The outcome in words for a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::TimedOut => "timed out",
            Self::OutOfTurns => "out of turns",
            Self::OutOfBudget => "out of budget",
            Self::Lost => "lost",
        }
    }
}

/// How one turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    Completed,
    Interrupted,
    Failed,
    Refused,
    OutOfTurns,
    OutOfBudget,
    /// The process was gone before it told how the turn ended.
    Lost,
}

/// Why a turn began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    Prompt,
    /// Background work finished and woke the agent.
    Background,
    Unknown,
}

/// The end of a turn; exactly one for each start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    pub outcome: TurnOutcome,
    /// The vendor's own reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The prompts that this turn answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<PromptId>,
    pub model_calls: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Tools that were denied in this turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    /// `true` when we had to say it because the runtime did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthesised: bool,
}

impl TurnEnded {
    /// An end that the runtime never told.
    pub fn synthesised(outcome: TurnOutcome, error: Option<ErrorInfo>) -> Self {
        Self {
            outcome,
            native_reason: None,
            final_text: None,
            structured: None,
            error,
            prompts: Vec::new(),
            model_calls: 0,
            duration_ms: None,
            denials: Vec::new(),
            synthesised: true,
        }
    }
}

/// How the session of a run came to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionOrigin {
    #[default]
    Fresh,
    Resumed,
    Forked,
    /// The session to resume was unknown, so a fresh one was started with the full prompt.
    Fallback,
}

/// The last event of every session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnded {
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    pub session: Option<SessionId>,
    pub origin: SessionOrigin,
    /// What this run alone has used.
    pub usage: Tokens,
    /// What this run alone has cost; absent when nobody said.
    pub cost_usd: Option<Usd>,
    /// The part of an unknown cost that is known.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub known_cost_usd: Usd,
    /// Some of this was worked out, and is the least that it can be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The same by model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, Spend>,
    pub turns: u32,
    pub model_calls: u32,
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<String>,
    /// Processes that could not be ended; empty is the promise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<i32>,
}

impl SessionEnded {
    /// The same with what was spent, as its ledger has it.
    #[must_use]
    pub fn spending(self, ledger: &Ledger) -> Self {
        let spent = ledger.spent();
        Self {
            usage: spent.tokens,
            cost_usd: spent.cost_usd,
            known_cost_usd: match spent.cost_usd {
                Some(_) => Usd::default(),
                None => spent.known_cost(),
            },
            estimated: spent.estimated,
            models: ledger.by_model().clone(),
            ..self
        }
    }

    /// The end of a session that never began.
    pub fn unbegun(error: ErrorInfo) -> Self {
        Self {
            outcome: Outcome::Failed,
            error: Some(error),
            session: None,
            origin: SessionOrigin::Fresh,
            usage: Tokens::default(),
            cost_usd: Some(Usd::default()),
            known_cost_usd: Usd::default(),
            estimated: false,
            models: BTreeMap::new(),
            turns: 0,
            model_calls: 0,
            duration_ms: 0,
            exit_code: None,
            signal: None,
            stderr_tail: None,
            survivors: Vec::new(),
        }
    }
}
