//! The fact: one entry of the journal, a decision of the pool in the past tense.
//!
//! A fact *is* its wire format: variants and fields are only ever added. Facts hold ids and never a person's text. Those
//! that come from a run's log carry the number of the event.

use serde::{Deserialize, Serialize};

use crate::pool::{GrantStep, SecretScan, UndeliveredCode, UnknownSpending};
use crate::{
    AskId, ClosedBy, CommandId, EndRequest, ErrorInfo, Outcome, RunId, RunPlan, Sender,
    SessionChange, SessionId, SlotId, Spend, StoryId, StorySpec, Usd, Wait, WorktreeStart,
};

/// The newest format of the journal that this build writes and reads; see [`Fact::format`].
pub const JOURNAL_FORMAT: u32 = 4;

/// What the pool decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Fact {
    StoryAdded {
        story: StoryId,
    },
    StoryEdited {
        story: StoryId,
    },
    /// The story asks for this from now on.
    StorySpecSet {
        story: StoryId,
        spec: StorySpec,
    },
    StoryFinished {
        story: StoryId,
    },
    StoryReopened {
        story: StoryId,
    },
    /// Its slots are to be released.
    StoryArchived {
        story: StoryId,
    },
    MergeStarted {
        command: CommandId,
        story: StoryId,
        branch: u32,
        /// How the branch stands to secrets. The fact is put a second time when the branch was searched.
        #[serde(default, skip_serializing_if = "SecretScan::is_open")]
        check: SecretScan,
    },
    /// The story is done with it.
    StoryMerged {
        command: CommandId,
        story: StoryId,
        commit: String,
    },
    MergeFailed {
        command: CommandId,
        story: StoryId,
        message: String,
    },
    RunQueued {
        run: RunId,
        plan: RunPlan,
        /// The command that wanted it; the pool itself, if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandId>,
        /// Unix milliseconds; the bound on restarts counts by it.
        at: i64,
        /// A random word that no other run has, which whoever commits the fact puts in: numbers can be given again by a
        /// journal that lost its end, and folders and processes must never be taken for another run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<String>,
    },
    /// A queued run waits for something else than before.
    RunWaits {
        run: RunId,
        wait: Wait,
    },
    /// It has a place and a slot.
    RunPreparing {
        run: RunId,
        slot: SlotId,
        branch: u32,
        start: WorktreeStart,
        /// What it may spend, if anything bounds it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Usd>,
    },
    RunPrepared {
        run: RunId,
        head: String,
    },
    RunStarted {
        run: RunId,
    },
    /// The runner is gone without an outcome.
    RunnerLost {
        run: RunId,
    },
    /// Exactly one for each run. A run that was started still has its worktree to be finished.
    RunEnded {
        run: RunId,
        /// The event that told it; absent when the run never got as far as a log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// The session that a later run would resume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// What it could have spent beyond what is known; it counts as gone for the day.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<UnknownSpending>,
    },
    /// The run is over, and its slot and place are free.
    RunFinished {
        run: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// It was lost too often, so a person is asked.
    RunParked {
        run: RunId,
        /// The run that would be started.
        plan: RunPlan,
    },
    RunUnparked {
        run: RunId,
        /// The person's answer, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Sender>,
    },
    SessionSeen {
        run: RunId,
        seq: u64,
        session: SessionId,
    },
    SetupDone {
        run: RunId,
        seq: u64,
    },
    UsageCounted {
        run: RunId,
        seq: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        spend: Spend,
        /// Unix milliseconds; the day's money counts by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<i64>,
        /// What of it earlier runs of the session have spent, which was told only now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier: Option<Spend>,
        /// Of a call that did not come to its end; no total will hold it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// With it, everything is known that earlier runs of the session have left for a total to tell.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        settles: bool,
    },
    AskOpened {
        run: RunId,
        seq: u64,
        ask: AskId,
    },
    AskClosed {
        run: RunId,
        seq: u64,
        ask: AskId,
        by: ClosedBy,
    },
    AnswerOffered {
        run: RunId,
        ask: AskId,
        command: CommandId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Sender>,
        /// How far the rule is that the answer grants for later runs too. The fact is put a second time when it was saved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<GrantStep>,
    },
    AskAnswered {
        run: RunId,
        ask: AskId,
        command: CommandId,
    },
    AnswerRefused {
        run: RunId,
        ask: AskId,
        command: CommandId,
        code: UndeliveredCode,
        message: String,
    },
    PromptOffered {
        run: RunId,
        command: CommandId,
    },
    SteerOffered {
        run: RunId,
        command: CommandId,
    },
    TakeBackOffered {
        run: RunId,
        command: CommandId,
        /// The prompt that is taken back.
        prompt: CommandId,
    },
    InterruptOffered {
        run: RunId,
        command: CommandId,
    },
    ChangeOffered {
        run: RunId,
        command: CommandId,
        change: SessionChange,
    },
    /// A person wants the run to end.
    EndWished {
        run: RunId,
        command: CommandId,
        wish: EndRequest,
    },
    CommandDelivered {
        run: RunId,
        command: CommandId,
    },
    CommandUndelivered {
        run: RunId,
        command: CommandId,
        code: UndeliveredCode,
        message: String,
    },
    SlotReleased {
        slot: SlotId,
    },
}

impl Fact {
    /// The format of the journal that a build must know to read it. A new kind of fact raises [`JOURNAL_FORMAT`]; a journal
    /// needs the highest format of its facts, so that builds take turns at it until the first fact of a new kind.
    pub fn format(&self) -> u32 {
        if matches!(self, Self::StorySpecSet { .. })
            || matches!(self, Self::RunWaits { wait, .. } if wait.is_about_the_story())
        {
            4
        } else if matches!(self, Self::ChangeOffered { .. }) {
            3
        } else if matches!(self, Self::TakeBackOffered { .. }) {
            2
        } else {
            1
        }
    }

