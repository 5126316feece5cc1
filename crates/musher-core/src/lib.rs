//! The words and rules of Musher: ids, events, asks, outcomes, usage arithmetic and tool rules.
//!
//! Everything here is pure: no clock, no files, no environment, no vendor. What an agent does is told in
//! [`Event`]s, what waits for a person is an [`Ask`], what was spent is counted by the [`Ledger`], and what a
//! tool may do is settled by [`ToolRules`].

mod ask;
mod error;
mod event;
mod id;
mod item;
mod outcome;
mod rules;
mod session;
mod tool;
mod usage;

pub use ask::{
    Answer, Approval, Ask, Choice, ClosedBy, Decision, Question, QuestionOption, Reply, merged,
};
pub use error::{ErrorClass, ErrorInfo};
pub use event::{Channel, Delta, Event, EventKind, RawRef, Scope};
pub use id::{AskId, CallId, ItemId, PromptId, SessionId, TaskId};
pub use item::{ItemBody, Level, Origin, OutputStream, PlanEntry, TaskPhase, TaskUpdate};
pub use outcome::{Outcome, SessionEnded, SessionOrigin, Trigger, TurnEnded, TurnOutcome};
pub use rules::{Rule, RuleError, ToolRules, ToolUse, Verdict};
pub use session::{Activity, McpState, ModelChange, RateLimit, SessionInfo};
pub use tool::{Executor, ToolKind, ToolOutput, ToolPhase, ToolUpdate};
pub use usage::{Context, CostBasis, Ledger, Spend, Tokens, UsageOf, UsageReport, Usd};
