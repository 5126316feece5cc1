//! From the pool's plan and the project file to what a runner is told.

use std::path::{Path, PathBuf};
use std::time::Duration;

use musher_core::pool::{Assignment, TextKey};
use musher_core::{
    AskDecision, BranchRef, ErrorClass, ErrorInfo, FirstPrompt, Lineage, RunId, RunOptions,
    RunPlan, SessionId, SessionOpening, StoryId, ToolRules, Usd, Variables,
};
use musher_runtime::{AskPolicy, KeySource, SystemPrompt, control_group, find_program};
use musher_sandbox::Sandbox;
use serde::de::DeserializeOwned;

use super::SupervisorContext;
use crate::config::trust::AcceptedFiles;
use crate::config::{self, AgentConfig, EnvSource, ProjectConfig};
use crate::diagnostics::executed;
use crate::journal::JournalError;
use crate::runner::sessions;
use crate::runner::spec::{
    self, FilesSpec, KeyFrom, ModelSpec, Resuming, RunBounds, RunSpec, SystemWords, VERSION,
};
use crate::runtimes;
use musher_git::worktree::{Lane, WorktreeError, WorktreeSlots};
use musher_git::{Branch, GitError};

impl SupervisorContext {
    /// Refuses what could not run, before anything is made for it.
    pub(super) fn check(&self, plan: &RunPlan) -> Result<(), ErrorInfo> {
        let project = self.settings.project();
        let agent = seat(&project, plan)?;
        let runtime = agent
            .played_by(&self.environment)
            .map_err(|error| config_error(error.to_string()).with_hint(error.hint()))?;
        let named = agent.program(self.git.root());
        let usual = runtimes::program(&agent.runtime, agent.preset.as_ref());
        let program = named.or_else(|| usual.clone());
        // A script is read by the runner, not started; and a name means a program of the image, where there is one.
        let here = |program: &PathBuf| usual.is_some() && !agent.sandbox.is_of_image(program);
        if let Some(program) = program.filter(here) {
            find_program(&program, self.environment.get("PATH")).map_err(|error| {
                ErrorInfo::new(ErrorClass::Unavailable, error.to_string())
                    .with_hint(format!("install it, or name it as `command` of {}", agent.name))
            })?;
        }
        let from_turn = matches!(plan.kind.opening(), SessionOpening::Fork { turn: Some(_), .. });
        if from_turn && !runtime.capabilities().turns {
            let message = format!("{} cannot continue from an earlier turn", agent.runtime);
            return Err(config_error(message).with_hint("fork the whole session"));
        }
        for (name, value) in &agent.env {
            if let EnvSource::From(from) = value
                && self.environment.get(from).is_none()
            {
                let message =
                    format!("agent {} takes {name} from {from}, which is not set", agent.name);
                let hint = format!("set {from} and start the server again");
                return Err(config_error(message).with_hint(hint));
            }
        }
        Ok(())
    }

    /// What the runner is told.
    pub(super) fn assign(
        &self,
        to: &Assignment,
        setup: bool,
        files: FilesSpec,
        sandbox: Option<Sandbox>,
        mark: String,
    ) -> Result<RunSpec, ErrorInfo> {
        let Assignment { run, nonce, plan, budget, slot, branch, pending, .. } = to;
        let worktree = self.slots.path(*slot);
        let project = self.settings.project();
        let agent = seat(&project, plan)?;
        let told = self.story(&plan.story)?;
        let (branch, base) = (branch.to_string(), self.base_of(branch)?.to_string());
        let options = self.options(*run)?;
        let mut set = self.context(&plan.story)?;
        set.extend(options.set.clone());
        let rendered = agent
            .render(&config::TemplateContext {
                story: config::TemplateStory {
                    id: plan.story.as_str(),
                    title: &told.title,
                    text: &told.text,
                },
                worktree: &worktree.to_string_lossy(),
                branch: &branch,
                base_branch: &base,
                set: &set,
            })
            .map_err(|error| config_error(error.to_string()))?;
        let unsaid = self.unsaid(&plan.kind)?;
        // Somebody who has forgotten everything needs the whole story beside the new words.
        let with_story = |own: String| (own.clone(), format!("{}\n\n{own}", rendered.prompt));
        let (prompt, fresh_prompt) = match plan.words {
            FirstPrompt::Story => (rendered.prompt.clone(), rendered.prompt),
            FirstPrompt::Own => with_story(self.prompt_of(*run)?),
            FirstPrompt::Of { run } => with_story(self.prompt_of(run)?),
            // An agent that was told nothing has nothing to go on with.
            FirstPrompt::Continue => {
                unsaid.opening.unwrap_or((rendered.continue_prompt, rendered.prompt))
            }
        };
        let resume = match plan.kind.opening() {
            SessionOpening::Fresh => None,
            SessionOpening::Resume { session } => Some((session, false, None)),
            SessionOpening::Fork { session, turn } => Some((session, true, turn)),
        };
        let lineage = match &resume {
            Some((session, _, _)) => self.views.session_lineage(session).map_err(|e| broken(&e))?,
            None => Lineage::default(),
        };
        let model = plan.model.clone().or_else(|| agent.model.clone());
        Ok(RunSpec {
            version: VERSION,
            run: *run,
            journal: Some(self.owner.journal.clone()),
            nonce: nonce.clone(),
            story: plan.story.clone(),
            title: told.title,
            text: told.text,
            agent: plan.agent.clone(),
            group: control_group(&mark),
            mark,
            runtime: agent.runtime.clone(),
            preset: agent.preset.clone(),
            prompt,
            pending: [unsaid.pending, self.offered(pending)?].concat(),
            cwd: worktree,
            model,
            model_options: ModelSpec {
                effort: options.effort.clone().or_else(|| agent.model_choice.effort.clone()),
                ..model_options(agent, self.git.root())
            },
            system_prompt: instructions(rendered.system_prompt, options.system_prompt.clone()),
            rules: self.rules(agent, &options),
            files,
            protected: Some(runtimes::executed_anywhere(&project.runtimes)),
            permission_mode: options.mode.clone().or_else(|| agent.permission_mode.clone()),
            bounds: bounds(agent, *budget),
            resume: resume.map(|(session, fork, turn)| Resuming {
                session_dir: plan.kind.of().and_then(|of| self.kept(of, &session)),
                session,
                fork,
                fresh_prompt: Some(fresh_prompt),
                lineage,
                turn,
            }),
            program: agent.program(self.git.root()),
            args: rendered.args,
            env: agent.env.iter().map(|(name, value)| (name.clone(), variable(value))).collect(),
            setup: if setup { project.worktree.setup.clone() } else { Vec::new() },
            sandbox,
        })
    }

