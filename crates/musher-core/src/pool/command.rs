//! What people and programs may ask of the pool; each command may be refused.

use crate::{
    AgentName, Answer, AskId, CommandId, PastRun, RunId, RunOptions, RunRef, SessionChange,
    ShownAsk, StoryId, StorySpec, StorySpecChange, Variables,
};

/// A wish about stories or runs.
#[derive(Debug, Clone, PartialEq)]
pub enum PoolCommand {
    AddStory {
        /// The person's own id for it; else the pool mints one.
        id: Option<StoryId>,
        title: String,
        text: String,
        context: Variables,
        spec: StorySpec,
    },
    /// Add these stories, and make those that are there already like this; all of them or none.
    PutStories {
        stories: Vec<WholeStory>,
    },
    EditStory {
        story: StoryId,
        title: Option<String>,
        text: Option<String>,
        context: Option<Variables>,
        spec: StorySpecChange,
    },
    /// The story is done.
    FinishStory {
        story: StoryId,
    },
    ReopenStory {
        story: StoryId,
    },
    ArchiveStory {
        story: StoryId,
    },
    MergeStory {
        story: StoryId,
        /// The number of the branch; it may be left out while the story has one worktree.
        branch: Option<u32>,
        /// Merge though the branch adds secrets: the person has seen where.
        with_secrets: bool,
    },
    StartRun {
        story: StoryId,
        agent: Option<AgentName>,
        model: Option<String>,
        /// What to do; else the story says it.
        prompt: Option<String>,
        options: RunOptions,
    },
    /// An ended run is gone on with in a new run that resumes its session.
    Prompt {
        run: RunRef,
        text: String,
    },
    Steer {
        run: RunId,
        text: String,
    },
    /// Take back a prompt that waits for the end of the turn.
    TakeBack {
        run: RunId,
        prompt: CommandId,
    },
    Interrupt {
        run: RunId,
    },
    /// Change the model or the mode of a live run.
    Change {
        run: RunId,
        change: SessionChange,
    },
    Stop {
        run: RunId,
    },
    Kill {
        run: RunId,
    },
    Answer {
        run: RunId,
        ask: AskId,
        answer: Answer,
        /// An answer belongs to what was on the screen.
        seen: ShownAsk,
    },
    Resume {
        past: PastRun,
        /// What to do next; else the agent is asked to go on.
        text: Option<String>,
    },
    Retry {
        past: PastRun,
    },
    Fork {
        run: RunRef,
        text: Option<String>,
        /// The turn at whose end the copy begins; else it is of the whole session.
        turn: Option<u32>,
    },
}

/// A story with everything that a person can say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeStory {
    pub id: StoryId,
    pub title: String,
    pub text: String,
    pub context: Variables,
    pub spec: StorySpec,
}
