//! A run as a person names it: `r12`, or `STORY` or `STORY/AGENT` for the latest run there.

use std::str::FromStr;

use musher_core::{AgentName, RunId, StoryId};

/// A run's name, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunNameArg {
    Id(RunId),
    Latest { story: StoryId, agent: Option<AgentName> },
}

impl RunNameArg {
    /// The name as the API writes it.
    pub(crate) fn wire(&self) -> String {
        match self {
            Self::Id(run) => run.to_string(),
            Self::Latest { story, agent: None } => story.to_string(),
            Self::Latest { story, agent: Some(agent) } => format!("{story}:{agent}"),
        }
    }
}

impl std::fmt::Display for RunNameArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.wire().replace(':', "/"))
    }
}

impl FromStr for RunNameArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(run) = RunId::parse(text) {
            return Ok(Self::Id(run));
        }
        let (story, agent) = match text.split_once('/') {
            Some((story, agent)) => (story, Some(agent)),
            None => (text, None),
        };
        let story = StoryId::parse(story)
            .map_err(|error| format!("a run is named `r12`, `STORY` or `STORY/AGENT`; {error}"))?;
        let agent = agent.map(AgentName::parse).transpose().map_err(|error| error.to_string())?;
        Ok(Self::Latest { story, agent })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_run_is_named_by_its_id_or_by_its_story_and_agent() {
        for (text, wire) in [("r12", "r12"), ("login", "login"), ("s1/coder", "s1:coder")] {
            let name: RunNameArg = text.parse().unwrap();
            assert_eq!((name.wire().as_str(), name.to_string().as_str()), (wire, text));
        }
        for wrong in ["", "S1", "a/b/c", "../x", "s1/", "-x", "s1:coder"] {
            assert!(wrong.parse::<RunNameArg>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_typed_becomes_a_harmless_name_or_an_error(text in any::<String>()) {
            if let Ok(name) = text.parse::<RunNameArg>() {
                prop_assert!(name.wire().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:".contains(&b)));
            }
        }
    }
}
