//! The words and rules of Musher: ids, events, asks, outcomes, usage arithmetic, tool rules, stories, runs, the pool.
//!
//! Everything here is pure: no clock, no files, no environment, no vendor. What an agent does is told in
//! [`Event`]s, what waits for a person is an [`Ask`], what was spent is counted by the [`Ledger`], and what a
//! tool may do is settled by [`ToolRules`]. What becomes of stories and runs is decided in [`pool`].

mod actor;
mod ask;
mod attachment;
mod cut;
mod error;
mod event;
mod gate;
mod id;
mod item;
mod network;
mod options;
mod outcome;
mod phase_kind;
pub mod pool;
mod recent;
mod rules;
mod run;
mod session;
mod story;
mod tool;
mod usage;
mod work;

pub use actor::{Actor, Via, Who};
pub use ask::{
    Answer, Approval, Ask, AskDecision, ClosedBy, GrantFor, GrantOffer, Question, QuestionOption,
    QuestionReply, Sender, ShownAsk, merged,
};
pub use attachment::{AttachmentForm, SentAttachment};
pub use cut::{cut_mark, cut_place, escape_len, is_cut, kept as kept_of_cut};
pub use error::{ErrorClass, ErrorInfo, HintCode};
pub use event::{Channel, Delta, Event, EventKind, EventScope, RawRef};
pub use gate::{GateEnded, GateFault, GateResult};
pub use id::{
    AgentName, AskDigest, AskId, BranchName, CallId, CommandId, IdError, ItemId, Label, PromptId,
    RunId, SessionId, SlotId, StoryId, TaskId, TokenId,
};
pub use item::{ItemBody, Level, Origin, OutputStream, PlanEntry, TaskPhase, TaskUpdate};
pub use network::{HostDecider, HostTraffic, NetworkReport, TrafficFigures};
pub use options::{RunOptions, Variables};
pub use outcome::{Outcome, SessionEnded, SessionOrigin, Trigger, TurnEnded, TurnOutcome};
pub use phase_kind::RunPhaseKind;
pub use recent::Recent;
pub use rules::{
    DeadRule, Explained, Rule, RuleError, RuleList, RuleScope, ToolRules, ToolUse, Verdict,
    path_fits,
};
pub use run::{
    AskState, Doubt, EndRequest, FirstPrompt, PastRun, Run, RunKind, RunLine, RunPhase, RunPlan,
    RunRef, SessionOpening, Wait, WorktreeStart,
};
pub use session::{Activity, McpState, ModelChange, RateLimit, SessionChange, SessionInfo};
pub use story::{
    BranchRef, Criterion, CriterionJudge, Priority, PriorityError, Story, StorySpec,
    StorySpecChange, StoryState, criteria,
};
pub use tool::{Edit, Executor, ToolKind, ToolOutput, ToolPhase, ToolUpdate};
pub use usage::{
    ContextWindow, CostBasis, Ledger, LedgerEntry, Lineage, Spend, Tokens, UsageOf, UsageReport,
    Usd,
};
pub use work::OpenWork;
