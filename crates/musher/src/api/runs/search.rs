//! `GET /runs/{run}/search`: looks for words in a run's log, a bounded stretch at a time.

mod matching;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::problem::ProblemReply;
use crate::api::request::{OfRun, Params, bad_query};
use crate::api::runs::events::kinds;
use matching::Matcher;
use musher_log::{Cursor, LogError, LogRead, LogReader, lines};

/// Matches when nobody says, and at most.
const PAGE: usize = 50;
const MAX_SEARCH_HITS: usize = 500;
/// How many bytes of the log one request looks through.
const MAX_SEARCHED_BYTES: usize = 64 * 1024 * 1024;
/// How many bytes are read at once.
const PIECE: usize = 256 * 1024;
/// Nobody looks for more than this.
const MAX_QUERY_BYTES: usize = 1_000;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct SearchParams {
    /// The words, as they stand; upper and lower case are the same. Left out, every event that is not ruled out below
    /// is found.
    q: Option<String>,
    /// Only these kinds, with commas in between.
    kinds: Option<String>,
    /// Only calls of this tool.
    tool: Option<String>,
    /// `1` for what went wrong alone: errors, calls and turns that failed.
    errors: Option<u8>,
    /// Begin after this event.
    after: Option<u64>,
    /// At most so many matches (50 when left out, 500 at most).
    limit: Option<usize>,
}

/// Some of the matches, in the order of the log.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(in crate::api) struct SearchReply {
    matches: Vec<Match>,
    /// What to give as `after` to look on; absent when the whole log was looked through.
    next: Option<u64>,
    /// How many events were looked at this time.
    scanned: u64,
}

/// An event in which the words were found.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct Match {
    seq: u64,
    at: i64,
    #[serde(rename = "type")]
    kind: String,
    turn: Option<u32>,
    /// The words with a little of what is around them, on one line.
    excerpt: String,
}

#[utoipa::path(
    get,
    path = "/runs/{run}/search",
    tag = "runs",
    operation_id = "search",
    summary = "Look for words in a run's log",
    params(OfRun, SearchParams),
    responses((status = 200, body = SearchReply), ProblemReply)
)]
pub(in crate::api) async fn search(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Params(params): Params<SearchParams>,
) -> Result<Json<SearchReply>, ProblemReply> {
    let words = params.q.unwrap_or_default();
    if words.len() > MAX_QUERY_BYTES {
        return Err(bad_query(&format!("`q` is longer than {MAX_QUERY_BYTES} bytes")));
    }
    let kinds = kinds(params.kinds.as_deref()).unwrap_or_default();
    let matcher = Matcher::new(&words, kinds, params.tool, params.errors == Some(1));
    let limit = params.limit.unwrap_or(PAGE).clamp(1, MAX_SEARCH_HITS);
    let (id, logs) = (api.run(&run).await?.id, api.bus.logs().clone());
    let after = params.after.unwrap_or(0);
    let found = api.blocking(move || match look(logs.open_last(id, 0), after, limit, matcher) {
        // A run that has no log has an empty one.
        Err(LogError::Missing { .. }) => Ok(SearchReply::default()),
        found => found,
    });
    Ok(Json(found.await?.map_err(|error| ProblemReply::from(&error))?))
}

fn look(
    end: Result<LogReader, LogError>,
    after: u64,
    limit: usize,
    mut matcher: Matcher,
) -> Result<SearchReply, LogError> {
    let end = end?;
    let first = end.first()?.unwrap_or(1);
    // What was cleaned away cannot be looked through.
    let seq = after.max(first - 1).min(end.cursor().seq);
    let mut reader = end.beside(Some(Cursor { epoch: end.cursor().epoch, seq }))?.past_damage();
    let mut reply = SearchReply::default();
    let mut piece = Vec::new();
    let mut looked = 0;
    loop {
        piece.clear();
        let batch = match reader.read(&mut piece, PIECE)? {
            LogRead::Lines(batch) => batch,
            LogRead::Reset { .. } => continue,
            LogRead::End => return Ok(reply),
        };
        for (seq, line) in (batch.first..).zip(lines(&piece[batch.lines.clone()])) {
            reply.scanned += 1;
            looked += line.len();
            if let Some(found) = matcher.find(line) {
                reply.matches.push(found);
            }
            if reply.matches.len() == limit || looked > MAX_SEARCHED_BYTES {
                reply.next = Some(seq);
                return Ok(reply);
            }
        }
    }
}
