//! What a door wishes for, and how the runs that it names are found.

use musher_core::pool::{PoolCommand, Refusal, State, WholeStory};
use musher_core::{
    AgentName, Answer, AskId, CommandId, PastRun, RunId, RunOptions, RunRef, SessionChange,
    ShownAsk, StoryId, StorySpec, StorySpecChange, Variables,
};

use crate::journal::{JournalBatch, JournalError, PastAsk};

/// A run as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunName {
    Id(RunId),
    /// The newest run on a story that is not over, else the newest; of this agent if one is named.
    Latest {
        story: StoryId,
        agent: Option<AgentName>,
    },
}

impl RunName {
    /// The run that is meant, if it is not over.
    pub(super) fn among(&self, state: &State) -> Option<RunId> {
        match self {
            Self::Id(run) => state.runs.contains_key(run).then_some(*run),
            Self::Latest { story, agent } => {
                let fits = |named: &AgentName| agent.as_ref().is_none_or(|agent| agent == named);
                let live = state.runs_of(story).filter(|(_, run)| fits(&run.plan.agent)).last();
                live.map(|(run, _)| run)
            }
        }
    }
}

/// A [`PoolCommand`] before its runs are found.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    AddStory {
        id: Option<StoryId>,
        title: String,
        text: String,
        context: Variables,
        spec: StorySpec,
    },
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
        branch: Option<u32>,
        with_secrets: bool,
    },
    StartRun {
        story: StoryId,
        agent: Option<AgentName>,
        model: Option<String>,
        prompt: Option<String>,
        options: RunOptions,
    },
    Prompt {
        run: RunName,
        text: String,
    },
    Steer {
        run: RunName,
        text: String,
    },
    TakeBack {
        run: RunName,
        prompt: CommandId,
    },
    Interrupt {
        run: RunName,
    },
    Change {
        run: RunName,
        change: SessionChange,
    },
    Stop {
        run: RunName,
    },
    Kill {
        run: RunName,
    },
    Answer {
        run: RunName,
        ask: AskId,
        answer: Answer,
        seen: ShownAsk,
    },
    Resume {
        run: RunName,
        text: Option<String>,
    },
    Retry {
        run: RunName,
    },
    Fork {
        run: RunName,
        text: Option<String>,
        turn: Option<u32>,
    },
}

impl Wish {
    /// Whether it makes room on the disk, so that it is heeded on one that is full.
    pub(super) fn ends_a_run(&self) -> bool {
        match self {
            Self::Stop { .. } | Self::Kill { .. } => true,
            Self::AddStory { .. }
            | Self::PutStories { .. }
            | Self::EditStory { .. }
            | Self::FinishStory { .. }
            | Self::ReopenStory { .. }
            | Self::ArchiveStory { .. }
            | Self::MergeStory { .. }
            | Self::StartRun { .. }
            | Self::Prompt { .. }
            | Self::Steer { .. }
            | Self::TakeBack { .. }
            | Self::Interrupt { .. }
            | Self::Change { .. }
            | Self::Answer { .. }
            | Self::Resume { .. }
            | Self::Retry { .. }
            | Self::Fork { .. } => false,
        }
    }
}

/// Why a wish did not become a command.
pub(super) enum Unresolved {
    Refused(Refusal),
    NoRun {
        story: StoryId,
        agent: Option<AgentName>,
    },
    /// The journal cannot be read, which ends everything.
    Journal(JournalError),
}

