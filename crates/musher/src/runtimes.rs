//! The one table from names to runtimes, those to come included.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use musher_runtime::acp::{self, Acp, AcpPreset};
use musher_runtime::anthropic::{self, Anthropic};
use musher_runtime::claude_code::{self, ClaudeCode};
use musher_runtime::codex::{self, Codex};
use musher_runtime::gemini::{self, Gemini};
use musher_runtime::openai::{self, OpenAi};
use musher_runtime::script::Script;
use musher_runtime::{Environment, FileEffect, ModelService, ProgramLogin, ProjectFile, Runtime};

/// A runtime that an agent may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownRuntime<'a> {
    pub name: &'a str,
    /// The wire formats that it has, if it speaks to a model itself.
    pub wires: &'a [&'a str],
    /// Whether it takes a word for how hard its model is to think.
    pub effort: bool,
}

impl<'a> KnownRuntime<'a> {
    /// One that a project brings.
    pub fn of(preset: &'a AcpPreset) -> Self {
        Self { name: &preset.name, wires: &[], effort: preset.powers.effort }
    }
}

/// Those with a protocol of their own.
const OWN: &[&str] = &["claude-code", "codex", "openai", "gemini", "anthropic", "script", ANY_ACP];
/// Any agent that speaks ACP, by its program.
const ANY_ACP: &str = "acp";
/// The runtimes that speak to a model themselves.
pub const MODELS: &[(&str, ModelService)] =
    &[("openai", openai::ABOUT), ("gemini", gemini::ABOUT), ("anthropic", anthropic::ABOUT)];
const TO_COME: &[&str] = &["terminal"];
const OWN_PROGRAMS: &[(&str, &str)] = &[("claude-code", "claude"), ("codex", "codex")];

/// The names that can be used: runtimes with a protocol of their own, and agents that speak ACP.
pub fn built() -> &'static [KnownRuntime<'static>] {
    static BUILT: LazyLock<Vec<KnownRuntime<'static>>> = LazyLock::new(|| {
        let presets = acp::presets().iter().map(|preset| preset.name.as_str());
        OWN.iter().copied().chain(presets).map(known).collect()
    });
    &BUILT
}

fn known(name: &'static str) -> KnownRuntime<'static> {
    let model = MODELS.iter().find(|(model, _)| *model == name);
    KnownRuntime {
        name,
        wires: model.map_or(&[], |(_, service)| service.wires),
        effort: find(name, &Environment::default())
            .is_ok_and(|runtime| runtime.capabilities().effort),
    }
}

/// The runtimes that need a program on this machine, with its name.
pub fn programs() -> &'static [(&'static str, &'static str)] {
    static PROGRAMS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
        let presets = acp::presets().iter();
        let presets = presets.map(|preset| (preset.name.as_str(), preset.program.as_str()));
        OWN_PROGRAMS.iter().copied().chain(presets).collect()
    });
    &PROGRAMS
}

/// The program of a runtime that needs one; `own` is what its project says of it.
pub fn program(name: &str, own: Option<&Arc<AcpPreset>>) -> Option<PathBuf> {
    let usual = || programs().iter().find(|(runtime, _)| *runtime == name);
    own.map(|preset| preset.program.as_str())
        .or_else(|| usual().map(|(_, program)| *program))
        .map(PathBuf::from)
}

/// The agent of this name that speaks ACP.
pub fn preset(name: &str) -> Option<Arc<AcpPreset>> {
    acp::preset(name)
}

/// The version of a runtime's program that was tested.
pub fn tested(runtime: &str) -> Option<String> {
    match runtime {
        "claude-code" => Some(claude_code::TESTED_VERSION.to_owned()),
        "codex" => Some(codex::TESTED_VERSION.to_owned()),
        name => preset(name)?.tested.clone(),
    }
}

/// What a person must do for a runtime's program, in commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCare {
    pub install: Option<String>,
    pub login: Option<String>,
    /// The file of the login, seen from the home folder.
    pub login_file: Option<String>,
    /// Variables of which one stands for a login.
    pub keys: Vec<String>,
}

/// What a person must do for a runtime's program.
pub fn care(runtime: &str) -> Option<ProgramCare> {
    let own = |install: &str, login: ProgramLogin| ProgramCare {
        install: Some(install.to_owned()),
        login: Some(login.command.to_owned()),
        login_file: login.file.map(str::to_owned),
        keys: login.variables.iter().map(|name| (*name).to_owned()).collect(),
    };
    match runtime {
        "claude-code" => Some(own(claude_code::INSTALL, claude_code::LOGIN)),
        "codex" => Some(own(codex::INSTALL, codex::LOGIN)),
        name => preset(name).map(|preset| ProgramCare::of(&preset)),
    }
}

