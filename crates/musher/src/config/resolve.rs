//! From what is written to what is meant: every value checked, every default filled in.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use musher_core::{AgentName, AskDecision, IdError, Rule, ToolRules, Usd};
use musher_runtime::AskPolicy;
use musher_runtime::acp::AcpPreset;
use sha2::{Digest, Sha256};

use super::agent::{AgentConfig, EnvSource, SystemTemplate};
use super::problem::Problems;
use super::reader::{At, ValueReader, Wrong, shown};
use super::source::{Source, offset_in_raw};
use super::template::{DEFAULT_CONTINUE_PROMPT, DEFAULT_PROMPT, Template, TemplateFault};
use super::{
    LimitsConfig, ListenConfig, ProjectConfig, SandboxConfig, WorktreeConfig, file, model, nearest,
    raw, runtime, sandbox, value,
};
use crate::runtimes::KnownRuntime;

/// How long an ask waits before the person is reminded of it, where nothing else is said.
const ASK_REMINDER: Duration = Duration::from_secs(10 * 60);
/// Which of the two ways to give the same text was taken.
const BOTH: &str = "keep one of them";

/// Makes a project of a file; none if something that every project needs is wrong.
pub(super) fn resolve(
    raw: &raw::RawProject,
    source: &Source,
    repo: &Path,
    runtimes: &[KnownRuntime<'_>],
    problems: &mut Problems,
) -> Option<ProjectConfig> {
    let reader = ValueReader { source, problems: std::mem::take(problems) };
    let hash = Sha256::new_with_prefix(source.text.as_bytes());
    let (names, own) = (BTreeMap::new(), Vec::new());
    let mut resolver = Resolver { reader, repo, runtimes, own, hash, names };
    let project = resolver.project(raw);
    *problems = resolver.reader.problems;
    project
}

#[derive(Clone, Copy)]
enum Mode {
    Append,
    Replace,
}

struct Resolver<'a> {
    reader: ValueReader<'a>,
    repo: &'a Path,
    runtimes: &'a [KnownRuntime<'a>],
    /// Those that the project brings.
    own: Vec<Arc<AcpPreset>>,
    /// Of the project file and all prompt files read so far.
    hash: Sha256,
    /// The names given so far, and where.
    names: BTreeMap<AgentName, Range<usize>>,
}

