//! What the pool knows: live things only, folded from the facts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::pool::DaySpending;
use crate::{
    AgentName, AskId, BranchRef, CommandId, Run, RunId, RunLine, RunPlan, SessionChange, SessionId,
    SlotId, Story, StoryId, Who,
};

/// The shape of [`State`] as snapshots write it. A snapshot of another version is not read: the facts are folded again.
pub const STATE_VERSION: u32 = 2;

/// All that the pool knows. It changes by [`State::apply`] alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Every story that is not archived.
    pub stories: BTreeMap<StoryId, Story>,
    /// The ids of archived stories, which are never given again.
    pub archived: BTreeSet<StoryId>,
    /// Those of them that were done when they were archived.
    #[serde(default)]
    pub archived_done: BTreeSet<StoryId>,
    /// Every run that is not over, the oldest first.
    pub runs: BTreeMap<RunId, Run>,
    /// Commands that are on their way to a runner.
    pub deliveries: BTreeMap<CommandId, Delivery>,
    /// Merges that are under way or wait for their turn.
    pub merges: BTreeMap<CommandId, PendingMerge>,
    pub slots: BTreeMap<SlotId, Slot>,
    /// The last session of each agent on each story; forks leave it alone.
    #[serde(with = "pairs")]
    pub sessions: BTreeMap<SessionKey, KnownSession>,
    /// When the pool restarted something by itself, the last few times, Unix milliseconds.
    #[serde(with = "pairs")]
    pub restarts: BTreeMap<Pair, Vec<i64>>,
    /// Lost runs that wait for a person's word.
    pub parked: BTreeMap<RunId, Parked>,
    /// The number of the last run.
    pub last_run: u64,
    /// All of `s1`, `s2` … up to this number are taken.
    pub last_story: u64,
    /// How many deliveries there ever were; it orders them.
    pub last_delivery: u64,
    /// What was spent on the last day.
    #[serde(default)]
    pub day: DaySpending,
}

/// One agent on one story.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pair {
    pub story: StoryId,
    pub agent: AgentName,
}

impl Pair {
    /// The pair that a run works as.
    pub fn of(plan: &RunPlan) -> Self {
        Self { story: plan.story.clone(), agent: plan.agent.clone() }
    }
}

/// A command on its way to a runner. Its text is kept apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub run: RunId,
    pub kind: DeliveryKind,
    /// Its place in the order in which commands were offered.
    pub n: u64,
    /// It grants a rule that is still to be saved; it is not handed over before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grants: bool,
}

/// How far a rule is that an answer grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantStep {
    /// It is to be saved, and then the answer is handed over.
    Wanted,
    Saved,
}

/// What is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DeliveryKind {
    Prompt,
    Steer,
    Answer {
        ask: AskId,
        /// Who answers; deliveries of older builds do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<Who>,
    },
    TakeBack {
        prompt: CommandId,
    },
    Interrupt,
    Change {
        change: SessionChange,
    },
    Stop,
    Kill,
}

/// A merge that is under way, or waits for those before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingMerge {
    pub branch: BranchRef,
    #[serde(default, skip_serializing_if = "SecretScan::is_open")]
    pub check: SecretScan,
    /// Its place in the order in which merges were asked for.
    #[serde(default)]
    pub n: u64,
}

/// Whether secrets in a branch keep it from being merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretScan {
    /// It is to be searched.
    #[default]
    Open,
    /// It was searched, and adds none.
    Clean,
    /// The person merges it whatever it adds.
    Waived,
}

impl SecretScan {
    pub(super) fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

/// A worktree slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Slot {
    /// Any story may have it.
    Free,
    /// It is a story's, between runs too.
    Held {
        branch: BranchRef,
        #[serde(rename = "wear")]
        condition: SlotCondition,
        /// The run that is in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        busy: Option<RunId>,
    },
    /// Its work is being kept and its folder emptied.
    Leaving { branch: BranchRef },
}

/// How far a slot has come since it was given to its story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotCondition {
    /// No runner has been in it, so there is no work to lose.
    New,
    /// A runner has been in it.
    Entered,
    /// Its setup has been run.
    SetUp,
}

/// Whose session and with which model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    pub story: StoryId,
    pub agent: AgentName,
    pub model: Option<String>,
}

/// A session that could be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSession {
    pub session: SessionId,
    /// The run that named it last.
    pub run: RunId,
}

/// A lost run that is not restarted before a person says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// The run that would be started.
    pub plan: RunPlan,
}

impl State {
    /// Whether a story has or had this id.
    pub fn is_taken(&self, story: &StoryId) -> bool {
        self.stories.contains_key(story) || self.archived.contains(story)
    }

    /// The id for the next story that comes without one.
    pub fn next_story(&self) -> StoryId {
        StoryId::minted(self.last_story.saturating_add(1))
    }

    /// The runs of a story that are not over.
    pub fn runs_of<'a>(&'a self, story: &'a StoryId) -> impl Iterator<Item = (RunId, &'a Run)> {
        self.runs
            .iter()
            .filter(move |(_, run)| run.plan.story == *story)
            .map(|(id, run)| (*id, run))
    }

    /// The one run of an agent on a story that is not over, forks aside.
    pub fn main_run(&self, pair: &Pair) -> Option<RunId> {
        let mut runs = self.runs_of(&pair.story);
        runs.find(|(_, run)| run.plan.agent == pair.agent && run.plan.line == RunLine::Main)
            .map(|(id, _)| id)
    }

    /// The deliveries to a run, in the order in which they were offered.
    pub fn deliveries_to(&self, run: RunId) -> Vec<(&CommandId, &Delivery)> {
        let mut found: Vec<_> =
            self.deliveries.iter().filter(|(_, delivery)| delivery.run == run).collect();
        found.sort_by_key(|(_, delivery)| delivery.n);
        found
    }

    /// The slots that a story holds, with their branch numbers.
    pub fn slots_of<'a>(&'a self, story: &'a StoryId) -> impl Iterator<Item = (SlotId, &'a Slot)> {
        self.slots.iter().map(|(id, slot)| (*id, slot)).filter(move |(_, slot)| match slot {
            Slot::Held { branch, .. } => branch.story == *story,
            Slot::Free | Slot::Leaving { .. } => false,
        })
    }

    /// The merges in the order in which they were asked for.
    pub fn merges_in_order(&self) -> Vec<(&CommandId, &PendingMerge)> {
        let mut merges: Vec<_> = self.merges.iter().collect();
        merges.sort_by_key(|(_, merge)| merge.n);
        merges
    }

    /// Whether a story is being merged.
    pub fn is_merging(&self, story: &StoryId) -> bool {
        self.merges.values().any(|merge| merge.branch.story == *story)
    }
}

/// JSON has only texts for keys, so a map with other keys is written as a list of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S, K, V>(map: &BTreeMap<K, V>, to: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
        K: Serialize,
        V: Serialize,
    {
        to.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D, K, V>(from: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        D: Deserializer<'de>,
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(from)?.into_iter().collect())
    }
}
