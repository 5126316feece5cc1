//! `GET /feed`: everything that one tab follows, over one connection: facts, headlines and chosen run logs.

pub(super) mod headline;
mod opening;
pub(super) mod vector;
mod watched;

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::future::{pending, select_all};
use futures_util::{Stream, stream};
use musher_core::RunId;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tokio::time::Interval;

use super::Api;
use super::bounds;
use super::problem::ProblemReply;
use super::request::{Params, bad_query};
use super::sse;
use crate::api::feed::vector::{MAX_FOLLOWED_RUNS, Vector};
use crate::api::runs::events::cursor;
use crate::api::runs::follow::{HEARTBEAT_INTERVAL, beats};
use crate::api::runs::stream::last_event_id;
use crate::watch::frames;
use musher_log::Cursor;
use opening::FeedOpening;
use watched::{RunNews, WatchedRun};

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FeedParams {
    /// The runs whose logs are wanted, with commas in between: each an id, with `:` and the last event that you have
    /// if you have one, such as `r12:1.42`. At most 32.
    runs: Option<String>,
    /// `1` for text in flight of these runs too.
    deltas: Option<u8>,
}

#[utoipa::path(
    get,
    path = "/feed",
    tag = "feed",
    operation_id = "feed",
    summary = "Everything that one client follows, as server-sent events",
    description = "First `headline` for every story, every run that is not over and every open ask, then `ready` (with \
        the number of the last fact, and the build and version of the server). From then on `fact` (with the number, \
        the time, who caused it and the fact) and again `headline` for what it touched. Headlines of kind `activity` tell the last action \
        of each live run in one line, with the lines that it has changed so far: at the beginning, and as the runs go on, \
        at most once a second for each; once more, without a text, when the lines of a run that is over were counted. `run` (with \
        the run's id, the place and the line of its log), `end` when such a run is over, `reset` when what came after \
        your place in its log was lost or cleaned away, `delta` for text in flight, `problem` when a log cannot be read. A headline \
        replaces what you had under the same id. The ids are opaque; send the last one as `Last-Event-ID`.",
    params(FeedParams, ("last-event-id" = Option<String>, Header, description = "Where to continue")),
    responses((status = 200, content_type = "text/event-stream", body = String), ProblemReply)
)]
pub(super) async fn feed(
    State(api): State<Api>,
    Params(params): Params<FeedParams>,
    headers: HeaderMap,
) -> Result<Response, ProblemReply> {
    let place = bounds::place(&api.streams)?;
    let mut runs = wanted(params.runs.as_deref().unwrap_or_default())?;
    let given = last_event_id(&headers)?.map(str::parse::<Vector>).transpose();
    let given = given.map_err(|error| bad_query(&error.to_string()))?;
    for (run, at) in given.iter().flat_map(|given| &given.runs) {
        // What the client heard last is newer than what it asked for at first.
        if let Some((_, after)) = runs.iter_mut().find(|(wanted, _)| wanted == run) {
            *after = Some(*at);
        }
    }
    let deltas = params.deltas == Some(1);
    let watched = runs.into_iter().map(|(run, after)| WatchedRun::new(&api, run, after, deltas));
    let watched = watched.collect();
    Ok(sse::reply(Feed::new(api, given.map(|given| given.facts), watched, place).pieces()))
}

/// The runs that a client names, with the last event that it has.
fn wanted(text: &str) -> Result<Vec<(RunId, Option<Cursor>)>, ProblemReply> {
    let mut runs: Vec<(RunId, Option<Cursor>)> = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (run, after) = match part.split_once(':') {
            Some((run, after)) => (run, Some(cursor(after)?)),
            None => (part, None),
        };
        let run = RunId::parse(run).map_err(|error| bad_query(&error.to_string()))?;
        if !runs.iter().any(|(known, _)| *known == run) {
            runs.push((run, after));
        }
    }
    match runs.len() <= MAX_FOLLOWED_RUNS {
        true => Ok(runs),
        false => Err(bad_query(&format!("a feed follows at most {MAX_FOLLOWED_RUNS} runs"))),
    }
}

/// Tells that the beginning is over, and by which server it was told.
#[derive(Debug, Serialize)]
struct Ready<'a> {
    facts: u64,
    build: &'a str,
    version: &'static str,
}

/// One client's feed.
struct Feed {
    api: Api,
    opening: Option<FeedOpening>,
    /// The last fact that was told.
    facts: u64,
    news: watch::Receiver<u64>,
    activity: broadcast::Receiver<Bytes>,
    runs: Vec<WatchedRun>,
    /// The run that is looked at first, so that none keeps the others from being heard.
    first: usize,
    beat: Interval,
    turns: frames::FairTurns,
    ended: bool,
    _place: OwnedSemaphorePermit,
}

enum Woken {
    Grown,
    Frame(Bytes),
    Closing,
}

