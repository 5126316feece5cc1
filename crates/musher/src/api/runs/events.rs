//! `GET /runs/{run}/events`: a page of a run's log; the lines are JSON already and are copied as they are.

mod before;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::problem::ProblemReply;
use crate::api::request::{OfRun, Params, bad_query};
use musher_log::{Cursor, Kinds, LogError, LogRead, LogReader, lines};

/// Events on a page when nobody says, and at most.
const PAGE: usize = 200;
const MAX_PAGE_EVENTS: usize = 5000;
/// A page is not made longer than about this.
const PAGE_BYTES: usize = 2 * 1024 * 1024;
/// How many bytes of the log one request looks through in search of a kind.
const MAX_SCANNED_BYTES: usize = 64 * 1024 * 1024;
/// How many bytes are read at once.
const PIECE: usize = 64 * 1024;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct EventsParams {
    /// The last event that you have, as `epoch.seq`; left out, the page begins with the first.
    after: Option<String>,
    /// Begin with the last so many events instead.
    last: Option<u64>,
    /// The events that stand before this number instead: those nearest to it, in their order.
    before: Option<u64>,
    /// At most so many events (200 when left out, 5000 at most).
    limit: Option<usize>,
    /// Only these kinds, with commas in between.
    kinds: Option<String>,
}

/// A page of a run's log.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct EventsPage {
    /// The events as they stand in the log.
    #[schema(value_type = Vec<Object>)]
    events: Vec<serde_json::Value>,
    /// What to give as `after` for the next page.
    next: String,
    /// Whether there is nothing more at this moment.
    end: bool,
    /// Whether the page does not follow your `after`: what came after it was lost in a crash, so that the page begins
    /// before it, or was cleaned away, so that the page begins with what is still there.
    reset: bool,
    /// What to give as `before` for the page before this one; absent when there is none, or when `before` was not given.
    prev: Option<u64>,
    /// The numbers of the first and the last event of the log. The first is not 1 when old ones were cleaned away.
    first: Option<u64>,
    last: Option<u64>,
}

#[utoipa::path(
    get,
    path = "/runs/{run}/events",
    tag = "runs",
    operation_id = "events",
    summary = "A page of a run's log",
    params(OfRun, EventsParams),
    responses((status = 200, body = EventsPage), ProblemReply)
)]
pub(in crate::api) async fn events(
    State(api): State<Api>,
    OfRun(run): OfRun,
    Params(params): Params<EventsParams>,
) -> Result<Response, ProblemReply> {
    let after = params.after.as_deref().map(cursor).transpose()?;
    let limit = params.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE_EVENTS);
    let kinds = kinds(params.kinds.as_deref());
    if params.before.is_some() && (after.is_some() || params.last.is_some()) {
        return Err(bad_query("give `before` alone, without `after` and `last`"));
    }
    let run = api.run(&run).await?;
    let (run, logs) = (run.id, api.bus.logs().clone());
    let body = api
        .blocking(move || {
            let page = match (params.before, params.last, after) {
                (Some(before), _, _) => logs
                    .open_last(run, 0)
                    .and_then(|it| before::page(it, before, limit, kinds.as_ref())),
                (None, Some(last), None) => {
                    logs.open_last(run, last).and_then(|it| page(it, limit, kinds.as_ref()))
                }
                (None, _, after) => {
                    logs.open(run, after).and_then(|it| page(it, limit, kinds.as_ref()))
                }
            };
            match page {
                Ok(page) => Ok(page),
                // A run that has no log has an empty one.
                Err(LogError::Missing { .. }) => Ok(empty(after)),
                Err(error) => Err(error),
            }
        })
        .await?
        .map_err(|error| ProblemReply::from(&error))?;
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}

fn page(reader: LogReader, limit: usize, kinds: Option<&Kinds>) -> Result<Vec<u8>, LogError> {
    let mut reader = reader.past_damage();
    let mut out = br#"{"events":["#.to_vec();
    let mut piece = Vec::new();
    let (mut count, mut looked, mut reset) = (0, 0, false);
    let mut next = reader.cursor();
    let end = 'pages: loop {
        piece.clear();
        let batch = match reader.read(&mut piece, PIECE)? {
            LogRead::Lines(batch) => batch,
            LogRead::End => break true,
            LogRead::Reset { to } => {
                (reset, next) = (true, to);
                continue;
            }
        };
        for (seq, line) in (batch.first..).zip(lines(&piece[batch.lines])) {
            if kinds.is_none_or(|kinds| kinds.has(line)) {
                if count == limit || (count > 0 && out.len() + line.len() > PAGE_BYTES) {
                    break 'pages false;
                }
                if count > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(line);
                count += 1;
            }
            looked += line.len();
            next = Cursor { epoch: batch.epoch, seq };
        }
        if looked > MAX_SCANNED_BYTES {
            break false;
        }
    };
    if next.seq == 0 {
        next = reader.cursor();
    }
    let close = Close { next, end, reset, prev: None, ends: Ends::of(&reader)? };
    close.write(&mut out);
    Ok(out)
}

fn empty(after: Option<Cursor>) -> Vec<u8> {
    let mut out = br#"{"events":["#.to_vec();
    let next = after.unwrap_or(Cursor { epoch: 0, seq: 0 });
    Close { next, end: true, reset: false, prev: None, ends: Ends::default() }.write(&mut out);
    out
}

/// What a page says after its events.
struct Close {
    next: Cursor,
    end: bool,
    reset: bool,
    prev: Option<u64>,
    ends: Ends,
}

/// The numbers of the first and the last event of a log.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    first: Option<u64>,
    last: Option<u64>,
}

impl Ends {
    fn of(reader: &LogReader) -> Result<Self, LogError> {
        Ok(Self { first: reader.first()?, last: reader.last()?.map(|cursor| cursor.seq) })
    }
}

impl Close {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { next, end, reset, prev, ends } = self;
        let number = |n: Option<u64>| n.map_or("null".to_owned(), |n| n.to_string());
        let (prev, first, last) = (number(*prev), number(ends.first), number(ends.last));
        let rest = format!(
            r#"],"next":"{next}","end":{end},"reset":{reset},"prev":{prev},"first":{first},"last":{last}}}"#
        );
        out.extend_from_slice(rest.as_bytes());
    }
}

/// A place in a run's log that a client names.
pub(in crate::api) fn cursor(text: &str) -> Result<Cursor, ProblemReply> {
    text.parse().map_err(|error: musher_log::CursorError| bad_query(&error.to_string()))
}

/// The kinds that a client wants; none means all.
pub(in crate::api) fn kinds(text: Option<&str>) -> Option<Kinds> {
    let names: Vec<&str> = text
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    (!names.is_empty()).then(|| Kinds::new(names))
}