impl ProgramCare {
    /// What a person must do for an agent that speaks ACP.
    pub fn of(preset: &AcpPreset) -> Self {
        let is_key = |name: &&String| name.ends_with("_KEY") || name.ends_with("_TOKEN");
        Self {
            install: preset.install.clone(),
            login: preset.login.clone(),
            login_file: preset.login_file.clone(),
            keys: preset.variables.iter().filter(is_key).cloned().collect(),
        }
    }
}

/// A name that stands for no runtime of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRuntime {
    #[error("runtime `{0}` is planned but not in this version")]
    Planned(String),
    #[error("there is no runtime `{0}`")]
    Unknown(String),
}

impl NoRuntime {
    /// What can be used instead.
    pub fn hint(&self) -> String {
        let names: Vec<&str> = built().iter().map(|known| known.name).collect();
        format!("use one of {}", names.join(", "))
    }
}

/// The runtime of this name.
pub fn find(name: &str, environment: &Environment) -> Result<Box<dyn Runtime>, NoRuntime> {
    match name {
        "claude-code" => Ok(Box::new(ClaudeCode::default())),
        "codex" => Ok(Box::new(Codex::default())),
        "openai" => Ok(Box::new(OpenAi::default())),
        "gemini" => Ok(Box::new(Gemini::default())),
        "anthropic" => Ok(Box::new(Anthropic::default())),
        "script" => Ok(Box::new(match kept(environment, "script-sessions") {
            Some(folder) => Script::default().remembering(folder),
            None => Script::default(),
        })),
        ANY_ACP => Ok(Box::new(Acp::default())),
        name => match preset(name) {
            Some(preset) => Ok(Box::new(Acp::of(preset))),
            None if TO_COME.contains(&name) => Err(NoRuntime::Planned(name.to_owned())),
            None => Err(NoRuntime::Unknown(name.to_owned())),
        },
    }
}

/// The runtime that an agent or a run names; `own` is what its project says of it, if it is none that Musher brings.
pub fn choose(
    name: &str,
    own: Option<&Arc<AcpPreset>>,
    environment: &Environment,
) -> Result<Box<dyn Runtime>, NoRuntime> {
    match own {
        Some(preset) => Ok(Box::new(Acp::of(preset.clone()))),
        None => find(name, environment),
    }
}

/// What the programs of all runtimes take from a repository, those that a project brings included: a file that one agent
/// writes may be run by another.
pub fn project_files(own: &[Arc<AcpPreset>]) -> Cow<'static, [ProjectFile]> {
    static BUILT: LazyLock<Vec<ProjectFile>> = LazyLock::new(|| {
        let runtimes =
            built().iter().filter_map(|known| find(known.name, &Environment::default()).ok());
        distinct(runtimes.flat_map(|runtime| runtime.project_files().to_vec()))
    });
    if own.is_empty() {
        return Cow::Borrowed(&BUILT);
    }
    let own = own.iter().flat_map(|preset| Acp::of(preset.clone()).project_files().to_vec());
    Cow::Owned(distinct(BUILT.iter().cloned().chain(own)))
}

fn distinct(files: impl Iterator<Item = ProjectFile>) -> Vec<ProjectFile> {
    let mut all = Vec::new();
    for file in files {
        if !all.contains(&file) {
            all.push(file);
        }
    }
    all
}

/// Those that are executed, as patterns of tool rules.
pub fn executed_anywhere(own: &[Arc<AcpPreset>]) -> Vec<String> {
    let files = project_files(own);
    let executed = files.iter().filter(|file| file.effect == FileEffect::Executes);
    executed.map(ProjectFile::anywhere).collect()
}

/// Where the sessions of runtimes that keep none themselves are kept.
pub fn sessions(environment: &Environment) -> Option<PathBuf> {
    kept(environment, "sessions")
}

/// A folder of ours in the state of this user.
fn kept(environment: &Environment, name: &str) -> Option<PathBuf> {
    let state =
        environment.get("XDG_STATE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = || Some(PathBuf::from(environment.get("HOME")?).join(".local/state"));
    Some(state.or_else(home)?.join("musher").join(name))
}

#[cfg(test)]
mod tests;
