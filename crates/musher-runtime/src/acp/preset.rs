//! What differs between agents that speak ACP, as data: one small file each.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::presets::SHIPPED;
use crate::{Capabilities, FileEffect, ProjectFile};

/// The name of the agent that no preset describes.
const ANY: &str = "acp";
/// A name that people write: short, and in small letters.
const MAX_NAME_LEN: usize = 40;

/// One agent that speaks ACP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AcpPreset {
    /// Its name as a runtime.
    pub name: String,
    /// The program, found on `PATH` unless the session names one.
    pub program: String,
    /// What makes the program speak ACP.
    pub args: Vec<String>,
    /// What it is started with in a folder whose files a person has agreed to.
    pub trusted: LaunchExtra,
    /// What it is started with so that it leaves out the files that it would run. Without it the agent is not started in a
    /// folder that has such files, until a person has agreed to them.
    pub leaves_out: Option<LaunchExtra>,
    /// What it is started with inside of a sandbox of ours, in which one of its own cannot be made.
    #[serde(skip_serializing_if = "LaunchExtra::is_empty")]
    pub confined: LaunchExtra,
    /// More of it for a session without a permission mode: some agents have their sandbox and their modes in one.
    #[serde(skip_serializing_if = "LaunchExtra::is_empty")]
    pub confined_without_mode: LaunchExtra,
    /// Variables that are set unless a person sets them: they keep it quiet and as it was tested.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The vendor's documented variables, which pass by themselves.
    pub variables: Vec<String>,
    /// The command that installs it.
    pub install: Option<String>,
    /// The command that logs a person in.
    pub login: Option<String>,
    /// Where it keeps the login, seen from the home folder.
    pub login_file: Option<String>,
    /// The version that was tested; without one it was never run by those who made Musher.
    pub tested: Option<String>,
    /// Files of a folder that it runs, or that name what it runs, as patterns of tool rules.
    pub executes: Vec<String>,
    /// Files of a folder that it takes for instructions.
    pub obeys: Vec<String>,
    /// Hosts of the vendor that it cannot do without, as rules of a sandbox.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// How it tells what a prompt has used.
    pub usage: AcpUsage,
    pub powers: AcpPowers,
}

/// More arguments and variables for a start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LaunchExtra {
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

impl LaunchExtra {
    fn is_empty(&self) -> bool {
        self.args.is_empty() && self.env.is_empty()
    }
}

/// How an agent tells what a prompt has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcpUsage {
    /// It does not: the cost of every prompt is unknown.
    #[default]
    Unknown,
    /// The reply to a prompt has in `usage` what some of its calls have used: it is counted, and the cost is unknown.
    Part,
    /// The reply to a prompt has the tokens of all its calls in `usage`.
    Turn,
    /// The reply to a prompt has in `usage` what the process has used so far.
    Total,
    /// The reply to a prompt has the tokens of all its calls by model, in `_meta.quota`.
    Quota,
    /// A piece of text has those of one call in `_meta.usage`. Calls beside the conversation are in none: what is told is
    /// counted, and the cost is unknown.
    Chunks,
}

impl AcpUsage {
    /// Whether more is used than is told.
    pub(super) fn is_partial(self) -> bool {
        match self {
            Self::Unknown | Self::Part | Self::Chunks => true,
            Self::Turn | Self::Total | Self::Quota => false,
        }
    }
}

/// What an agent can do beyond what every agent can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AcpPowers {
    pub resume: bool,
    pub fork: bool,
    pub approvals: bool,
    pub questions: bool,
    pub set_model: bool,
    pub set_mode: bool,
    pub effort: bool,
    /// Its model sees images, and it says so when it starts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub images: bool,
    pub cost: bool,
}

/// Why a preset is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    #[error("`{0}` is no name for a runtime; use up to 40 small letters, digits and hyphens")]
    Name(String),
    #[error("the preset `{0}` has no program; set `program`")]
    NoProgram(String),
    #[error("`{0}` is the name of a runtime that Musher brings; choose another one")]
    Taken(String),
    #[error("{0}")]
    Format(String),
}

