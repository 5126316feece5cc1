//! Answers the asks of a run that somebody follows at a terminal, where they appear.

use std::collections::HashMap;
use std::time::Instant;

use musher_core::{Answer, AskId, Event, EventKind};
use serde_json::json;

use super::super::asking::{Act, Asking};
use super::super::place::WorkLocation;
use super::super::terminal::{self, Typed};
use super::super::{CliError, tell};
use musher_client::api::{ApiAsk, ApiAsks};

/// The asks of one run, and the keyboard.
#[derive(Debug)]
pub(super) struct InPlace {
    run: String,
    asks: Asking,
    /// The digest of each ask as it was shown here.
    shown: HashMap<AskId, String>,
    typed: Typed,
    /// The keyboard is gone.
    left: bool,
}

impl InPlace {
    /// Only where a person can see the ask and type the answer to it.
    pub(super) fn at_a_terminal(run: &str) -> Option<Self> {
        terminal::can_ask().then(|| Self {
            run: run.to_owned(),
            asks: Asking::default(),
            shown: HashMap::new(),
            typed: Typed::default(),
            left: false,
        })
    }

    /// The next line that is typed; waits for ever while nothing is asked.
    pub(super) async fn next(&mut self) -> Option<String> {
        match self.asks.is_empty() || self.left {
            true => std::future::pending().await,
            false => self.typed.next().await,
        }
    }

    /// Hears an event that was just shown; gives what is to be shown beneath it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only asks matter here")]
    pub(super) async fn heard(
        &mut self,
        place: &WorkLocation,
        line: &str,
    ) -> Result<Option<String>, CliError> {
        // Most lines are about something else, and are not read twice.
        if !line.contains("\"ask_") {
            return Ok(None);
        }
        let Ok(event) = serde_json::from_str::<Event>(line) else { return Ok(None) };
        let act = match event.kind {
            EventKind::AskOpened { ask, body, settled: false, .. } => {
                // The log is told from its beginning: most of its asks are closed by now.
                let Some(now) = self.open(place, &ask).await? else { return Ok(None) };
                if now.body.as_ref() != Some(&body) {
                    return Ok(None);
                }
                self.shown.insert(ask.clone(), now.digest);
                self.asks.opened(&ask, &body, Instant::now())
            }
            EventKind::AskClosed { ask, .. } => {
                self.shown.remove(&ask);
                self.asks.closed(&ask, Instant::now())
            }
            _ => return Ok(None),
        };
        Ok(self.told(act))
    }

    /// Acts on a line that was typed; gives what is to be shown.
    pub(super) async fn line(
        &mut self,
        place: &WorkLocation,
        line: Option<String>,
    ) -> Option<String> {
        let Some(line) = line else {
            // A person who only reads has answered nothing.
            self.left = true;
            return None;
        };
        let (ask, answer) = match self.asks.line(Some(&line)) {
            Act::Answer(ask, answer) => (ask, answer),
            act @ (Act::Nothing | Act::Put(_) | Act::Show(_)) => return self.told(act),
        };
        let next = match self.send(place, &ask, &answer).await {
            Ok(()) => self.asks.answered(&ask, Instant::now()),
            Err(error) => {
                tell(&format!("not sent: {error}"));
                self.asks.refused(Instant::now())
            }
        };
        self.told(next)
    }

    fn told(&mut self, act: Act) -> Option<String> {
        match act {
            Act::Nothing | Act::Answer(..) => None,
            Act::Put(words) => {
                self.typed.listen();
                Some(words)
            }
            Act::Show(words) => Some(words),
        }
    }

    async fn open(&self, place: &WorkLocation, ask: &AskId) -> Result<Option<ApiAsk>, CliError> {
        let ApiAsks { asks } = place.client()?.read(&["asks"], &[("run", &self.run)]).await?;
        Ok(asks.into_iter().find(|it| it.ask == ask.as_str() && it.state == "open"))
    }

    async fn send(
        &self,
        place: &WorkLocation,
        ask: &AskId,
        answer: &Answer,
    ) -> Result<(), CliError> {
        let path = ["runs", &self.run, "asks", ask.as_str(), "answer"];
        let shown = self.shown.get(ask);
        place.client()?.post(&path, &json!({ "answer": answer, "shown": shown })).await?;
        Ok(())
    }
}
