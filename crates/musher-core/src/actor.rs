//! Who speaks: whoever gave a command or caused a fact, and through which door.
//!
//! Both are written down for good, so a reader takes a word that it does not know as `Unknown`.

use serde::{Deserialize, Serialize};

use crate::{RunId, Sender, TokenId};

/// Who speaks, and through which door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    pub who: Who,
    pub via: Via,
}

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Who {
    /// Whoever holds the token of the state directory.
    Owner,
    /// A browser or a program with a token of its own.
    Program { token: TokenId },
    /// An agent in its run.
    Run { run: RunId },
    /// The pool itself.
    Pool,
    /// A newer Musher wrote it.
    #[serde(other)]
    Unknown,
}

/// Through which door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// The command line.
    Cli,
    /// The web UI.
    Web,
    /// HTTP, by a program that does not say what it is.
    Api,
    /// Tools for assistants.
    Mcp,
    /// No door: the server itself.
    Server,
    /// A newer Musher wrote it.
    #[serde(other)]
    Unknown,
}

impl Actor {
    /// The pool, which acts by itself.
    pub const POOL: Self = Self { who: Who::Pool, via: Via::Server };

    /// A run, as its log tells of it.
    pub fn run(run: RunId) -> Self {
        Self { who: Who::Run { run }, via: Via::Server }
    }
}

impl Sender {
    /// The same in the words of the first version; people alone have them.
    pub fn of(actor: &Actor) -> Option<Self> {
        let assistant = actor.via == Via::Mcp;
        match &actor.who {
            Who::Owner if assistant => Some(Self::Assistant { token: None }),
            Who::Owner => Some(Self::CommandLine),
            Who::Program { token } if assistant => {
                Some(Self::Assistant { token: Some(token.to_string()) })
            }
            Who::Program { token } => Some(Self::Token { token: token.to_string() }),
            Who::Run { .. } | Who::Pool | Who::Unknown => None,
        }
    }

    /// Who it is.
    pub fn who(&self) -> Who {
        match self {
            Self::Token { token } | Self::Assistant { token: Some(token) } => {
                Who::Program { token: token.as_str().into() }
            }
            Self::CommandLine | Self::Assistant { token: None } => Who::Owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_read_back_and_what_a_newer_musher_wrote_is_read_as_unknown() {
        let actors = [
            (Who::Owner, Via::Cli),
            (Who::Program { token: "t3".into() }, Via::Web),
            (Who::Run { run: RunId::minted(7) }, Via::Mcp),
            (Who::Pool, Via::Server),
            (Who::Owner, Via::Api),
        ];
        for (who, via) in actors {
            let actor = Actor { who, via };
            let json = serde_json::to_string(&actor).unwrap();
            assert_eq!(serde_json::from_str::<Actor>(&json).unwrap(), actor, "{json}");
        }
        let newer = r#"{"who":{"type":"person","person":"p3"},"via":"slack","at":1}"#;
        let read: Actor = serde_json::from_str(newer).unwrap();
        assert_eq!(read, Actor { who: Who::Unknown, via: Via::Unknown });
        let written = serde_json::to_string(&Actor { who: Who::Owner, via: Via::Cli }).unwrap();
        assert_eq!(written, r#"{"who":{"type":"owner"},"via":"cli"}"#);
    }
}