/// The presets that Musher brings, by name.
pub fn all() -> &'static [Arc<AcpPreset>] {
    static PRESETS: LazyLock<Vec<Arc<AcpPreset>>> = LazyLock::new(|| {
        // A test reads every file; one that cannot be read is a runtime that is not there.
        SHIPPED.iter().filter_map(|(_, text)| AcpPreset::read(text).ok()).map(Arc::new).collect()
    });
    &PRESETS
}

/// The preset of this name that Musher brings. No other one is read: a runner needs one, and there are many runners.
pub fn named(name: &str) -> Option<Arc<AcpPreset>> {
    let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
    AcpPreset::read(text).ok().map(Arc::new)
}

impl AcpPreset {
    /// Reads a preset.
    pub fn read(text: &str) -> Result<Self, PresetError> {
        let preset: Self =
            toml::from_str(text).map_err(|error| PresetError::Format(error.to_string()))?;
        preset.check()?;
        Ok(preset)
    }

    /// The agent that no preset describes: the session names its program and its arguments.
    pub fn any() -> Self {
        let powers = AcpPowers {
            resume: true,
            fork: false,
            approvals: true,
            questions: true,
            set_model: true,
            set_mode: true,
            effort: true,
            images: true,
            cost: true,
        };
        Self { name: ANY.to_owned(), usage: AcpUsage::Turn, powers, ..Self::default() }
    }

    /// Whether it can be used as it is.
    pub fn check(&self) -> Result<(), PresetError> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let named = (1..=MAX_NAME_LEN).contains(&self.name.len());
        if !named || !self.name.bytes().all(fits) || self.name.starts_with('-') {
            return Err(PresetError::Name(self.name.escape_debug().to_string()));
        }
        if self.program.is_empty() {
            return Err(PresetError::NoProgram(self.name.clone()));
        }
        Ok(())
    }

    /// Whether those who made Musher have run it.
    pub fn is_tested(&self) -> bool {
        self.tested.is_some()
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: self.powers.resume,
            fork: self.powers.fork,
            turns: false,
            // The first version of the protocol has no way to say something in mid-turn.
            steer: false,
            interrupt: true,
            approvals: self.powers.approvals,
            questions: self.powers.questions,
            set_model: self.powers.set_model,
            set_mode: self.powers.set_mode,
            effort: self.powers.effort,
            images: self.powers.images,
            partial_text: true,
            usage: !self.usage.is_partial(),
            cost: self.powers.cost,
        }
    }

    pub(super) fn project_files(&self) -> Vec<ProjectFile> {
        let of = |patterns: &[String], effect: FileEffect| -> Vec<ProjectFile> {
            let file = |pattern: &String| ProjectFile { pattern: pattern.clone().into(), effect };
            patterns.iter().map(file).collect()
        };
        let mut files = of(&self.executes, FileEffect::Executes);
        files.extend(of(&self.obeys, FileEffect::Obeys));
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_that_is_shipped_can_be_read_and_has_its_own_name() {
        for (name, text) in SHIPPED {
            let preset = AcpPreset::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(&preset.name, name);
            assert_eq!(named(name).as_deref(), Some(&preset));
        }
        let mut names: Vec<&str> = all().iter().map(|preset| preset.name.as_str()).collect();
        assert_eq!(names.len(), SHIPPED.len());
        assert!(names.is_sorted(), "they are listed by name: {names:?}");
        names.dedup();
        assert_eq!(names.len(), SHIPPED.len());
    }

    #[test]
    fn a_preset_without_a_program_or_with_an_odd_name_is_refused_in_words() {
        for (text, wanted) in [
            ("name = 'Über'\nprogram = 'x'", "is no name"),
            ("name = ''\nprogram = 'x'", "is no name"),
            ("name = 'x'", "has no program"),
            ("name = 'x'\nprogram = 'y'\ncolour = 'red'", "unknown field `colour`"),
        ] {
            let error = AcpPreset::read(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn a_preset_that_was_never_run_claims_nothing_beyond_the_protocol() {
        for preset in all().iter().filter(|preset| !preset.is_tested()) {
            let AcpPowers { resume, fork, questions, effort, images, cost, .. } = preset.powers;
            assert!(!(resume || fork || questions || effort || images || cost), "{}", preset.name);
            assert_eq!(preset.usage, AcpUsage::Unknown, "{}", preset.name);
        }
    }
}
