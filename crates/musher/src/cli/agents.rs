//! `musher agents`: which agents this machine has, and what each still needs.

use clap::Args;
use musher_runtime::Environment;
use serde_json::{Value as Json, json};

use super::doctor::site;
use super::place::PlaceArgs;
use super::table::{TextTable, Tone};
use super::{CliError, CliExit, out};
use crate::config;
use crate::diagnostics::{DiagnosticContext, Fitness, Need, Program};
use crate::runtimes::{self, ProgramCare};

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    /// Also those that are not installed.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// One runtime, and what a person would want to know before giving it work.
struct AgentRow {
    program: Program,
    state: AgentState,
    tested: Option<String>,
    login: Login,
    /// The one command that mends what is missing.
    fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentState {
    Ready,
    /// It is there; this version was not tested, or none was.
    Untested,
    LoggedOut,
    NotInstalled,
}

/// Whether a person is logged in, as far as it can be told without asking the program.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Login {
    /// By a file or a variable of this name.
    By(String),
    No,
    Unknown,
}

impl AgentsArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let site = site(&place);
        let rows = rows(&site);
        if place.json() {
            let agents: Vec<Json> = rows.iter().map(AgentRow::document).collect();
            out::document(&json!({ "agents": agents }).to_string())?;
            return Ok(CliExit::Completed);
        }
        let (there, missing): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| row.state != AgentState::NotInstalled);
        let mut table = TextTable::new(&["STATE", "RUNTIME", "VERSION", "TESTED", "LOGIN", "NEXT"]);
        let shown = there.iter().chain(missing.iter().filter(|_| self.all || there.is_empty()));
        shown.for_each(|row| row.add_to(&mut table));
        out::line(&table.text())?;
        if !self.all && !there.is_empty() && !missing.is_empty() {
            let more = missing.len();
            out::line(&format!("\n{more} more can be installed: `musher agents --all`"))?;
        }
        Ok(CliExit::Completed)
    }
}

/// Each runtime that is played by a program, or by a model whose key is here; those that the project brings come last.
fn rows(site: &DiagnosticContext) -> Vec<AgentRow> {
    let needs = Need::usual_ones().filter(|need| need.program.is_some() || need.is_of_a_model());
    // What is wrong with a project file is for `doctor` to say.
    let project = site.repo.as_ref().ok();
    let project = project.and_then(|repo| config::load(repo, runtimes::built()).ok());
    let own = project.map(|project| project.runtimes).unwrap_or_default();
    let needs = needs.chain(own.iter().map(Need::of_own));
    needs.map(|need| row(&need, site)).collect()
}

fn row(need: &Need, site: &DiagnosticContext) -> AgentRow {
    let program = need.look(site);
    let tested = need.tested();
    if need.is_of_a_model() {
        let has_key = program.fitness == Fitness::Ok;
        let (state, login) = match has_key {
            true => (AgentState::Ready, Login::By("its key".to_owned())),
            false => (AgentState::NotInstalled, Login::No),
        };
        let fix = program.fix.clone();
        return AgentRow { program, state, tested, login, fix };
    }
    let care = need.care();
    let login = care.as_ref().map_or(Login::Unknown, |care| login(care, &site.environment));
    let installs = || {
        let install = care.as_ref()?.install.clone()?;
        // A package of npm can be had in the version that was tested.
        let tested = tested.as_ref().filter(|_| install.starts_with("npm install"));
        Some(tested.map_or_else(|| install.clone(), |version| format!("{install}@{version}")))
    };
    let (state, fix) = match (program.fitness, &login) {
        (Fitness::Missing, _) => (AgentState::NotInstalled, installs()),
        (_, Login::No) => {
            (AgentState::LoggedOut, care.as_ref().and_then(|care| care.login.clone()))
        }
        (Fitness::Untested, _) => (AgentState::Untested, None),
        (Fitness::Ok, _) if tested.is_none() => (AgentState::Untested, None),
        (Fitness::Ok, _) => (AgentState::Ready, None),
    };
    AgentRow { program, state, tested, login, fix }
}

/// Looks whether a login is there; what it is, is nobody's business here.
fn login(care: &ProgramCare, environment: &Environment) -> Login {
    let is_set = |name: &&String| environment.get(name).is_some_and(|value| !value.is_empty());
    if let Some(key) = care.keys.iter().find(is_set) {
        return Login::By(key.clone());
    }
    let Some(file) = &care.login_file else { return Login::Unknown };
    let home = environment.get("HOME").map(std::path::PathBuf::from);
    match home.is_some_and(|home| home.join(file).is_file()) {
        true => Login::By(format!("~/{file}")),
        false => Login::No,
    }
}

impl AgentState {
    fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Untested => "untested",
            Self::LoggedOut => "logged_out",
            Self::NotInstalled => "not_installed",
        }
    }

    fn shown(self) -> (Tone, &'static str) {
        match self {
            Self::Ready => (Tone::Good, "● ready"),
            Self::Untested => (Tone::Heed, "◐ untested"),
            Self::LoggedOut => (Tone::Heed, "◐ logged out"),
            Self::NotInstalled => (Tone::Quiet, "○ not installed"),
        }
    }
}

impl AgentRow {
    fn add_to(&self, table: &mut TextTable) {
        let (tone, state) = self.state.shown();
        let version = match (&self.program.place, &self.program.version) {
            (_, Some(version)) => version.clone(),
            (Some(_), None) => "unknown".to_owned(),
            (None, None) => "-".to_owned(),
        };
        let login = match &self.login {
            Login::By(what) => what.clone(),
            Login::No => "no".to_owned(),
            Login::Unknown => "-".to_owned(),
        };
        let fix = self.fix.as_deref().unwrap_or("-").to_owned();
        let tested = self.tested.as_deref().unwrap_or("-").to_owned();
        let runtime = self.program.runtime.clone();
        table.row(tone, [state.to_owned(), runtime, version, tested, login, fix]);
    }

    fn document(&self) -> Json {
        let logged_in = match &self.login {
            Login::By(_) => Some(true),
            Login::No => Some(false),
            Login::Unknown => None,
        };
        json!({
            "runtime": self.program.runtime,
            "state": self.state.word(),
            "program": self.program.place.as_ref().map(|place| place.to_string_lossy()),
            "version": self.program.version,
            "tested_version": self.tested,
            "logged_in": logged_in,
            "detail": self.program.says,
            "fix": self.fix,
        })
    }
}
