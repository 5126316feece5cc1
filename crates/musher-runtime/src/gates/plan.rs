//! What is to be run: the gates in their order, as the project file in force has them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::expected::ExpectedOutput;
use crate::process::MARK;

/// How long a gate may take when nobody has said otherwise.
pub const USUAL_GATE_TIMEOUT_MS: u64 = 30 * 60 * 1000;
/// The longest command line; the kernel takes little more as one argument.
const MAX_COMMAND_BYTES: usize = 100_000;

/// The gates of a check run, in the order in which they are run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatesPlan {
    pub gates: Vec<GateSpec>,
    /// Go on after a required gate that is not green, so that all are judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// One command that decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSpec {
    pub name: String,
    /// The command line, for `sh`.
    pub command: String,
    /// Variables of its own, which go before those of the session.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// After how many milliseconds it is ended with everything that it has started.
    #[serde(default = "usual_timeout")]
    pub timeout_ms: u64,
    /// A regular expression that a line of its output must match if it is to pass: a test command that found no tests exits
    /// with 0 as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// Whether the work goes on only if it is green; otherwise it is advisory.
    #[serde(default = "yes")]
    pub required: bool,
    /// Its share of the processors; without it, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<NonZeroU32>,
}

fn usual_timeout() -> u64 {
    USUAL_GATE_TIMEOUT_MS
}

fn yes() -> bool {
    true
}

/// Why a plan cannot be run. It names the gate and what to correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatesPlanError {
    #[error("there is no gate to run; name at least one")]
    Empty,
    #[error("a gate has no name; give it one")]
    NoName,
    #[error("there are two gates `{0}`; rename one")]
    Twice(String),
    #[error("gate `{gate}` {why}")]
    Bad { gate: String, why: String },
}

impl GateSpec {
    /// A required gate with the usual timeout.
    pub fn new(name: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            command: command.into(),
            env: BTreeMap::new(),
            timeout_ms: USUAL_GATE_TIMEOUT_MS,
            expect: None,
            required: true,
            cores: None,
        }
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    fn check(&self) -> Result<(), String> {
        if self.command.trim().is_empty() {
            return Err("has no command; say what to run".into());
        }
        if self.command.len() > MAX_COMMAND_BYTES {
            return Err(format!(
                "has a command of more than {MAX_COMMAND_BYTES} bytes; put it into a script"
            ));
        }
        if self.command.contains('\0') {
            return Err("has a NUL byte in its command; remove it".into());
        }
        if self.timeout_ms == 0 {
            return Err("has a timeout of 0; give it some time".into());
        }
        for (name, value) in &self.env {
            let bad = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
            if bad || name == MARK {
                return Err(format!(
                    "cannot have the variable `{}`; leave it out",
                    name.escape_debug()
                ));
            }
        }
        ExpectedOutput::of(self.expect.as_deref()).map(drop)
    }
}

impl GatesPlan {
    /// Refuses a plan that could not be run as it stands.
    pub fn check(&self) -> Result<(), GatesPlanError> {
        if self.gates.is_empty() {
            return Err(GatesPlanError::Empty);
        }
        let mut names = BTreeSet::new();
        for gate in &self.gates {
            if gate.name.trim().is_empty() {
                return Err(GatesPlanError::NoName);
            }
            if !names.insert(&gate.name) {
                return Err(GatesPlanError::Twice(gate.name.clone()));
            }
            let bad = |why| GatesPlanError::Bad { gate: gate.name.clone(), why };
            gate.check().map_err(bad)?;
        }
        Ok(())
    }

    /// What is done, in words, for the prompt of the session.
    pub fn title(&self) -> String {
        let names: Vec<&str> = self.gates.iter().map(|gate| gate.name.as_str()).collect();
        format!("Run the gates: {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_needs_only_a_name_and_a_command_and_fields_of_a_newer_plan_are_skipped() {
        let read = r#"{"gates":[{"name":"test","command":"cargo test","new":1}],"newer":true}"#;
        let plan: GatesPlan = serde_json::from_str(read).unwrap();
        assert_eq!(plan.gates, [GateSpec::new("test", "cargo test")]);
        assert!(plan.gates[0].required && !plan.all);
        let written = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<GatesPlan>(&written).unwrap(), plan);
        assert_eq!(plan.title(), "Run the gates: test");
    }

    #[test]
    fn a_plan_that_cannot_be_run_is_refused_with_the_name_of_its_gate() {
        let of = |gate: GateSpec| GatesPlan { gates: vec![gate], all: false }.check();
        let good = GateSpec::new("test", "true");
        assert_eq!(of(good.clone()), Ok(()));
        assert_eq!(GatesPlan::default().check(), Err(GatesPlanError::Empty));
        let twice = GatesPlan { gates: vec![good.clone(), good.clone()], all: false };
        assert_eq!(twice.check(), Err(GatesPlanError::Twice("test".into())));
        let env = |name: &str| [(name.to_owned(), "x".to_owned())].into();
        for (bad, why) in [
            (GateSpec { command: " ".into(), ..good.clone() }, "no command"),
            (GateSpec { command: "a\0b".into(), ..good.clone() }, "NUL byte"),
            (GateSpec { timeout_ms: 0, ..good.clone() }, "timeout of 0"),
            (GateSpec { expect: Some("(".into()), ..good.clone() }, "regular expression"),
            (GateSpec { expect: Some(String::new()), ..good.clone() }, "regular expression"),
            (GateSpec { env: env("A=B"), ..good.clone() }, "variable `A=B`"),
            (GateSpec { env: env(MARK), ..good }, "variable `MUSHER_MARK`"),
        ] {
            let error = of(bad).unwrap_err().to_string();
            assert!(error.starts_with("gate `test` ") && error.contains(why), "{error}");
        }
    }
}
