//! `GET /asks`: what waits for a person, with what each ask says.

pub(super) mod answer;
mod digest;
pub(super) mod grant;
pub(super) mod scopes;
mod won;

use axum::Json;
use axum::extract::State;
use musher_client::api::{ApiAsk, ApiAsks, ApiScope, ApiWon, word};
use musher_core::pool::{RESTART_ASK, TextKey};
use musher_core::{Answer, Ask, AskDigest, AskId, Edit, Event, EventKind, Rule, RunId, StoryId};
use serde::Deserialize;
use serde_json::Value;

use super::problem::ProblemReply;
use super::request::Params;
use super::{Api, Shared};
use crate::api::runs::change::FileChanges;
use crate::journal::{AskPhase, AskView, AsksQuery, JournalError, WhichAsks};
use crate::pool::RunName;
use crate::runner::RunLogs;
use crate::runtimes;
use crate::secrets;
use musher_log::{Cursor, LogError, LogRead, lines};

pub(crate) use digest::ask_digest;
use won::Won;

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
    /// Only runs on this story.
    #[param(value_type = Option<String>)]
    story: Option<StoryId>,
    /// At most so many (100 when left out, 1000 at most).
    limit: Option<u32>,
}

/// An ask, with what it says.
#[derive(Debug, Clone)]
pub(super) struct AskReply {
    ask: AskView,
    pub(super) digest: AskDigest,
    pub(super) body: Option<Ask>,
    deadline: Option<i64>,
    pub(super) rule: Option<Rule>,
    scopes: Vec<ApiScope>,
    remind_at: Option<i64>,
    change: FileChanges,
    won: Option<Won>,
}

impl From<AskReply> for ApiAsk {
    fn from(asked: AskReply) -> Self {
        let AskReply { ask, digest, body, deadline, rule, scopes, remind_at, change, won } = asked;
        let won = won.map(|won| ApiWon { by: word(&won.by), who: won.who, answer: won.answer });
        Self {
            run: ask.run.to_string(),
            ask: ask.ask.as_str().to_owned(),
            story: ask.story.into(),
            agent: ask.agent.into(),
            seq: ask.seq,
            state: word(&ask.state),
            by: ask.by.as_ref().map(word),
            command: ask.command.map(|command| command.as_str().to_owned()),
            opened_at: ask.opened_at,
            closed_at: ask.closed_at,
            digest: word(&digest),
            body,
            deadline,
            rule,
            scopes,
            remind_at,
            change: change.change,
            change_note: change.change_note,
            won,
        }
    }
}

#[utoipa::path(
    get,
    path = "/asks",
    tag = "asks",
    operation_id = "asks",
    summary = "What waits for a person, the oldest first",
    params(AsksParams),
    responses((status = 200, body = ApiAsks), ProblemReply)
)]
pub(super) async fn asks(
    State(api): State<Api>,
    Params(params): Params<AsksParams>,
) -> Result<Json<ApiAsks>, ProblemReply> {
    let AsksParams { all, run, story, limit } = params;
    let which = match all {
        Some(true) => WhichAsks::All,
        Some(false) | None => WhichAsks::Open,
    };
    let query = AsksQuery { which, run, story, limit };
    let found = api.view(move |views| views.asks(&query)).await?;
    let shared = api.clone();
    let read = move || found.into_iter().map(|ask| AskReply::read(ask, &shared).into()).collect();
    Ok(Json(ApiAsks { asks: api.blocking(read).await? }))
}

impl AskReply {
    /// Reads in the run's log what is asked. This blocks for a moment.
    pub(super) fn read(ask: AskView, api: &Shared) -> Self {
        // An ask whose log is gone is still an ask.
        let opened = match ask.seq {
            Some(seq) => json(api, ask.run, seq),
            None => Some(own_ask()),
        };
        let body = opened.as_ref().and_then(|opened| opened.get("body"));
        let digest = ask_digest(ask.run, &ask.ask, body.unwrap_or(&Value::Null));
        let (body, deadline, rule) = match opened.and_then(|it| serde_json::from_value(it).ok()) {
            Some(Event { kind: EventKind::AskOpened { body, deadline, rule, .. }, .. }) => {
                (Some(body), deadline, rule)
            }
            _ => (None, None, None),
        };
        let won = Won::of(&ask, answer(&ask, api), api);
        let change = match (&body, ask.state) {
            (Some(Ask::Approval(approval)), AskPhase::Open | AskPhase::Offered)
                if !approval.edits.is_empty() =>
            {
                foreseen(&approval.edits, ask.run, api)
            }
            (_, _) => FileChanges::default(),
        };
        let scopes = scopes::of(body.as_ref(), rule.as_ref());
        let waits = matches!(ask.state, AskPhase::Open).then(|| api.bus.logs().spec(ask.run).ok());
        let after = waits.flatten().and_then(|spec| spec.bounds.ask_reminder_ms);
        let after = after.and_then(|after| i64::try_from(after).ok());
        let remind_at = after.map(|after| ask.opened_at.saturating_add(after));
        Self { ask, digest, body, deadline, rule, scopes, remind_at, change, won }
    }

