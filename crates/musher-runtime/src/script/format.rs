//! The script's format: strict, with errors that name the step and its line.

use std::ops::Range;
use std::time::Duration;

use musher_core::{ErrorClass, Tokens, Usd};
use serde::Deserialize;
use toml::Spanned;

/// A script that was read and makes sense.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) model: String,
    /// The time between two words.
    pub(super) pace: Duration,
    pub(super) steps: Vec<ScriptStep>,
}

#[derive(Debug, Clone)]
pub(super) enum ScriptStep {
    Say(String),
    Think(String),
    Tool {
        tool: Tool,
        ask_first: bool,
    },
    Ask {
        question: String,
        options: Vec<String>,
        multi: bool,
        save: Option<String>,
    },
    Approve {
        act: String,
    },
    Usage {
        tokens: Tokens,
        cost: Option<Usd>,
    },
    Fail {
        class: ErrorClass,
        message: String,
    },
    Hang,
    /// The turn is over; the next prompt goes on from here.
    Turn,
}

#[derive(Debug, Clone)]
pub(super) enum Tool {
    Write { path: String, content: String },
    Edit { path: String, old: String, new: String },
    Run { command: String, timeout: Option<Duration> },
}

impl Tool {
    /// The same tool with every text changed.
    pub(super) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Write { path, content } => {
                Self::Write { path: change(path), content: change(content) }
            }
            Self::Edit { path, old, new } => {
                Self::Edit { path: change(path), old: change(old), new: change(new) }
            }
            Self::Run { command, timeout } => {
                Self::Run { command: change(command), timeout: *timeout }
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    #[serde(default = "default_model")]
    model: String,
    #[serde(default)]
    pace_ms: u64,
    #[serde(default)]
    step: Vec<Spanned<RawStep>>,
}

fn default_model() -> String {
    "script".into()
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    say: Option<String>,
    think: Option<String>,
    write: Option<String>,
    content: Option<String>,
    edit: Option<String>,
    old: Option<String>,
    new: Option<String>,
    run: Option<String>,
    timeout_s: Option<u64>,
    ask_first: Option<bool>,
    ask: Option<String>,
    options: Option<Vec<String>>,
    multi: Option<bool>,
    save: Option<String>,
    approve: Option<String>,
    usage: Option<RawUsage>,
    fail: Option<String>,
    class: Option<ErrorClass>,
    hang: Option<bool>,
    turn: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUsage {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
    #[serde(default)]
    output: u64,
    cost_usd: Option<Usd>,
}

/// Reads a script; the error says where and what is wrong.
pub(super) fn read(text: &str) -> Result<Scenario, String> {
    let raw: RawScenario = toml::from_str(text).map_err(|error| error.to_string())?;
    if raw.step.is_empty() {
        return Err("the script has no [[step]]".into());
    }
    let steps = raw
        .step
        .into_iter()
        .enumerate()
        .map(|(index, step)| {
            let line = line_of(text, &step.span());
            step.into_inner()
                .resolve()
                .map_err(|why| format!("step {} (line {line}): {why}", index + 1))
        })
        .collect::<Result<_, _>>()?;
    Ok(Scenario { model: raw.model, pace: Duration::from_millis(raw.pace_ms), steps })
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|&byte| byte == b'\n').count() + 1
}

const VERBS: &str = "say, think, write, edit, run, ask, approve, usage, fail, hang or turn";

impl RawStep {
    fn resolve(mut self) -> Result<ScriptStep, String> {
        let ask_first = self.ask_first.take();
        let mut found: Vec<(&str, ScriptStep)> = Vec::new();
        if let Some(text) = self.say.take() {
            found.push(("say", ScriptStep::Say(text)));
        }
        if let Some(text) = self.think.take() {
            found.push(("think", ScriptStep::Think(text)));
        }
        let mut tools: Vec<(&str, Tool)> = Vec::new();
        if let Some(path) = self.write.take() {
            let content = self.content.take().ok_or("`write` needs `content`")?;
            tools.push(("write", Tool::Write { path, content }));
        }
        if let Some(path) = self.edit.take() {
            let (Some(old), Some(new)) = (self.old.take(), self.new.take()) else {
                return Err("`edit` needs `old` and `new`".into());
            };
            tools.push(("edit", Tool::Edit { path, old, new }));
        }
        if let Some(command) = self.run.take() {
            let timeout = self.timeout_s.take().map(Duration::from_secs);
            tools.push(("run", Tool::Run { command, timeout }));
        }
        let takes_ask_first = !tools.is_empty();
        found.extend(tools.into_iter().map(|(verb, tool)| {
            (verb, ScriptStep::Tool { tool, ask_first: ask_first.unwrap_or_default() })
        }));
        if let Some(question) = self.ask.take() {
            let options = self.options.take().unwrap_or_default();
            let multi = self.multi.take().unwrap_or_default();
            found.push((
                "ask",
                ScriptStep::Ask { question, options, multi, save: self.save.take() },
            ));
        }
        if let Some(act) = self.approve.take() {
            found.push(("approve", ScriptStep::Approve { act }));
        }
        if let Some(usage) = self.usage.take() {
            found.push(("usage", usage.resolve()));
        }
        if let Some(message) = self.fail.take() {
            let class = self.class.take().unwrap_or(ErrorClass::Unknown);
            found.push(("fail", ScriptStep::Fail { class, message }));
        }
        if self.hang.take() == Some(true) {
            found.push(("hang", ScriptStep::Hang));
        }
        if self.turn.take() == Some(true) {
            found.push(("turn", ScriptStep::Turn));
        }
        if let Some(stray) = self.stray(ask_first.filter(|_| !takes_ask_first)) {
            return Err(format!("`{stray}` does not belong to this step"));
        }
        match found.as_slice() {
            [] => Err(format!("the step does nothing; give it one of {VERBS}")),
            [(_, step)] => Ok(step.clone()),
            [(first, _), (second, _), ..] => {
                Err(format!("the step has both `{first}` and `{second}`; make it two steps"))
            }
        }
    }

