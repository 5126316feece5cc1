//! What the sender of a command hears: a reply, or a refusal that names the thing, the cause and the way out.

use serde::{Deserialize, Serialize};

use crate::pool::{SecretPlace, UndeliveredCode};
use crate::{AgentName, AskId, BranchRef, ClosedBy, RunId, SessionChange, StoryId};

/// A command was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", content = "id", rename_all = "snake_case")]
pub enum CommandReply {
    /// The story that was added.
    Story(StoryId),
    /// The run that was queued.
    Run(RunId),
    /// It is on its way; the last word on it follows.
    Offered,
    /// It is done, or there was nothing left to do.
    Done,
    /// The run has it.
    Sent,
}

/// A command was not taken. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    #[error("there is no story {story}")]
    NoSuchStory { story: StoryId },
    #[error("story {story} is archived")]
    StoryArchived { story: StoryId },
    #[error("the id {story} was already given to a story")]
    StoryExists { story: StoryId },
    #[error("story {story} is {}", done(merged.as_deref()))]
    StoryDone {
        story: StoryId,
        /// The commit of its merge, if it was merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merged: Option<String>,
    },
    #[error("story {story} has active runs: {}", listed(runs))]
    StoryBusy { story: StoryId, runs: Vec<RunId> },
    #[error("stories would wait for each other: {}", way(cycle))]
    AfterCycle { cycle: Vec<StoryId> },
    #[error("story {story} has a branch already")]
    BranchMade { story: StoryId },
    #[error("story {story} is being merged")]
    MergeUnderWay { story: StoryId },
    #[error("story {story} has no worktree in which an agent has worked")]
    NothingToMerge { story: StoryId },
    #[error("story {story} has several branches: {}", listed(branches))]
    WhichBranch { story: StoryId, branches: Vec<u32> },
    #[error("story {story} has no branch {branch} in a worktree")]
    NoSuchBranch { story: StoryId, branch: u32 },
    #[error("story {story} could not be merged: {message}")]
    MergeFailed { story: StoryId, message: String },
    #[error("branch {branch} holds secrets: {}", SecretPlace::list(places))]
    SecretsFound { branch: BranchRef, places: Vec<SecretPlace> },
    #[error("the {what} {why}")]
    BadText { what: String, why: String },
    #[error("the project file names no agent")]
    NoAgents,
    #[error("there is no agent {agent} on the team")]
    NoSuchAgent { agent: AgentName, known: Vec<AgentName> },
    #[error("agent {agent} already has a run on story {story}: {run}")]
    AlreadyRunning { run: RunId, story: StoryId, agent: AgentName },
    #[error("there is no active run {run}")]
    NoSuchRun { run: RunId },
    #[error("run {run} has not started yet")]
    NotStarted { run: RunId },
    #[error("run {run} is ending")]
    RunEnding { run: RunId },
    #[error("run {run} has no session that can be resumed")]
    NoSession { run: RunId },
    #[error(
        "agent {agent} cannot continue from an earlier turn, because its program keeps its sessions"
    )]
    NoTurns { agent: AgentName },
    #[error("the worktree of run {run} is no longer there")]
    NoWorktree { run: RunId },
    #[error("run {run} has no ask {ask}")]
    NoSuchAsk { run: RunId, ask: AskId },
    #[error("ask {ask} of run {run} already has an answer")]
    AlreadyAnswered { run: RunId, ask: AskId },
    #[error("ask {ask} of run {run} was closed {}", closed(*by))]
    AskClosed { run: RunId, ask: AskId, by: ClosedBy },
    #[error("ask {ask} of run {run} is not the one that was shown with this answer")]
    AskNotShown { run: RunId, ask: AskId },
    #[error("ask {ask} of run {run} does not take this answer")]
    WrongAnswer { run: RunId, ask: AskId },
    #[error("{message}")]
    BadRule { message: String },
    #[error("{message}")]
    LocalFileBroken { message: String },
    #[error("{message}")]
    TooManyGrants { message: String },
    #[error("{message}")]
    LocalFileUnwritten { message: String },
    #[error("run {run} did not take it: {message}")]
    Undelivered { run: RunId, why: UndeliveredCode, message: String },
    #[error("run {run} was not changed: {message}")]
    Unchanged { run: RunId, change: SessionChange, message: String },
}