    /// What a run's program would execute of the project, as its branch found it, and what of that was agreed to.
    pub(super) async fn files(
        &self,
        plan: &RunPlan,
        branch: &BranchRef,
    ) -> Result<FilesSpec, ErrorInfo> {
        let project = self.settings.project();
        let runtime = seat(&project, plan)?
            .played_by(&self.environment)
            .map_err(|error| config_error(error.to_string()).with_hint(error.hint()))?;
        let files = runtime.project_files().to_vec();
        if files.is_empty() {
            return Ok(FilesSpec::default());
        }
        let internal = |error: String| ErrorInfo::new(ErrorClass::Internal, error);
        let (base, branch) = (self.base_of(branch)?, branch.to_string());
        let (copied, wanted) = (project.worktree.copy.clone(), files.clone());
        let look = async move |slots: WorktreeSlots| {
            let git = slots.git();
            let branch = Branch::new(branch).map_err(GitError::from)?;
            let (base, tip) = git.resolve_with(&base, &branch).await?;
            let left = match tip {
                Some(tip) => git.merge_base(&base, &tip).await?,
                None => base,
            };
            Ok::<_, WorktreeError>(executed(git, &left, &wanted, &copied).await?)
        };
        let looked = self.slots.apart(Lane::Repository, "the look at project files", look);
        let base = looked.await.map_err(|error| internal(error.to_string()))?;
        let state = self.home.path().to_owned();
        let accepted = tokio::task::spawn_blocking(move || AcceptedFiles::read(&state)).await;
        let accepted = accepted
            .map_err(|error| internal(error.to_string()))?
            .map_err(|error| config_error(error.to_string()))?;
        let trusted = accepted.states.iter().map(|state| state.only(&files).without_texts());
        Ok(FilesSpec { base, trusted: trusted.collect() })
    }

    /// The branch that a story's branch begins at and is merged into.
    pub(super) fn base_of(&self, branch: &BranchRef) -> Result<Branch, ErrorInfo> {
        match &branch.base {
            None => Ok(self.base.clone()),
            Some(base) => Branch::new(base.to_string())
                .map_err(|error| config_error(format!("the base of the story: {error}"))),
        }
    }

    /// Where a session is kept whose runtime leaves that to us: in the folder of this run, or where that one had it from.
    fn kept(&self, of: RunId, session: &SessionId) -> Option<PathBuf> {
        let folder = self.home.run(of);
        let spec = RunSpec::read(&folder).ok()?;
        let own = sessions(&folder);
        let runtime =
            runtimes::choose(&spec.runtime, spec.preset.as_ref(), &self.environment).ok()?;
        if runtime.has_session(&own, session) {
            return Some(own);
        }
        // It may have been lost before it came to its session.
        spec.resume?.session_dir
    }

    /// The agent's rules with those of the run, and what a person granted the agent since. A file of grants with a mistake
    /// in it grants nothing.
    fn rules(&self, agent: &AgentConfig, options: &RunOptions) -> ToolRules {
        let granted = self.settings.local().read().map(|local| local.granted(&agent.name));
        let granted = granted.unwrap_or_else(|error| {
            tracing::warn!(agent = %agent.name, cause = %error, "saved permissions cannot be read; none is given");
            Default::default()
        });
        ToolRules { granted, ..options.rules(&agent.rules) }
    }