    /// A key that no verb has taken.
    fn stray(&self, ask_first: Option<bool>) -> Option<&'static str> {
        [
            ("content", self.content.is_some()),
            ("old", self.old.is_some()),
            ("new", self.new.is_some()),
            ("timeout_s", self.timeout_s.is_some()),
            ("ask_first", ask_first.is_some()),
            ("options", self.options.is_some()),
            ("multi", self.multi.is_some()),
            ("save", self.save.is_some()),
            ("class", self.class.is_some()),
        ]
        .into_iter()
        .find_map(|(name, there)| there.then_some(name))
    }
}

impl RawUsage {
    fn resolve(self) -> ScriptStep {
        ScriptStep::Usage {
            tokens: Tokens {
                input: self.input,
                cache_read: self.cache_read,
                cache_write_other: self.cache_write,
                output: self.output,
                ..Tokens::default()
            },
            cost: self.cost_usd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dry_run_is_a_good_script() {
        assert_eq!(read(super::super::DRY_RUN).unwrap().steps.len(), 5);
    }

    #[test]
    fn a_bad_script_names_the_step_the_line_and_the_fix() {
        for (text, says) in [
            ("", "no [[step]]"),
            ("[[step]]\nsay = 'a'\n[[step]]\nsy = 'b'", "unknown field `sy`"),
            (
                "[[step]]\nsay = 'a'\n\n[[step]]\nsay = 'b'\nrun = 'ls'",
                "step 2 (line 4): the step has both `say` and `run`",
            ),
            ("[[step]]\n", "the step does nothing"),
            ("[[step]]\nwrite = 'a'", "`write` needs `content`"),
            ("[[step]]\nsay = 'a'\nold = 'b'", "`old` does not belong"),
            ("[[step]]\nsay = 'a'\nask_first = true", "`ask_first` does not belong"),
            ("[[step]]\nfail = 'x'\nclass = 'weird'", "unknown variant `weird`"),
            ("[[step]\nsay", "TOML parse error at line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }
}
