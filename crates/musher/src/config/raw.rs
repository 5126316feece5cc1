//! A project file as it is written: the right keys with the right kinds of values, nothing made of them yet.

use std::ops::Range;

use musher_runtime::acp::AcpPreset;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys;
use super::model::{self, RawModel};
use super::problem::{ConfigProblem, Problems};
use super::reader::{At, TableFields, ValueReader, Wrong, shown};
use super::sandbox::{self, RawSandbox};
use super::source::Source;
use super::{runtime, value};

/// Past the first few, mistakes of grammar follow from each other.
const MAX_GRAMMAR_PROBLEMS: usize = 10;

/// The whole file.
#[derive(Debug, Default)]
pub(super) struct RawProject {
    pub(super) base_branch: Option<At<String>>,
    pub(super) auto_commit: Option<bool>,
    pub(super) agents: Vec<RawAgent>,
    pub(super) runtimes: Vec<At<AcpPreset>>,
    pub(super) worktree: RawWorktree,
    pub(super) sandbox: Option<RawSandbox>,
    pub(super) limits: RawLimits,
    pub(super) server: RawServer,
}

/// One `[[agent]]`. A missing value was either left out or already complained about.
#[derive(Debug)]
pub(super) struct RawAgent {
    pub(super) name: Option<At<String>>,
    pub(super) runtime: Option<At<String>>,
    pub(super) model: Option<At<String>>,
    pub(super) role: Option<At<String>>,
    pub(super) prompt: Option<At<String>>,
    pub(super) prompt_file: Option<At<String>>,
    pub(super) system_prompt: Option<At<String>>,
    pub(super) system_prompt_file: Option<At<String>>,
    pub(super) system_prompt_mode: Option<At<String>>,
    pub(super) continue_prompt: Option<At<String>>,
    pub(super) command: Option<At<String>>,
    pub(super) args: Vec<At<String>>,
    pub(super) env: Vec<(At<String>, Variable)>,
    pub(super) rules: RawRules,
    pub(super) permission_mode: Option<At<String>>,
    pub(super) max_turns: Option<u32>,
    pub(super) budget_usd: Option<f64>,
    pub(super) inactivity: Option<At<String>>,
    pub(super) wall_clock: Option<At<String>>,
    pub(super) ask_deadline: Option<At<String>>,
    pub(super) ask_reminder: Option<At<String>>,
    pub(super) ask_default: Option<At<String>>,
    pub(super) linger: Option<At<String>>,
    pub(super) sandbox: Option<RawSandbox>,
    pub(super) model_choice: RawModel,
}

#[derive(Debug)]
pub(super) enum Variable {
    Text(String),
    From(At<String>),
}

#[derive(Debug, Default)]
pub(super) struct RawRules {
    pub(super) allow: Vec<At<String>>,
    pub(super) ask: Vec<At<String>>,
    pub(super) deny: Vec<At<String>>,
}

#[derive(Debug, Default)]
pub(super) struct RawWorktree {
    pub(super) setup: Vec<At<String>>,
    pub(super) copy: Vec<At<String>>,
    pub(super) keep: Vec<At<String>>,
}

