//! `GET /runs/{run}/export`: a whole run as a file, written as it is read.

mod markdown;

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::bounds;
use crate::api::problem::ProblemReply;
use crate::api::request::{OfRun, Params};
use crate::journal::RunView;
use markdown::Markdown;
use musher_log::{LogError, LogRead, LogReader, lines};

/// How many bytes of the log are read at once.
const PIECE: usize = 128 * 1024;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct ExportParams {
    /// `markdown` for people, `jsonl` for programs; `markdown` when left out.
    #[serde(rename = "as")]
    #[param(inline)]
    form: Option<Form>,
}

/// In which form a run is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::api) enum Form {
    /// What was said and done, to be read.
    Markdown,
    /// The lines of the log as they are.
    Jsonl,
}

#[utoipa::path(
    get,
    path = "/runs/{run}/export",
    tag = "runs",
    operation_id = "export",
    summary = "A whole run as a file",
    params(OfRun, ExportParams),
    responses((status = 200, content_type = "text/markdown", body = String), ProblemReply)
)]
pub(in crate::api) async fn export(
    State(api): State<Api>,
    OfRun(name): OfRun,
    Params(params): Params<ExportParams>,
) -> Result<Response, ProblemReply> {
    let place = bounds::place(&api.streams)?;
    let run = api.run(&name).await?;
    let form = params.form.unwrap_or(Form::Markdown);
    let (kind, ending) = match form {
        Form::Markdown => ("text/markdown; charset=utf-8", "md"),
        Form::Jsonl => ("application/x-ndjson", "jsonl"),
    };
    let file = format!("attachment; filename=\"{}-{}.{ending}\"", run.story, run.id);
    let file = HeaderValue::from_str(&file).map_err(|_| ProblemReply::internal())?;
    let export = Export::begin(api, &run, form, place).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, file),
    ];
    let pieces = stream::unfold(export, Export::next);
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// An export that is under way.
struct Export {
    api: Api,
    /// What is written first.
    opening: Option<Vec<u8>>,
    /// Absent when there is no log, or it was read to its end.
    reader: Option<LogReader>,
    writing: Writing,
    _place: OwnedSemaphorePermit,
}

/// How lines become a file.
#[derive(Debug)]
enum Writing {
    AsTheyAre,
    Markdown(Markdown),
}

impl Export {
    async fn begin(
        api: Api,
        run: &RunView,
        form: Form,
        place: OwnedSemaphorePermit,
    ) -> Result<Self, ProblemReply> {
        let (id, logs) = (run.id, api.bus.logs().clone());
        let reader = api.blocking(move || match logs.open(id, None) {
            Ok(reader) => Ok(Some(reader.past_damage())),
            // A run that has no log has an empty one.
            Err(LogError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        });
        let reader = reader.await?.map_err(|error| ProblemReply::from(&error))?;
        let (opening, writing) = match form {
            Form::Jsonl => (None, Writing::AsTheyAre),
            Form::Markdown => {
                let story = run.story.clone();
                let story = api.view(move |views| views.story(&story)).await?;
                let title = story.and_then(|story| story.story.title);
                let opening = markdown::opening(run, title.as_deref());
                (Some(opening.into_bytes()), Writing::Markdown(Markdown::default()))
            }
        };
        Ok(Self { api, opening, reader, writing, _place: place })
    }

    /// The next piece of the file. Damage in the log is told in place; a log that cannot be read at all ends the file with an
    /// error, so that its client does not take it for whole.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        if let Some(opening) = self.opening.take() {
            return Some((Ok(opening.into()), self));
        }
        let api = self.api.clone();
        let read = api.blocking(move || {
            let piece = self.read();
            (piece, self)
        });
        let (piece, export) = read.await.ok()?;
        let piece = piece.map_err(io::Error::other).transpose()?;
        Some((piece.map(Bytes::from), export))
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>, LogError> {
        let Some(reader) = self.reader.as_mut() else { return Ok(None) };
        let mut piece = Vec::new();
        let mut out = Vec::new();
        loop {
            piece.clear();
            match reader.read(&mut piece, PIECE) {
                Ok(LogRead::Lines(batch)) => {
                    let batch = &piece[batch.lines];
                    match &mut self.writing {
                        Writing::AsTheyAre => out.extend_from_slice(batch),
                        Writing::Markdown(markdown) => {
                            lines(batch).for_each(|line| markdown.write(line, &mut out));
                        }
                    }
                    if !out.is_empty() {
                        return Ok(Some(out));
                    }
                }
                Ok(LogRead::Reset { .. }) => {}
                Ok(LogRead::End) => {
                    self.reader = None;
                    return Ok(None);
                }
                Err(error) => {
                    self.reader = None;
                    return Err(error);
                }
            }
        }
    }
}
