//! Newtypes for every id, so that one kind can never stand in for another.

mod checked;

use serde::{Deserialize, Serialize};

pub use checked::{AgentName, BranchName, CommandId, IdError, Label, RunId, SlotId, StoryId};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps an id that came from outside or was minted by the caller.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }
    )*};
}

ids! {
    /// A conversation as its runtime knows it; a later run may resume it.
    SessionId,
    /// One ask inside one run.
    AskId,
    /// A hash over a run, an ask of it and what it asks: the same whenever the same ask is read.
    AskDigest,
    /// One tool call inside one run.
    CallId,
    /// One piece of content (a text, a thought) inside one run.
    ItemId,
    /// One prompt that a person or a program sent.
    PromptId,
    /// A token that a browser or a program holds.
    TokenId,
    /// One piece of background work inside one run.
    TaskId,
}
