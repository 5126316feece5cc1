//! What a feed begins with: the headline of everything that is current, in pieces of bounded size.

use std::collections::VecDeque;

use axum::body::Bytes;
use musher_core::RunId;

use super::super::Api;
use super::super::asks::AskReply;
use super::super::problem::ProblemReply;
use super::super::runs::run_now;
use super::super::stories::story_now;
use crate::api::feed::headline::Headline;
use crate::journal::{AskView, AsksQuery, StoriesQuery};
use crate::watch::frames;

/// How many headlines are read at once.
const HEADLINES_PER_READ: u32 = 50;

/// How far the beginning has come.
#[derive(Debug)]
pub(super) struct FeedOpening {
    /// The journal is not the one that the client knew; its last fact.
    reset: Option<u64>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Stories { before: Option<u64> },
    Runs { left: Option<VecDeque<RunId>> },
    Asks { left: Option<VecDeque<AskView>> },
    Done,
}

impl FeedOpening {
    pub(super) fn new(reset: Option<u64>) -> Self {
        Self { reset, stage: Stage::Stories { before: None } }
    }

    /// The next piece; none when everything was told.
    pub(super) async fn next(&mut self, api: &Api) -> Result<Option<Bytes>, ProblemReply> {
        let mut out = Vec::new();
        if let Some(facts) = self.reset.take() {
            frames::named(&mut out, "reset", format!(r#"{{"facts":{facts}}}"#).as_bytes());
        }
        while out.is_empty() {
            let next = match &mut self.stage {
                Stage::Done => return Ok(None),
                Stage::Stories { before } => stories(api, *before, &mut out).await?,
                Stage::Runs { left } => {
                    let left = left.take();
                    runs(api, left, &mut out).await?
                }
                Stage::Asks { left } => {
                    let left = left.take();
                    asks(api, left, &mut out).await?
                }
            };
            self.stage = next;
        }
        Ok(Some(out.into()))
    }
}

async fn stories(api: &Api, before: Option<u64>, out: &mut Vec<u8>) -> Result<Stage, ProblemReply> {
    let query = StoriesQuery { before, limit: Some(HEADLINES_PER_READ), ..StoriesQuery::default() };
    let page = api.view(move |views| views.stories(&query)).await?;
    for story in page.stories {
        Headline::Story(Box::new(story_now(story, api))).frame(out);
    }
    Ok(match page.next {
        Some(next) => Stage::Stories { before: Some(next) },
        None => Stage::Runs { left: None },
    })
}

/// The ids are taken down at once, and the runs are read as the client takes them.
async fn runs(
    api: &Api,
    left: Option<VecDeque<RunId>>,
    out: &mut Vec<u8>,
) -> Result<Stage, ProblemReply> {
    let mut left = match left {
        Some(left) => left,
        None => api.pool.inspect(|state| state.runs.keys().copied().collect()).await?,
    };
    let now: Vec<RunId> = left.drain(..left.len().min(HEADLINES_PER_READ as usize)).collect();
    let shown = api.clone();
    let found = api.view(move |views| {
        let found = now.into_iter().filter_map(|run| views.run(run).transpose());
        found.map(|run| Ok(run_now(run?, &shown))).collect::<Result<Vec<_>, _>>()
    });
    for run in found.await? {
        Headline::Run(Box::new(run)).frame(out);
    }
    Ok(match left.is_empty() {
        true => Stage::Asks { left: None },
        false => Stage::Runs { left: Some(left) },
    })
}

async fn asks(
    api: &Api,
    left: Option<VecDeque<AskView>>,
    out: &mut Vec<u8>,
) -> Result<Stage, ProblemReply> {
    let mut left = match left {
        Some(left) => left,
        None => {
            let query = AsksQuery { limit: Some(u32::MAX), ..AsksQuery::default() };
            api.view(move |views| views.asks(&query)).await?.into()
        }
    };
    // What an ask says can be long, so they are read one by one.
    if let Some(ask) = left.pop_front() {
        let shared = api.clone();
        let ask = api.blocking(move || AskReply::read(ask, &shared)).await?;
        Headline::Ask(Box::new(ask.into())).frame(out);
    }
    Ok(match left.is_empty() {
        true => Stage::Done,
        false => Stage::Asks { left: Some(left) },
    })
}
