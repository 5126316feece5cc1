//! One conversation with the scripted model, in any wire format.

use musher_testkit::model::ModelServer;
use serde_json::Value;

use crate::dialect::{Dialect, Said};
use crate::wire::{Answer, Client};

#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) dialect: Dialect,
    pub(crate) stream: bool,
    pub(crate) client: Client,
    pub(crate) body: Value,
}

impl Talk {
    pub(crate) fn new(server: &ModelServer, dialect: Dialect, stream: bool, prompt: &str) -> Self {
        Self {
            dialect,
            stream,
            client: dialect.client(server, stream),
            body: dialect.ask(prompt, stream),
        }
    }

    /// One for each wire format, streaming and not.
    pub(crate) fn all(server: &ModelServer, prompt: &str) -> Vec<Self> {
        let ways = Dialect::ALL.into_iter().flat_map(|dialect| [(dialect, true), (dialect, false)]);
        ways.map(|(dialect, stream)| Self::new(server, dialect, stream, prompt)).collect()
    }

    /// One for each wire format, streaming.
    pub(crate) fn streaming(server: &ModelServer, prompt: &str) -> Vec<Self> {
        Dialect::ALL.map(|dialect| Self::new(server, dialect, true, prompt)).into()
    }

    pub(crate) fn name(&self) -> String {
        format!("{:?} {}", self.dialect, if self.stream { "streaming" } else { "plain" })
    }

    pub(crate) async fn post(&self) -> Answer {
        self.client.post(&self.body).await
    }

    /// Sends the conversation and reads a good answer.
    pub(crate) async fn hear(&self) -> Said {
        let answer = self.post().await;
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 200, "{}: {body}", self.name());
        assert!(answer.whole, "{}: {body}", self.name());
        self.dialect.read(&answer, self.stream)
    }

    /// The same, and takes the answer and results of its calls into the history.
    pub(crate) async fn go_on(&mut self) -> Said {
        let said = self.hear().await;
        self.dialect.append(&mut self.body, &said);
        said
    }
}