/// Who must do what about a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass {
    /// The thing does not exist.
    NotFound,
    /// It exists, and its state forbids the command now.
    Conflict,
    /// The command itself is wrong.
    Invalid,
    /// It does not say what its sender had seen, or that was something else.
    Unseen,
    /// The disk does not take it.
    NoRoom,
}

impl Refusal {
    /// The refusal as a word for programs; it never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSuchStory { .. } => "no_such_story",
            Self::StoryArchived { .. } => "story_archived",
            Self::StoryExists { .. } => "story_exists",
            Self::StoryDone { .. } => "story_done",
            Self::StoryBusy { .. } => "story_busy",
            Self::AfterCycle { .. } => "after_cycle",
            Self::BranchMade { .. } => "branch_made",
            Self::MergeUnderWay { .. } => "merge_under_way",
            Self::NothingToMerge { .. } => "nothing_to_merge",
            Self::WhichBranch { .. } => "which_branch",
            Self::NoSuchBranch { .. } => "no_such_branch",
            Self::MergeFailed { .. } => "merge_failed",
            Self::SecretsFound { .. } => "secrets_found",
            Self::BadText { .. } => "bad_text",
            Self::NoAgents => "no_agents",
            Self::NoSuchAgent { .. } => "no_such_agent",
            Self::AlreadyRunning { .. } => "already_running",
            Self::NoSuchRun { .. } => "no_such_run",
            Self::NotStarted { .. } => "not_started",
            Self::RunEnding { .. } => "run_ending",
            Self::NoSession { .. } => "no_session",
            Self::NoTurns { .. } => "no_turns",
            Self::NoWorktree { .. } => "no_worktree",
            Self::NoSuchAsk { .. } => "no_such_ask",
            Self::AlreadyAnswered { .. } => "already_answered",
            Self::AskClosed { .. } => "ask_closed",
            Self::AskNotShown { .. } => "ask_not_shown",
            Self::WrongAnswer { .. } => "wrong_answer",
            Self::BadRule { .. } => "bad_rule",
            Self::LocalFileBroken { .. } => "local_file_broken",
            Self::TooManyGrants { .. } => "too_many_grants",
            Self::LocalFileUnwritten { .. } => "local_file_unwritten",
            Self::Undelivered { .. } => "undelivered",
            Self::Unchanged { .. } => "unchanged",
        }
    }

    pub fn class(&self) -> RefusalClass {
        match self {
            Self::NoSuchStory { .. }
            | Self::NoSuchBranch { .. }
            | Self::NoSuchAgent { .. }
            | Self::NoSuchRun { .. }
            | Self::NoSuchAsk { .. } => RefusalClass::NotFound,
            Self::StoryArchived { .. }
            | Self::StoryExists { .. }
            | Self::StoryDone { .. }
            | Self::StoryBusy { .. }
            | Self::BranchMade { .. }
            | Self::MergeUnderWay { .. }
            | Self::NothingToMerge { .. }
            | Self::MergeFailed { .. }
            | Self::SecretsFound { .. }
            | Self::NoAgents
            | Self::AlreadyRunning { .. }
            | Self::NotStarted { .. }
            | Self::RunEnding { .. }
            | Self::NoSession { .. }
            | Self::NoTurns { .. }
            | Self::NoWorktree { .. }
            | Self::AlreadyAnswered { .. }
            | Self::AskClosed { .. }
            | Self::LocalFileBroken { .. }
            | Self::TooManyGrants { .. }
            | Self::Undelivered { .. }
            | Self::Unchanged { .. } => RefusalClass::Conflict,
            Self::AskNotShown { .. } => RefusalClass::Unseen,
            Self::WhichBranch { .. }
            | Self::AfterCycle { .. }
            | Self::BadText { .. }
            | Self::BadRule { .. }
            | Self::WrongAnswer { .. } => RefusalClass::Invalid,
            Self::LocalFileUnwritten { .. } => RefusalClass::NoRoom,
        }
    }

    /// What the person can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoSuchStory { .. } => "list stories with `musher story list`".into(),
            Self::StoryArchived { .. } => "add a new story for more work".into(),
            Self::StoryExists { .. } => "choose another id, or leave it out".into(),
            Self::StoryDone { story, merged: None } => {
                format!("reopen it first: `musher story reopen {story}`")
            }
            Self::StoryDone { story, merged: Some(_) } => {
                format!("reopen story {story} to work on it again, or add a new story")
            }
            Self::StoryBusy { .. } => "stop these runs, or wait until they have ended".into(),
            Self::AfterCycle { .. } => "take one of them out of another's `after`".into(),
            Self::BranchMade { .. } => {
                "its name and its base stay; add a new story for another branch".into()
            }
            Self::MergeUnderWay { .. } => "wait until the merge has finished".into(),
            Self::NothingToMerge { .. } => "start a run on the story first".into(),
            Self::WhichBranch { .. } => "name the branch by its number, with --branch N".into(),
            Self::NoSuchBranch { .. } => "show the story to see its branches".into(),
            Self::MergeFailed { story, .. } => {
                format!("resolve that and retry: `musher merge {story}`")
            }
            Self::SecretsFound { .. } => {
                "remove them from its commits, or merge anyway with `musher merge --with-secrets` \
                 (`with_secrets` in the body)"
                    .into()
            }
            Self::BadText { what, .. } => format!("correct the {what} and send it again"),
            Self::NoAgents => "add an agent to the project file".into(),
            Self::NoSuchAgent { known, .. } => match known.is_empty() {
                true => "add the agent to the project file, and start the server again".into(),
                false => format!(
                    "the team is: {}; a changed project file is read when the server starts",
                    listed(known)
                ),
            },
            Self::AlreadyRunning { run, .. } => {
                format!("prompt run {run}, or stop it and start again")
            }
            Self::NoSuchRun { .. } => "list runs with `musher ps --all`".into(),
            Self::NotStarted { run } => format!("wait until run {run} is working, or stop it"),
            Self::RunEnding { run } => format!("prompt run {run} again when it has ended"),
            Self::NoTurns { .. } => "fork the whole session: leave the turn out".into(),
            Self::NoSession { .. } => "start a new run, or retry this one".into(),
            Self::NoWorktree { .. } => "start a new run on the story".into(),
            Self::NoSuchAsk { .. } => "list open asks with `musher asks`".into(),
            Self::AlreadyAnswered { .. } | Self::AskClosed { .. } => {
                "tell the agent in a prompt if you want something else".into()
            }
            Self::AskNotShown { .. } => {
                "read the ask again, and send its digest with the answer as `shown`".into()
            }
            Self::WrongAnswer { .. } => "approve or deny it".into(),
            Self::BadRule { .. } => "write the rule as it was offered".into(),
            Self::LocalFileBroken { .. } => {
                "correct local.toml by hand, or take it away; nothing in it counts until then"
                    .into()
            }
            Self::TooManyGrants { .. } => {
                "take some back, or write a wider rule into the project file".into()
            }
            Self::LocalFileUnwritten { .. } => {
                "see that the state directory can be written, and send it again".into()
            }
            Self::Undelivered { run, why, .. } => match why {
                UndeliveredCode::RunEnded => format!("prompt run {run} again to continue it"),
                UndeliveredCode::AskClosed => {
                    "tell the agent in a prompt if you want something else".into()
                }
                UndeliveredCode::Unfit => "send what the run can take".into(),
                UndeliveredCode::Failed => "send it again".into(),
            },
            Self::Unchanged { run, change, .. } => match change {
                SessionChange::Model { .. } => {
                    format!("stop run {run}, and start one with that model (--model)")
                }
                SessionChange::Mode { .. } => {
                    format!("stop run {run}, and start one with that mode (--mode)")
                }
            },
        }
    }
}

fn done(merged: Option<&str>) -> String {
    match merged {
        None => "done".into(),
        Some(commit) => format!("merged already, as {}", commit.get(..12).unwrap_or(commit)),
    }
}

/// Stories, each of which waits for the next.
fn way(stories: &[StoryId]) -> String {
    stories.iter().map(StoryId::to_string).collect::<Vec<_>>().join(" after ")
}

fn listed<T: ToString>(things: &[T]) -> String {
    things.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

fn closed(by: ClosedBy) -> &'static str {
    match by {
        ClosedBy::Person => "by a person",
        ClosedBy::Rule => "by a tool rule",
        ClosedBy::Deadline => "by its deadline",
        ClosedBy::Unattended => "because nobody was there to answer",
        ClosedBy::Agent => "by the agent",
        ClosedBy::TurnEnd => "by the end of the turn",
        ClosedBy::ProcessEnd => "by the end of the agent",
    }
}
