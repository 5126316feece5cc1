//! `GET /asks`: what waits for a person, with what each ask says.

use std::path::Path;

use axum::Json;
use axum::extract::State;
use musher_core::{Ask, Edit, Event, EventKind, Rule, RunId, StoryId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::change::Change;
use super::problem::Problem;
use super::request::Params;
use super::{Api, Shared};
use crate::journal::{AskPhase, AskView, AsksQuery, WhichAsks};
use crate::runner::log::{Cursor, LogError, Read, Reader, lines};
use crate::runner::spec::RunSpec;
use crate::secrets;

/// What the pool asks when a run was lost too often; its log says nothing of it.
const RESTART: &str = "This run was lost several times in a short while. Start it again?";

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AsksParams {
    /// `true` for those that are closed too.
    all: Option<bool>,
    /// Only those of this run.
    #[param(value_type = Option<String>)]
    run: Option<RunId>,
    /// Only those on this story.
    #[param(value_type = Option<String>)]
    story: Option<StoryId>,
    /// At most so many (100 when left out, 1000 at most).
    limit: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AsksReply {
    asks: Vec<AskNow>,
}

/// An ask, with what it says.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AskNow {
    #[serde(flatten)]
    ask: AskView,
    /// What is asked, as in the event `ask_opened`; absent when the run's log was cleaned away.
    #[schema(value_type = Option<Object>)]
    pub(super) body: Option<Ask>,
    /// Unix milliseconds after which the default answers.
    deadline: Option<i64>,
    /// The tool rule that `allow_always` would grant; absent when there is none that is safe.
    #[schema(value_type = Option<String>)]
    pub(super) rule: Option<Rule>,
    /// What the act would change in the files as they are now, if it is an open approval of such an act.
    #[serde(flatten)]
    change: Change,
}

#[utoipa::path(
    get,
    path = "/asks",
    tag = "asks",
    operation_id = "asks",
    summary = "What waits for a person, the oldest first",
    params(AsksParams),
    responses((status = 200, body = AsksReply), Problem)
)]
pub(super) async fn asks(
    State(api): State<Api>,
    Params(params): Params<AsksParams>,
) -> Result<Json<AsksReply>, Problem> {
    let AsksParams { all, run, story, limit } = params;
    let which = match all {
        Some(true) => WhichAsks::All,
        Some(false) | None => WhichAsks::Open,
    };
    let query = AsksQuery { which, run, story, limit };
    let found = api.view(move |views| views.asks(&query)).await?;
    let shared = api.clone();
    let read = move || found.into_iter().map(|ask| AskNow::read(ask, &shared)).collect();
    Ok(Json(AsksReply { asks: api.blocking(read).await? }))
}

impl AskNow {
    /// Reads in the run's log what is asked. This blocks for a moment.
    pub(super) fn read(ask: AskView, api: &Shared) -> Self {
        let Some(seq) = ask.seq else {
            let body = Some(Ask::Plan { plan: RESTART.into() });
            return Self { ask, body, deadline: None, rule: None, change: Change::default() };
        };
        // An ask whose log is gone is still an ask.
        let folder = api.bus.folder(ask.run);
        let opened = event(&folder, seq).ok().flatten();
        let (body, deadline, rule) = match opened.map(|event| event.kind) {
            Some(EventKind::AskOpened { body, deadline, rule, .. }) => (Some(body), deadline, rule),
            _ => (None, None, None),
        };
        let change = match (&body, ask.state) {
            (Some(Ask::Approval(approval)), AskPhase::Open | AskPhase::Offered)
                if !approval.edits.is_empty() =>
            {
                foreseen(&approval.edits, &folder, api)
            }
            (_, _) => Change::default(),
        };
        Self { ask, body, deadline, rule, change }
    }
}

/// What edits would change in the worktree of a run.
fn foreseen(edits: &[Edit], folder: &Path, api: &Shared) -> Change {
    match RunSpec::read(folder) {
        Ok(spec) => {
            let token = Some(api.access.owner_token());
            let secrets = secrets::of_runs(&api.checked.environment, token, &[folder.to_owned()]);
            Change::foreseen(edits, &spec.cwd, &secrets)
        }
        Err(error) => Change { change: None, change_note: Some(error.to_string()) },
    }
}

/// One event of a log.
pub(super) fn event(folder: &Path, seq: u64) -> Result<Option<Event>, LogError> {
    let end = Reader::open_last(folder, 0)?;
    let before = seq.checked_sub(1).map(|seq| Cursor { epoch: end.cursor().epoch, seq });
    let mut line = Vec::new();
    let batch = match end.beside(before)?.read(&mut line, 1)? {
        Read::Lines(batch) if batch.first == seq => batch,
        Read::Lines(_) | Read::End | Read::Reset { .. } => return Ok(None),
    };
    let first = lines(&line[batch.lines]).next();
    Ok(first.and_then(|line| serde_json::from_slice(line).ok()))
}