impl From<JournalError> for Unresolved {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl From<Refusal> for Unresolved {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Finds the runs that a wish names, in the state and in the journal as they are at this very step.
pub(super) fn resolve(
    wish: Wish,
    state: &State,
    journal: &JournalBatch<'_>,
) -> Result<PoolCommand, Unresolved> {
    let find = Finder { state, journal };
    Ok(match wish {
        Wish::AddStory { id, title, text, context, spec } => {
            PoolCommand::AddStory { id, title, text, context, spec }
        }
        Wish::PutStories { stories } => PoolCommand::PutStories { stories },
        Wish::EditStory { story, title, text, context, spec } => {
            PoolCommand::EditStory { story, title, text, context, spec }
        }
        Wish::FinishStory { story } => PoolCommand::FinishStory { story },
        Wish::ReopenStory { story } => PoolCommand::ReopenStory { story },
        Wish::ArchiveStory { story } => PoolCommand::ArchiveStory { story },
        Wish::MergeStory { story, branch, with_secrets } => {
            PoolCommand::MergeStory { story, branch, with_secrets }
        }
        Wish::StartRun { story, agent, model, prompt, options } => {
            PoolCommand::StartRun { story, agent, model, prompt, options }
        }
        Wish::Prompt { run, text } => PoolCommand::Prompt { run: find.run(run)?, text },
        Wish::Steer { run, text } => PoolCommand::Steer { run: find.run(run)?.id(), text },
        Wish::TakeBack { run, prompt } => {
            PoolCommand::TakeBack { run: find.run(run)?.id(), prompt }
        }
        Wish::Interrupt { run } => PoolCommand::Interrupt { run: find.run(run)?.id() },
        Wish::Change { run, change } => PoolCommand::Change { run: find.run(run)?.id(), change },
        Wish::Stop { run } => PoolCommand::Stop { run: find.run(run)?.id() },
        Wish::Kill { run } => PoolCommand::Kill { run: find.run(run)?.id() },
        Wish::Answer { run, ask, answer, seen } => {
            let run = find.run(run)?;
            find.not_closed_long_ago(&run, &ask)?;
            PoolCommand::Answer { run: run.id(), ask, answer, seen }
        }
        Wish::Resume { run, text } => PoolCommand::Resume { past: find.past(run)?, text },
        Wish::Retry { run } => PoolCommand::Retry { past: find.past(run)? },
        Wish::Fork { run, text, turn } => PoolCommand::Fork { run: find.run(run)?, text, turn },
    })
}

struct Finder<'a> {
    state: &'a State,
    journal: &'a JournalBatch<'a>,
}

impl Finder<'_> {
    fn run(&self, name: RunName) -> Result<RunRef, Unresolved> {
        if let Some(run) = name.among(self.state) {
            return Ok(RunRef::Live(run));
        }
        match name {
            RunName::Id(run) => {
                let past = self.journal.past(run)?;
                Ok(past.map_or(RunRef::Live(run), RunRef::Past))
            }
            RunName::Latest { story, agent } => self.latest_past(story, agent),
        }
    }

    fn latest_past(&self, story: StoryId, agent: Option<AgentName>) -> Result<RunRef, Unresolved> {
        if let Some(past) = self.journal.latest_past(&story, agent.as_ref())? {
            return Ok(RunRef::Past(past));
        }
        if self.state.archived.contains(&story) {
            return Err(Refusal::StoryArchived { story }.into());
        }
        match self.state.is_taken(&story) {
            true => Err(Unresolved::NoRun { story, agent }),
            false => Err(Refusal::NoSuchStory { story }.into()),
        }
    }

    /// A run that is over, to be gone on with.
    fn past(&self, name: RunName) -> Result<PastRun, Unresolved> {
        match self.run(name)? {
            RunRef::Past(past) => Ok(past),
            RunRef::Live(id) => Err(match self.state.runs.get(&id) {
                Some(run) => {
                    let (story, agent) = (run.plan.story.clone(), run.plan.agent.clone());
                    Refusal::AlreadyRunning { run: id, story, agent }.into()
                }
                None => Refusal::NoSuchRun { run: id }.into(),
            }),
        }
    }

    /// The state forgets the asks of a run that is over, but the journal knows what won.
    fn not_closed_long_ago(&self, run: &RunRef, ask: &AskId) -> Result<(), Unresolved> {
        let run = match run {
            RunRef::Live(_) => return Ok(()),
            RunRef::Past(past) if self.state.parked.contains_key(&past.run) => return Ok(()),
            RunRef::Past(past) => past.run,
        };
        let ask = ask.clone();
        Err(match self.journal.past_ask(run, &ask)? {
            Some(PastAsk::Answered) => Refusal::AlreadyAnswered { run, ask }.into(),
            Some(PastAsk::Closed(by)) => Refusal::AskClosed { run, ask, by }.into(),
            None => Refusal::NoSuchAsk { run, ask }.into(),
        })
    }
}
