//! What a story asks for, as the API reads and tells it.

use std::collections::BTreeSet;

use musher_client::api::{ApiCriterion, ApiStorySpec};
use musher_core::{
    AgentName, BranchName, CriterionJudge, Label, Priority, StoryId, StorySpec, StorySpecChange,
    Usd, criteria,
};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

/// What a story asks for, in the body of a request. What is left out stays as it is, or is the usual; `null` takes it away.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(in crate::api) struct SpecBody {
    /// The stories that must be done before its runs begin.
    #[schema(value_type = Option<Vec<String>>)]
    after: Option<BTreeSet<StoryId>>,
    /// From 0 to 4; the greater one is worked on first, and 2 is usual.
    #[schema(value_type = Option<u8>)]
    priority: Option<Priority>,
    /// Words by which stories are sorted.
    #[schema(value_type = Option<Vec<String>>)]
    labels: Option<BTreeSet<Label>>,
    /// What all its runs together may spend, in dollars.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<f64>)]
    budget_usd: Option<Option<Usd>>,
    /// Who works on it when a start names nobody.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>)]
    agent: Option<Option<AgentName>>,
    /// The branch that it begins at and is merged into, if not the project's own.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>)]
    base: Option<Option<BranchName>>,
    /// What its first branch is called.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>)]
    branch: Option<Option<BranchName>>,
}

/// A key that is there, whatever its value.
fn named<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(value).map(Some)
}

impl From<SpecBody> for StorySpecChange {
    fn from(body: SpecBody) -> Self {
        let SpecBody { after, priority, labels, budget_usd, agent, base, branch } = body;
        Self { after, priority, labels, budget: budget_usd, agent, base, branch }
    }
}

impl From<SpecBody> for StorySpec {
    fn from(body: SpecBody) -> Self {
        StorySpecChange::from(body).of(&Self::default())
    }
}

/// What a story asks for, as clients are told.
pub(super) fn told(spec: StorySpec) -> ApiStorySpec {
    let StorySpec { after, priority, labels, budget, agent, base, branch } = spec;
    ApiStorySpec {
        after: after.into_iter().map(String::from).collect(),
        priority: priority.into(),
        labels: labels.into_iter().map(String::from).collect(),
        budget_usd: budget.map(Usd::dollars),
        agent: agent.map(String::from),
        base: base.map(String::from),
        branch: branch.map(String::from),
    }
}

/// The criteria of a text, as clients are told.
pub(super) fn criteria_of(text: &str) -> Vec<ApiCriterion> {
    let told = |one: musher_core::Criterion| {
        let (by, gate) = match one.judge {
            CriterionJudge::Reviewer => ("reviewer", None),
            CriterionJudge::Gate { gate } => ("gate", Some(gate)),
            CriterionJudge::Person => ("person", None),
        };
        ApiCriterion { text: one.text, ticked: one.ticked, by: by.into(), gate }
    };
    criteria(text).into_iter().map(told).collect()
}