impl Resolver<'_> {
    fn project(&mut self, raw: &raw::RawProject) -> Option<ProjectConfig> {
        let defaults = LimitsConfig::default();
        let base_branch = self.given(raw.base_branch.as_ref(), value::branch);
        self.own = runtime::resolve(&raw.runtimes, self.runtimes, &mut self.reader);
        let nothing = SandboxConfig::default();
        let sandbox = sandbox::resolve(raw.sandbox.as_ref(), &nothing, &mut self.reader);
        let agents: Vec<Option<AgentConfig>> =
            raw.agents.iter().map(|raw| self.agent(raw, &sandbox)).collect();
        let worktree = WorktreeConfig {
            setup: self.all(&raw.worktree.setup, value::not_blank),
            copy: self.all(&raw.worktree.copy, value::work_path),
            keep: self.all(&raw.worktree.keep, value::work_path),
        };
        let server = ListenConfig {
            listen: self
                .given(raw.server.listen.as_ref(), value::listen)
                .unwrap_or(ListenConfig::default().listen),
            origins: self.all(&raw.server.origins, value::origin),
        };
        let hash = self.hash.clone().finalize();
        Some(ProjectConfig {
            base_branch,
            auto_commit: raw.auto_commit.unwrap_or(true),
            agents: agents.into_iter().collect::<Option<_>>()?,
            runtimes: std::mem::take(&mut self.own),
            worktree,
            sandbox,
            limits: LimitsConfig {
                runs: raw.limits.runs.unwrap_or(defaults.runs),
                runs_per_agent: raw.limits.runs_per_agent.unwrap_or(defaults.runs_per_agent),
                runs_per_story: raw.limits.runs_per_story.unwrap_or(defaults.runs_per_story),
            },
            server,
            hash: hex(&hash),
        })
    }

    fn agent(&mut self, raw: &raw::RawAgent, project: &SandboxConfig) -> Option<AgentConfig> {
        let name = self.name(raw);
        let own = self.own.clone();
        let known: Vec<KnownRuntime<'_>> = self
            .runtimes
            .iter()
            .copied()
            .chain(own.iter().map(|own| KnownRuntime::of(own)))
            .collect();
        let named = raw.runtime.as_ref();
        let runtime = named.and_then(|name| self.reader.parse(name, |text| find(text, &known)));
        let model = self.given(raw.model.as_ref(), value::word);
        let role = self.given(raw.role.as_ref(), value::not_blank);
        let prompt = self.either(raw.prompt.as_ref(), raw.prompt_file.as_ref(), "prompt");
        let system_prompt = self.system_prompt(raw);
        let continue_prompt = raw.continue_prompt.as_ref().map(|text| self.inline(text));
        let command = self.given(raw.command.as_ref(), value::word);
        let args: Vec<_> = raw.args.iter().map(|arg| self.argument(arg)).collect();
        let rules = ToolRules {
            allow: self.rules(&raw.rules.allow),
            ask: self.rules(&raw.rules.ask),
            deny: self.rules(&raw.rules.deny),
            ..ToolRules::default()
        };
        let limits = musher_runtime::RunLimits {
            max_turns: raw.max_turns,
            budget: raw.budget_usd.map(Usd::from_dollars),
            inactivity: self
                .given(raw.inactivity.as_ref(), value::time_or_off)
                .unwrap_or(musher_runtime::RunLimits::default().inactivity),
            wall_clock: self.given(raw.wall_clock.as_ref(), value::time),
        };
        let decisions = [("deny", AskDecision::Deny), ("allow", AskDecision::Allow)];
        let deadline = self.given(raw.ask_deadline.as_ref(), value::time);
        let default = self.given(raw.ask_default.as_ref(), |text| value::choice(text, &decisions));
        let ask_reminder = self.given(raw.ask_reminder.as_ref(), value::time_or_off);
        let asks = AskPolicy::Wait { deadline, default: default.unwrap_or_default() };
        let env = raw.env.iter().filter_map(|(name, variable)| {
            Some((name.value.clone(), EnvSource::of(variable, &mut self.reader)?))
        });
        let env = env.collect();
        let permission_mode = self.given(raw.permission_mode.as_ref(), value::word);
        let linger = self.given(raw.linger.as_ref(), value::time_or_none);
        let sandbox = sandbox::resolve(raw.sandbox.as_ref(), project, &mut self.reader);
        let model_choice = model::resolve(&raw.model_choice, runtime, &mut self.reader);
        let runtime = runtime.map(|runtime| runtime.name.to_owned());
        let preset = own.iter().find(|own| Some(&own.name) == runtime.as_ref()).cloned();
        Some(AgentConfig {
            name: name?,
            runtime: runtime?,
            preset,
            model,
            role,
            prompt: prompt.unwrap_or_else(|| Some(Template::built_in(DEFAULT_PROMPT)))?,
            system_prompt,
            continue_prompt: continue_prompt
                .unwrap_or_else(|| Some(Template::built_in(DEFAULT_CONTINUE_PROMPT)))?,
            command,
            args: args.into_iter().collect::<Option<_>>()?,
            env,
            rules,
            permission_mode,
            limits,
            asks,
            ask_reminder: ask_reminder.unwrap_or(Some(ASK_REMINDER)),
            linger: linger.unwrap_or_default(),
            sandbox,
            model_choice,
        })
    }

    fn name(&mut self, raw: &raw::RawAgent) -> Option<AgentName> {
        let given = raw.name.as_ref()?;
        let parse = |text: &str| {
            let wrong = |error: IdError| {
                let message = format!("`{}` is not a name for an agent", shown(text));
                Wrong::new(message).with_fix(error.rule())
            };
            AgentName::parse(text).map_err(wrong)
        };
        let name = self.reader.parse(given, parse)?;
        if let Some(first) = self.names.get(&name) {
            let line = self.reader.source.text[..first.start].matches('\n').count() + 1;
            let wrong = Wrong::new(format!("there are two agents called `{name}`"));
            let fix = format!("the first is on line {line}; give this one another name");
            self.reader.wrong(given.span.clone(), wrong.with_fix(fix));
        } else {
            self.names.insert(name.clone(), given.span.clone());
        }
        Some(name)
    }

    fn system_prompt(&mut self, raw: &raw::RawAgent) -> Option<SystemTemplate> {
        let (text, file) = (raw.system_prompt.as_ref(), raw.system_prompt_file.as_ref());
        let template = self.either(text, file, "system_prompt");
        let modes = [("append", Mode::Append), ("replace", Mode::Replace)];
        let mode = raw.system_prompt_mode.as_ref();
        if let (Some(mode), None) = (mode, &template) {
            let wrong = Wrong::new("there is no system prompt that this could be the mode of");
            let fix = "give system_prompt or system_prompt_file too";
            self.reader.wrong(mode.span.clone(), wrong.with_fix(fix));
        }
        let mode = self.given(mode, |text| value::choice(text, &modes));
        let template = template??;
        Some(match mode.unwrap_or(Mode::Append) {
            Mode::Append => SystemTemplate::Append(template),
            Mode::Replace => SystemTemplate::Replace(template),
        })
    }

    /// A text that is given in the file or in a file of its own: none if neither, none inside if it is wrong.
    fn either(
        &mut self,
        text: Option<&At<String>>,
        file: Option<&At<String>>,
        key: &str,
    ) -> Option<Option<Template>> {
        match (text, file) {
            (None, None) => None,
            (Some(text), None) => Some(self.inline(text)),
            (None, Some(file)) => Some(self.read_file(file)),
            (Some(text), Some(file)) => {
                let wrong = Wrong::new(format!("both `{key}` and `{key}_file` are given"));
                let last = text.span.start.max(file.span.start);
                let span = if last == text.span.start { &text.span } else { &file.span };
                self.reader.wrong(span.clone(), wrong.with_fix(BOTH));
                Some(None)
            }
        }
    }

    fn inline(&mut self, text: &At<String>) -> Option<Template> {
        self.reader.parse(text, value::not_blank)?;
        self.argument(text)
    }

    /// A template that may be blank.
    fn argument(&mut self, text: &At<String>) -> Option<Template> {
        match Template::check(&text.value) {
            Ok(template) => Some(template),
            Err(faults) => {
                let raw = self.reader.source.text.get(text.span.clone()).unwrap_or_default();
                for TemplateFault { span, wrong } in faults {
                    let at = |offset| text.span.start + offset_in_raw(raw, &text.value, offset);
                    self.reader.wrong(at(span.start)..at(span.end), wrong);
                }
                None
            }
        }
    }

    fn read_file(&mut self, name: &At<String>) -> Option<Template> {
        let source = match file::prompt(self.repo, &name.value) {
            Ok(source) => source,
            Err(why) => {
                let fix = "the path starts at .musher/ and stays in the repository";
                self.reader.wrong(name.span.clone(), Wrong::new(why).with_fix(fix));
                return None;
            }
        };
        if source.text.trim().is_empty() {
            let wrong = Wrong::new(format!("{} is empty", source.file.display()));
            self.reader.wrong(name.span.clone(), wrong);
            return None;
        }
        self.hash.update((name.value.len() as u64).to_le_bytes());
        self.hash.update(&name.value);
        self.hash.update((source.text.len() as u64).to_le_bytes());
        self.hash.update(&source.text);
        match Template::check(&source.text) {
            Ok(template) => Some(template),
            Err(faults) => {
                let mut other = ValueReader {
                    source: &source,
                    problems: std::mem::take(&mut self.reader.problems),
                };
                for TemplateFault { span, wrong } in faults {
                    other.wrong(span, wrong);
                }
                self.reader.problems = other.problems;
                None
            }
        }
    }

    fn rules(&mut self, given: &[At<String>]) -> Vec<Rule> {
        self.all(given, value::rule)
    }

    fn given<T>(
        &mut self,
        given: Option<&At<String>>,
        parse: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        given.and_then(|given| self.reader.parse(given, parse))
    }

    fn all<T>(&mut self, given: &[At<String>], parse: impl Fn(&str) -> Result<T, Wrong>) -> Vec<T> {
        given.iter().filter_map(|given| self.reader.parse(given, &parse)).collect()
    }
}

fn find<'k>(text: &str, known: &[KnownRuntime<'k>]) -> Result<KnownRuntime<'k>, Wrong> {
    if let Some(found) = known.iter().find(|known| known.name == text) {
        return Ok(*found);
    }
    let names: Vec<&str> = known.iter().map(|known| known.name).collect();
    let fix = match nearest(text, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("use one of {}", names.join(", ")),
    };
    Err(Wrong::new(format!("there is no runtime `{}`", shown(text))).with_fix(fix))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