    /// What the run was started with, or one that it follows.
    fn options(&self, run: RunId) -> Result<RunOptions, ErrorInfo> {
        let kept = self.views.options(run).map_err(|error| broken(&error))?;
        kept.map_or_else(|| Ok(RunOptions::default()), |kept| unwritten("options", &kept))
    }

    /// The variables of a story.
    fn context(&self, story: &StoryId) -> Result<Variables, ErrorInfo> {
        let kept = self.text(&TextKey::StoryContext(story.clone()))?;
        kept.map_or_else(|| Ok(Variables::new()), |kept| unwritten("context", &kept))
    }

    fn story(&self, story: &StoryId) -> Result<Told, ErrorInfo> {
        let title = self.text(&TextKey::StoryTitle(story.clone()))?;
        let text = self.text(&TextKey::StoryText(story.clone()))?;
        Ok(Told { title: title.unwrap_or_default(), text: text.unwrap_or_default() })
    }

    fn prompt_of(&self, run: RunId) -> Result<String, ErrorInfo> {
        self.text(&TextKey::Prompt(run))?
            .ok_or_else(|| config_error(format!("the prompt of run {run} was erased")))
    }

    pub(super) fn text(&self, key: &TextKey) -> Result<Option<String>, ErrorInfo> {
        self.views.text(key).map_err(|error| broken(&error))
    }
}

/// The agent that a plan names, as it is today.
pub(super) fn seat<'a>(
    project: &'a ProjectConfig,
    plan: &RunPlan,
) -> Result<&'a AgentConfig, ErrorInfo> {
    project.agent(plan.agent.as_str()).ok_or_else(|| {
        config_error(format!("agent {} is not in the project file any more", plan.agent))
    })
}

struct Told {
    title: String,
    text: String,
}

/// Reads what the pool has written as JSON.
fn unwritten<T: DeserializeOwned>(what: &str, kept: &str) -> Result<T, ErrorInfo> {
    serde_json::from_str(kept).map_err(|error| {
        let message = format!("the {what} in the journal cannot be read: {error}");
        ErrorInfo::new(ErrorClass::Internal, message)
    })
}

/// The agent's instructions with those of the run after them.
fn instructions(agent: Option<SystemPrompt>, own: Option<String>) -> Option<SystemWords> {
    let with = |text: String| match &own {
        Some(own) => format!("{text}\n\n{own}"),
        None => text,
    };
    match agent {
        Some(SystemPrompt::Append(text)) => Some(SystemWords::Append(with(text))),
        Some(SystemPrompt::Replace(text)) => Some(SystemWords::Replace(with(text))),
        None => own.map(SystemWords::Append),
    }
}

fn broken(error: &JournalError) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Internal, error.to_string())
}

pub(super) fn config_error(message: String) -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Config, message)
}

fn variable(value: &EnvSource) -> spec::SpecEnvValue {
    match value {
        EnvSource::Text(text) => spec::SpecEnvValue::Value(text.clone()),
        EnvSource::From(from) => spec::SpecEnvValue::From(from.clone()),
    }
}

fn model_options(agent: &AgentConfig, repo: &Path) -> ModelSpec {
    let choice = agent.model_choice.clone();
    let key = choice.key.map(|source| match source {
        KeySource::Env(name) => KeyFrom::Env(name),
        // The runner knows where its user is at home.
        KeySource::File(path) if path.starts_with("~") => KeyFrom::File(path),
        KeySource::File(path) => KeyFrom::File(repo.join(path)),
        KeySource::Command(command) => KeyFrom::Command(command),
    });
    ModelSpec {
        base_url: choice.base_url,
        wire: choice.wire,
        key,
        headers: choice
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), variable(value)))
            .collect(),
        temperature: choice.temperature,
        effort: choice.effort,
        max_output: choice.max_output,
        window: choice.window,
        prices: choice.prices.map(|path| repo.join(path)),
    }
}

fn bounds(agent: &AgentConfig, budget: Option<Usd>) -> RunBounds {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let (ask_deadline, ask_default) = match agent.asks {
        AskPolicy::Wait { deadline, default } => (deadline, default),
        AskPolicy::Deny => (Some(Duration::ZERO), AskDecision::Deny),
    };
    RunBounds {
        max_turns: agent.limits.max_turns,
        budget: agent.limits.budget.into_iter().chain(budget).min(),
        inactivity_ms: agent.limits.inactivity.map(millis),
        wall_clock_ms: agent.limits.wall_clock.map(millis),
        ask_deadline_ms: ask_deadline.map(millis),
        ask_reminder_ms: agent.ask_reminder.map(millis),
        ask_default,
        linger_ms: millis(agent.linger),
    }
}
