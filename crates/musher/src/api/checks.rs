//! `GET /checks`: what does not hold here, with what would mend it; the same that `musher doctor` finds.

use axum::Json;
use axum::extract::State;
use futures_util::future::join_all;
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::problem::ProblemReply;
use crate::diagnostics::{Diagnostic, DiagnosticVerdict, Fitness, Need, Program, unit};
use crate::watch::programs::FitnessNow;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChecksReply {
    checks: Vec<CheckNow>,
    /// What can play an agent here: each runtime with its usual program, and the programs that the team names.
    runtimes: Vec<RuntimeNow>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CheckNow {
    name: &'static str,
    state: StateNow,
    detail: String,
    /// What the person can do about it.
    fix: Option<String>,
}

/// How a thing stands.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum StateNow {
    Ok,
    /// It works, with a weaker guarantee.
    Degraded,
    /// It does not work.
    Missing,
}

/// One runtime, and the program that it needs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RuntimeNow {
    runtime: String,
    /// Where its program is; absent when it needs none or it was not found.
    program: Option<String>,
    version: Option<String>,
    state: FitnessNow,
    detail: String,
    /// What the person can do about it.
    fix: Option<String>,
}

#[utoipa::path(
    get,
    path = "/checks",
    tag = "project",
    operation_id = "checks",
    summary = "What the machine and the project lack, with a fix for each",
    responses((status = 200, body = ChecksReply), ProblemReply)
)]
pub(super) async fn checks(State(api): State<Api>) -> Result<Json<ChecksReply>, ProblemReply> {
    let found = api.checked.examine().await;
    let home = api.checked.environment.get("HOME").map(std::path::PathBuf::from);
    let unit = api.blocking(move || unit::diagnose(None, home.as_deref())).await?;
    let checks = found.diagnostics.iter().chain([&unit]).map(CheckNow::from).collect();
    let project = api.project.borrow().clone();
    let own: Vec<Need> =
        project.agents.iter().map(|agent| Need::of(agent, api.git.root())).collect();
    // A key that the team takes from elsewhere is not missed at its usual place.
    let missed = |usual: &Need| {
        !usual.is_of_a_model() || own.iter().all(|need| need.runtime != usual.runtime)
    };
    let mut needs: Vec<Need> = Need::usual_ones().filter(missed).collect();
    needs.extend(project.runtimes.iter().map(Need::of_own));
    let named: Vec<String> = own.iter().map(|need| need.runtime.clone()).collect();
    for need in own {
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    // Of the many agents that a machine may have, those that it has are told, and those that the team names.
    let looks = needs.into_iter().map(async |need| {
        let extra = need.is_extra() && !named.contains(&need.runtime);
        (extra, api.program(need).await)
    });
    let programs = join_all(looks).await.into_iter();
    let there = programs.filter(|(extra, it)| !extra || it.fitness != Fitness::Missing);
    let runtimes = there.map(|(_, program)| RuntimeNow::from(program)).collect();
    Ok(Json(ChecksReply { checks, runtimes }))
}

impl From<&Diagnostic> for CheckNow {
    fn from(found: &Diagnostic) -> Self {
        let state = match found.verdict {
            DiagnosticVerdict::Ok => StateNow::Ok,
            DiagnosticVerdict::Warn => StateNow::Degraded,
            DiagnosticVerdict::Bad => StateNow::Missing,
        };
        Self { name: found.name, state, detail: found.says.clone(), fix: found.fix.clone() }
    }
}

impl From<Program> for RuntimeNow {
    fn from(program: Program) -> Self {
        let Program { runtime, place, version, fitness, says, fix } = program;
        let program = place.map(|place| place.to_string_lossy().into_owned());
        Self { runtime, program, version, state: fitness.into(), detail: says, fix }
    }
}