    /// The ask as it is now in a few words, for an answer that comes too late.
    pub(super) fn lost_to(&self) -> Option<String> {
        self.won.as_ref().map(|won| won.sentence(self.ask.run, &self.ask.ask))
    }
}

impl Api {
    /// An ask as it is now; nothing if there is no such ask.
    pub(super) async fn asked(
        &self,
        run: &RunName,
        ask: &AskId,
    ) -> Result<Option<AskReply>, ProblemReply> {
        let (wanted, ask, api) = (run.clone(), ask.clone(), self.clone());
        let read = move || {
            let run = match wanted {
                RunName::Id(run) => Some(run),
                RunName::Latest { story, agent } => {
                    api.views.latest_run(&story, agent.as_ref())?.map(|run| run.id)
                }
            };
            let Some(run) = run else { return Ok(None) };
            Ok(api.views.ask(run, &ask)?.map(|ask| AskReply::read(ask, &api)))
        };
        self.blocking(read).await?.map_err(|error: JournalError| error.into())
    }
}

/// What the pool itself asks, in the form of an event.
fn own_ask() -> Value {
    let body = Ask::Plan { plan: RESTART.into() };
    serde_json::json!({ "seq": 0, "ts": 0, "type": "ask_opened", "ask": RESTART_ASK, "body": body })
}

/// The answer that an ask got: as the log tells it, or as it was offered.
fn answer(ask: &AskView, api: &Shared) -> Option<Answer> {
    if ask.state == AskPhase::Open {
        return None;
    }
    let closed = ask.closed_seq.and_then(|seq| json(api, ask.run, seq));
    let closed = closed.and_then(|event| serde_json::from_value(event).ok());
    if let Some(Event { kind: EventKind::AskClosed { answer: Some(answer), .. }, .. }) = closed {
        return Some(answer);
    }
    let text = api.views.text(&TextKey::Answer(ask.command.clone()?)).ok()??;
    serde_json::from_str(&text).ok()
}

/// What edits would change in the worktree of a run.
fn foreseen(edits: &[Edit], run: RunId, api: &Shared) -> FileChanges {
    match api.bus.logs().spec(run) {
        Ok(spec) => {
            let token = Some(api.access.owner_token());
            let secrets = secrets::of_runs(&api.checked.environment, token, api.bus.logs(), &[run]);
            let project = api.settings.project();
            let files = runtimes::project_files(&project.runtimes);
            FileChanges::foreseen(edits, &spec.cwd, &files, &secrets)
        }
        Err(error) => FileChanges { change: None, change_note: Some(error.to_string()) },
    }
}

/// One event of a log.
pub(super) fn event(logs: &RunLogs, run: RunId, seq: u64) -> Result<Option<Event>, LogError> {
    let line = line(logs, run, seq)?;
    Ok(line.and_then(|line| serde_json::from_slice(&line).ok()))
}

/// One event of a log with everything that stands in it, or nothing if it cannot be read.
fn json(api: &Shared, run: RunId, seq: u64) -> Option<Value> {
    serde_json::from_slice(&line(api.bus.logs(), run, seq).ok()??).ok()
}

fn line(logs: &RunLogs, run: RunId, seq: u64) -> Result<Option<Vec<u8>>, LogError> {
    let end = logs.open_last(run, 0)?;
    let before = seq.checked_sub(1).map(|seq| Cursor { epoch: end.cursor().epoch, seq });
    let mut line = Vec::new();
    let batch = match end.beside(before)?.read(&mut line, 1)? {
        LogRead::Lines(batch) if batch.first == seq => batch,
        LogRead::Lines(_) | LogRead::End | LogRead::Reset { .. } => return Ok(None),
    };
    Ok(lines(&line[batch.lines]).next().map(<[u8]>::to_vec))
}