    /// The name of its kind, as it is written.
    pub fn name(&self) -> &'static str {
        match self {
            Self::StoryAdded { .. } => "story_added",
            Self::StoryEdited { .. } => "story_edited",
            Self::StorySpecSet { .. } => "story_spec_set",
            Self::StoryFinished { .. } => "story_finished",
            Self::StoryReopened { .. } => "story_reopened",
            Self::StoryArchived { .. } => "story_archived",
            Self::MergeStarted { .. } => "merge_started",
            Self::StoryMerged { .. } => "story_merged",
            Self::MergeFailed { .. } => "merge_failed",
            Self::RunQueued { .. } => "run_queued",
            Self::RunWaits { .. } => "run_waits",
            Self::RunPreparing { .. } => "run_preparing",
            Self::RunPrepared { .. } => "run_prepared",
            Self::RunStarted { .. } => "run_started",
            Self::RunnerLost { .. } => "runner_lost",
            Self::RunEnded { .. } => "run_ended",
            Self::RunFinished { .. } => "run_finished",
            Self::RunParked { .. } => "run_parked",
            Self::RunUnparked { .. } => "run_unparked",
            Self::SessionSeen { .. } => "session_seen",
            Self::SetupDone { .. } => "setup_done",
            Self::UsageCounted { .. } => "usage_counted",
            Self::AskOpened { .. } => "ask_opened",
            Self::AskClosed { .. } => "ask_closed",
            Self::AnswerOffered { .. } => "answer_offered",
            Self::AskAnswered { .. } => "ask_answered",
            Self::AnswerRefused { .. } => "answer_refused",
            Self::PromptOffered { .. } => "prompt_offered",
            Self::SteerOffered { .. } => "steer_offered",
            Self::TakeBackOffered { .. } => "take_back_offered",
            Self::InterruptOffered { .. } => "interrupt_offered",
            Self::ChangeOffered { .. } => "change_offered",
            Self::EndWished { .. } => "end_wished",
            Self::CommandDelivered { .. } => "command_delivered",
            Self::CommandUndelivered { .. } => "command_undelivered",
            Self::SlotReleased { .. } => "slot_released",
        }
    }

    /// The run that it is about.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::RunQueued { run, .. }
            | Self::RunWaits { run, .. }
            | Self::RunPreparing { run, .. }
            | Self::RunPrepared { run, .. }
            | Self::RunStarted { run, .. }
            | Self::RunnerLost { run, .. }
            | Self::RunEnded { run, .. }
            | Self::RunFinished { run, .. }
            | Self::RunParked { run, .. }
            | Self::RunUnparked { run, .. }
            | Self::SessionSeen { run, .. }
            | Self::SetupDone { run, .. }
            | Self::UsageCounted { run, .. }
            | Self::AskOpened { run, .. }
            | Self::AskClosed { run, .. }
            | Self::AnswerOffered { run, .. }
            | Self::AskAnswered { run, .. }
            | Self::AnswerRefused { run, .. }
            | Self::PromptOffered { run, .. }
            | Self::SteerOffered { run, .. }
            | Self::TakeBackOffered { run, .. }
            | Self::InterruptOffered { run, .. }
            | Self::ChangeOffered { run, .. }
            | Self::EndWished { run, .. }
            | Self::CommandDelivered { run, .. }
            | Self::CommandUndelivered { run, .. } => Some(*run),
            Self::StoryAdded { .. }
            | Self::StoryEdited { .. }
            | Self::StorySpecSet { .. }
            | Self::StoryFinished { .. }
            | Self::StoryReopened { .. }
            | Self::StoryArchived { .. }
            | Self::MergeStarted { .. }
            | Self::StoryMerged { .. }
            | Self::MergeFailed { .. }
            | Self::SlotReleased { .. } => None,
        }
    }

    /// The run and the number of the event, if the fact came from a run's log.
    pub fn heard(&self) -> Option<(RunId, u64)> {
        match self {
            Self::RunEnded { run, seq, .. } => seq.map(|seq| (*run, seq)),
            Self::SessionSeen { run, seq, .. }
            | Self::SetupDone { run, seq }
            | Self::UsageCounted { run, seq, .. }
            | Self::AskOpened { run, seq, .. }
            | Self::AskClosed { run, seq, .. } => Some((*run, *seq)),
            Self::StoryAdded { .. }
            | Self::StoryEdited { .. }
            | Self::StorySpecSet { .. }
            | Self::StoryFinished { .. }
            | Self::StoryReopened { .. }
            | Self::StoryArchived { .. }
            | Self::MergeStarted { .. }
            | Self::StoryMerged { .. }
            | Self::MergeFailed { .. }
            | Self::RunQueued { .. }
            | Self::RunWaits { .. }
            | Self::RunPreparing { .. }
            | Self::RunPrepared { .. }
            | Self::RunStarted { .. }
            | Self::RunnerLost { .. }
            | Self::RunFinished { .. }
            | Self::RunParked { .. }
            | Self::RunUnparked { .. }
            | Self::AnswerOffered { .. }
            | Self::AskAnswered { .. }
            | Self::AnswerRefused { .. }
            | Self::PromptOffered { .. }
            | Self::SteerOffered { .. }
            | Self::TakeBackOffered { .. }
            | Self::InterruptOffered { .. }
            | Self::ChangeOffered { .. }
            | Self::EndWished { .. }
            | Self::CommandDelivered { .. }
            | Self::CommandUndelivered { .. }
            | Self::SlotReleased { .. } => None,
        }
    }
}