impl Feed {
    fn new(
        api: Api,
        after: Option<u64>,
        runs: Vec<WatchedRun>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let (news, activity) = (api.pool.facts(), api.activity());
        // Headlines are read after this, so that they are never older than the facts that follow.
        let last = *news.borrow();
        let opening = Some(FeedOpening::new(after.filter(|after| *after > last).map(|_| last)));
        let facts = after.unwrap_or(last).min(last);
        let beat = beats(HEARTBEAT_INTERVAL);
        Self {
            api,
            opening,
            facts,
            news,
            activity,
            runs,
            first: 0,
            beat,
            turns: frames::FairTurns::default(),
            ended: false,
            _place: permit,
        }
    }

    fn pieces(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold(Box::new(self), |mut feed| async move {
            let piece = feed.next().await?;
            feed.turns.take(&piece).await;
            Some((Ok(piece), feed))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        while !self.ended {
            let piece = match self.step().await {
                Ok(piece) => piece,
                Err(problem) => {
                    self.ended = true;
                    return Some(problem_event(&problem));
                }
            };
            if let Some(piece) = piece {
                return Some(piece);
            }
            match self.wait().await {
                Woken::Grown => {}
                Woken::Frame(frame) => return Some(frame),
                Woken::Closing => return None,
            }
        }
        None
    }

    /// The next piece, if there is one now.
    async fn step(&mut self) -> Result<Option<Bytes>, ProblemReply> {
        if let Some(opening) = &mut self.opening {
            if let Some(piece) = opening.next(&self.api).await? {
                return Ok(Some(piece));
            }
            self.opening = None;
            let mut out = self.api.activities(&mut self.activity).await;
            let ready = Ready { facts: self.facts, build: &self.api.build, version: VERSION };
            let ready = serde_json::to_vec(&ready).unwrap_or_default();
            frames::named_with_id(&mut out, &self.vector(), "ready", &ready);
            return Ok(Some(out.into()));
        }
        if *self.news.borrow_and_update() > self.facts {
            return self.bulletin().await.map(Some);
        }
        match self.activity.try_recv() {
            Ok(frame) => return Ok(Some(frame)),
            Err(TryRecvError::Lagged(_)) => return Ok(Some(self.api.activities.all().into())),
            Err(TryRecvError::Empty | TryRecvError::Closed) => {}
        }
        for turn in 0..self.runs.len() {
            let at = (self.first + turn) % self.runs.len();
            if let Some(piece) = self.look(at).await {
                self.first = at + 1;
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// Facts, and the headlines of what they touched.
    async fn bulletin(&mut self) -> Result<Bytes, ProblemReply> {
        let api = self.api.clone();
        let headlines = move |touched, out: &mut Vec<u8>| headline::frame(touched, &api, out);
        let bulletin = self.api.news(self.facts, headlines).await?;
        let mut out = Vec::with_capacity(bulletin.headlines.len() + 512 * bulletin.facts.len());
        let mut vector = self.vector();
        // A fact is in the journal a moment before it is published, and a client that has it would come back too early.
        let published = *self.news.borrow();
        for (n, data) in bulletin.facts.iter().take_while(|(n, _)| *n <= published) {
            vector.facts = *n;
            frames::named_with_id(&mut out, &vector, "fact", data.as_bytes());
        }
        self.facts = vector.facts;
        out.extend_from_slice(&bulletin.headlines);
        Ok(out.into())
    }

    /// What is new in one run's log.
    async fn look(&mut self, at: usize) -> Option<Bytes> {
        let mut vector = self.vector();
        let watched = self.runs.get_mut(at)?;
        watched
            .next(&self.api, |out, run, cursor, name, data| {
                vector.runs.retain(|(known, _)| *known != run);
                vector.runs.push((run, cursor));
                frames::named_with_id(out, &vector, name, data);
            })
            .await
    }

    fn vector(&self) -> Vector {
        let place = |watched: &WatchedRun| watched.cursor().map(|cursor| (watched.run, cursor));
        Vector { facts: self.facts, runs: self.runs.iter().filter_map(place).collect() }
    }

    async fn wait(&mut self) -> Woken {
        let logs = self.runs.iter_mut().filter(|run| run.is_open());
        let logs: Vec<_> = logs.map(|run| Box::pin(run.news())).collect();
        let any = async {
            match logs.is_empty() {
                true => pending().await,
                false => select_all(logs).await.0,
            }
        };
        tokio::select! {
            biased;
            () = self.api.closing.cancelled() => Woken::Closing,
            Ok(()) = self.news.changed() => Woken::Grown,
            heard = self.activity.recv() => match heard {
                Ok(frame) => Woken::Frame(frame),
                // What was missed is told anew.
                Err(_) => Woken::Frame(self.api.activities.all().into()),
            },
            news = any => match news {
                RunNews::Grown => Woken::Grown,
                RunNews::Delta(frame) => Woken::Frame(frame),
            },
            _ = self.beat.tick() => Woken::Frame(Bytes::from_static(frames::HEARTBEAT)),
        }
    }
}

fn problem_event(problem: &ProblemReply) -> Bytes {
    let mut out = Vec::new();
    frames::named(&mut out, "problem", &problem.json());
    out.into()
}