#[derive(Debug, Default)]
pub(super) struct RawLimits {
    pub(super) runs: Option<u32>,
    pub(super) runs_per_agent: Option<u32>,
    pub(super) runs_per_story: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct RawServer {
    pub(super) listen: Option<At<String>>,
    pub(super) origins: Vec<At<String>>,
}

/// Reads the file's tables. There is no project if the text is not TOML.
pub(super) fn read(source: &Source) -> (Option<RawProject>, Problems) {
    let mut reader = ValueReader { source, problems: Problems::default() };
    let (top, errors) = DeTable::parse_recoverable(&source.text);
    if !errors.is_empty() {
        grammar(&mut reader, &errors);
        return (None, reader.problems);
    }
    let top = reader.open(top.get_ref(), 0..0, keys::TOP);
    let project = project(&mut reader, &top);
    (Some(project), reader.problems)
}

/// Notes what is wrong with the text as TOML, once per line.
pub(super) fn grammar(reader: &mut ValueReader<'_>, errors: &[toml::de::Error]) {
    let mut lines: Vec<usize> = Vec::new();
    for error in errors.iter().take(100) {
        let Some(span) = error.span() else {
            let Wrong { message, .. } = put_in_words(error.message(), "", 0..0);
            reader.problems.add(|| ConfigProblem::of_file(&reader.source.file, message));
            continue;
        };
        let line = reader.source.text[..span.start.min(reader.source.text.len())]
            .bytes()
            .filter(|byte| *byte == b'\n')
            .count();
        if lines.len() < MAX_GRAMMAR_PROBLEMS && !lines.contains(&line) {
            lines.push(line);
            let wrong = put_in_words(error.message(), &reader.source.text, span.clone());
            reader.wrong(span, wrong);
        }
    }
}

fn put_in_words(message: &str, text: &str, span: Range<usize>) -> Wrong {
    let there = text.get(span).unwrap_or_default();
    match message {
        "duplicate key" => {
            Wrong::new(format!("`{}` is written twice", shown(there))).with_fix("keep one of them")
        }
        message if message.contains("recurs") => {
            Wrong::new("this is nested too deeply").with_fix("nest it less")
        }
        message if message.starts_with("string values must be quoted") && there.is_empty() => {
            Wrong::new("a value is missing after `=`")
        }
        message if message.starts_with("string values must be quoted") => {
            Wrong::new(format!("`{}` is no value", shown(there))).with_fix("put a text in quotes")
        }
        message => Wrong::new(format!("this is not TOML: {message}")),
    }
}

fn project(reader: &mut ValueReader<'_>, top: &TableFields<'_, '_>) -> RawProject {
    let base_branch = reader.text(top, "base_branch");
    let auto_commit = reader.flag(top, "auto_commit");
    let fix = "add an [[agent]], or write a new file with `musher init`";
    reader.require(top, "agent", fix);
    if top.is_empty_list("agent") {
        reader.wrong(0..0, Wrong::new("there is no agent").with_fix(fix));
    }
    let agents = reader.tables(top, "agent", keys::AGENT);
    let agents = agents.iter().map(|fields| agent(reader, fields)).collect();
    let runtimes = reader.tables(top, "runtime", keys::RUNTIME);
    let runtimes = runtimes.iter().filter_map(|fields| runtime::read(reader, fields)).collect();
    let worktree = reader.table(top, "worktree", keys::WORKTREE).map(|fields| RawWorktree {
        setup: reader.texts(&fields, "setup"),
        copy: reader.texts(&fields, "copy"),
        keep: reader.texts(&fields, "keep"),
    });
    let sandbox = sandbox::read(reader, top);
    let limits = reader.table(top, "limits", keys::LIMITS).map(|fields| RawLimits {
        runs: reader.count(&fields, "runs"),
        runs_per_agent: reader.count(&fields, "runs_per_agent"),
        runs_per_story: reader.count(&fields, "runs_per_story"),
    });
    let server = reader.table(top, "server", keys::SERVER).map(|fields| RawServer {
        listen: reader.text(&fields, "listen"),
        origins: reader.texts(&fields, "origins"),
    });
    RawProject {
        base_branch,
        auto_commit,
        agents,
        runtimes,
        worktree: worktree.unwrap_or_default(),
        sandbox,
        limits: limits.unwrap_or_default(),
        server: server.unwrap_or_default(),
    }
}

fn agent(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>) -> RawAgent {
    reader.require(fields, "name", "give it a name, such as name = \"coder\"");
    reader.require(fields, "runtime", "say what plays it, such as runtime = \"script\"");
    let rules = reader.table(fields, "rules", keys::RULES).map(|rules| RawRules {
        allow: reader.texts(&rules, "allow"),
        ask: reader.texts(&rules, "ask"),
        deny: reader.texts(&rules, "deny"),
    });
    RawAgent {
        name: reader.text(fields, "name"),
        runtime: reader.text(fields, "runtime"),
        model: reader.text(fields, "model"),
        role: reader.text(fields, "role"),
        prompt: reader.text(fields, "prompt"),
        prompt_file: reader.text(fields, "prompt_file"),
        system_prompt: reader.text(fields, "system_prompt"),
        system_prompt_file: reader.text(fields, "system_prompt_file"),
        system_prompt_mode: reader.text(fields, "system_prompt_mode"),
        continue_prompt: reader.text(fields, "continue_prompt"),
        command: reader.text(fields, "command"),
        args: reader.texts(fields, "args"),
        env: env(reader, fields),
        rules: rules.unwrap_or_default(),
        permission_mode: reader.text(fields, "permission_mode"),
        max_turns: reader.count(fields, "max_turns"),
        budget_usd: reader.amount(fields, "budget_usd"),
        inactivity: reader.text(fields, "inactivity"),
        wall_clock: reader.text(fields, "wall_clock"),
        ask_deadline: reader.text(fields, "ask_deadline"),
        ask_reminder: reader.text(fields, "ask_reminder"),
        ask_default: reader.text(fields, "ask_default"),
        linger: reader.text(fields, "linger"),
        sandbox: sandbox::read(reader, fields),
        model_choice: model::read(reader, fields),
    }
}

pub(super) fn env(
    reader: &mut ValueReader<'_>,
    fields: &TableFields<'_, '_>,
) -> Vec<(At<String>, Variable)> {
    let Some((table, _)) = reader.plain_table(fields, "env") else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in table {
        let name = At { value: key.get_ref().to_string(), span: key.span() };
        // A wrong name is said before a wrong value, and one complaint is enough.
        if reader.parse(&name, value::variable).is_none() {
            continue;
        }
        let variable = reader.variable(value, &name.value);
        found.extend(variable.map(|variable| (name, variable)));
    }
    found
}

impl ValueReader<'_> {
    /// A text, or where it comes from.
    pub(super) fn variable(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        name: &str,
    ) -> Option<Variable> {
        match value.get_ref() {
            DeValue::Table(table) => {
                let fields = self.open(table, value.span(), keys::VARIABLE);
                let fix = "name the server's variable, as in { from = \"API_KEY\" }";
                self.require(&fields, "from", fix);
                self.text(&fields, "from").map(Variable::From)
            }
            DeValue::String(_) => self.as_text(value, name).map(|text| Variable::Text(text.value)),
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => {
                self.mistyped(value, name, "a string or { from = \"NAME\" }");
                None
            }
        }
    }
}
