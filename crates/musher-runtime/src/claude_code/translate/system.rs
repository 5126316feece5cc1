//! Frames about the session itself: its start, its state, its retries, its limits, its background work.

use std::collections::HashSet;

use musher_core::{
    Activity, CallId, EventKind, Level, McpState, ModelChange, RateLimit, SessionId, SessionInfo,
    TaskId, TaskPhase, TaskUpdate, ToolPhase, ToolUpdate, Trigger,
};
use serde_json::Value as Json;

use super::super::frame::{InitFrame, RateLimitFrame, TaskFrame};
use super::{AgentFrame, Translator};
use crate::session::Signal;

impl Translator {
    pub(super) fn system(&mut self, frame: &mut AgentFrame<'_>, subtype: &str) -> Option<()> {
        match subtype {
            "init" => self.init(frame),
            "status" => self.status(frame),
            "session_state_changed" => {
                let value: Json = frame.read()?;
                let state = match value["state"].as_str()? {
                    "idle" => Activity::Idle,
                    "running" => Activity::Running,
                    "requires_action" => Activity::NeedsYou,
                    _ => return None,
                };
                frame.event(EventKind::SessionState { state });
                Some(())
            }
            "api_retry" => self.api_retry(frame),
            "compact_boundary" => {
                let value: Json = frame.read()?;
                let about = &value["compact_metadata"];
                frame.event(EventKind::Compaction {
                    done: true,
                    auto: about["trigger"].as_str().map(|trigger| trigger == "auto"),
                    before: about["pre_tokens"].as_u64(),
                    after: about["post_tokens"].as_u64(),
                });
                Some(())
            }
            "task_started" | "task_progress" | "task_updated" | "task_notification" => {
                self.task(frame, subtype)
            }
            "background_tasks_changed" => self.background_tasks(frame),
            "permission_denied" => {
                let value: Json = frame.read()?;
                let update = ToolUpdate {
                    name: value["tool_name"].as_str().map(str::to_owned),
                    reason: value["message"].as_str().map(str::to_owned),
                    ..ToolUpdate::phase(
                        CallId::new(value["tool_use_id"].as_str()?),
                        ToolPhase::Denied,
                    )
                };
                frame.event(EventKind::Tool(Box::new(update)));
                Some(())
            }
            "model_refusal_fallback" => self.refusal_fallback(frame),
            "model_refusal_no_fallback" => {
                self.trouble.refused = true;
                notice(frame, Level::Warning, "refusal", "the model declined to answer".into());
                Some(())
            }
            "informational" | "notification" | "local_command_output" => {
                let value: Json = frame.read()?;
                let text =
                    ["content", "text", "message"].iter().find_map(|key| value[key].as_str());
                let pressing = value["level"] == "warning"
                    || matches!(value["priority"].as_str(), Some("high" | "immediate"));
                let level = if pressing { Level::Warning } else { Level::Info };
                notice(frame, level, subtype, text?.to_owned());
                Some(())
            }
            "hook_response" => hook_response(frame),
            // What a hook prints while it runs is told again at its end.
            "thinking_tokens" | "control_request_progress" | "hook_started" | "hook_progress" => {
                frame.signal(Signal::Alive);
                Some(())
            }
            _ => None,
        }
    }

    fn init(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let init: InitFrame = frame.read()?;
        self.spoke = true;
        // It comes at the start of every turn, also of those that nobody asked for.
        if !self.turn_open {
            self.turn_open = true;
            self.trouble = Default::default();
            let trigger = Trigger::Background;
            frame.event(EventKind::TurnStarted { trigger, prompts: Vec::new() });
        }
        self.model.clone_from(&init.model);
        let mcp = init.mcp_servers.map(|servers| {
            servers.into_iter().map(|s| McpState { name: s.name, status: s.status }).collect()
        });
        frame.event(EventKind::SessionInfo(Box::new(SessionInfo {
            session: init.session_id.map(SessionId::new),
            model: init.model,
            cwd: init.cwd,
            tools: init.tools,
            mcp,
            permission_mode: init.permission_mode,
            agent_version: init.claude_code_version,
            auth_source: init.api_key_source,
            ..SessionInfo::default()
        })));
        Some(())
    }

    /// What becomes of something that was said to the agent.
    pub(super) fn command_lifecycle(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let value: Json = frame.read()?;
        let id = value["command_uuid"].as_str().filter(|id| self.own_prompts.contains(*id));
        match (id, value["state"].as_str()) {
            (Some(id), Some("started")) => frame.signal(Signal::Begun { prompt: id.into() }),
            (Some(id), Some(state @ ("cancelled" | "discarded" | "refused"))) => {
                frame.signal(Signal::NotTaken { prompt: id.into() });
                let text = format!("the agent did not take the message: {state}");
                notice(frame, Level::Warning, "not_taken", text);
            }
            _ => frame.signal(Signal::Alive),
        }
        Some(())
    }

    fn status(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let value: Json = frame.read()?;
        if let Some(mode) = value["permissionMode"].as_str() {
            frame.event(EventKind::SessionInfo(Box::new(SessionInfo {
                permission_mode: Some(mode.to_owned()),
                ..SessionInfo::default()
            })));
        }
        match value["status"].as_str() {
            Some("compacting") => {
                let kind =
                    EventKind::Compaction { done: false, auto: None, before: None, after: None };
                frame.event(kind);
            }
            Some("requesting") => {
                self.calls.asked(frame, self.model.clone());
                frame.signal(Signal::Alive);
            }
            Some(_) | None => frame.signal(Signal::Alive),
        }
        Some(())
    }

    fn api_retry(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let value: Json = frame.read()?;
        let number = |key: &str| value[key].as_u64().and_then(|n| u32::try_from(n).ok());
        let status = value["error_status"].as_u64().and_then(|n| u16::try_from(n).ok());
        let cause = self.trouble.retry(value["error"].as_str().unwrap_or_default(), status);
        frame.event(EventKind::Retry {
            attempt: number("attempt")?,
            max: number("max_retries"),
            delay_ms: value["retry_delay_ms"].as_f64().map(|ms| ms as u64),
            cause,
        });
        Some(())
    }

    fn refusal_fallback(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let value: Json = frame.read()?;
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        if let Some(to) = text("fallback_model").or_else(|| text("model")) {
            let from = text("original_model");
            self.model = Some(to.clone());
            frame.event(EventKind::ModelChanged { from, to, why: ModelChange::Refusal });
        }
        let retracted: Vec<String> = value["retracted_message_uuids"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|uuid| uuid.as_str().map(str::to_owned))
            .collect();
        self.retract(frame, &retracted, "the model declined");
        Some(())
    }

    fn task(&mut self, frame: &mut AgentFrame<'_>, subtype: &str) -> Option<()> {
        let task: TaskFrame = frame.read()?;
        let status =
            task.status.or_else(|| task.patch.as_ref().and_then(|patch| patch.status.clone()));
        let phase = match (subtype, status.as_deref()) {
            (_, Some("completed")) => TaskPhase::Completed,
            (_, Some("failed" | "error")) => TaskPhase::Failed,
            (_, Some("stopped" | "killed" | "cancelled")) => TaskPhase::Stopped,
            ("task_started", _) => TaskPhase::Started,
            _ => TaskPhase::Progress,
        };
        let moved = task.patch.as_ref().and_then(|patch| patch.is_backgrounded);
        let works_on = task.task_type.as_deref().is_none_or(works_on);
        let background = (moved.unwrap_or(task.is_backgrounded) && works_on)
            || self.tasks.contains(&task.task_id);
        match phase {
            TaskPhase::Started | TaskPhase::Progress if background => {
                self.tasks.insert(task.task_id.clone());
            }
            TaskPhase::Started | TaskPhase::Progress => {}
            TaskPhase::Completed | TaskPhase::Failed | TaskPhase::Stopped => {
                self.tasks.remove(&task.task_id);
            }
        }
        let helper = works_on.then(|| task.task_id.clone());
        frame.event(EventKind::Task(TaskUpdate {
            task: TaskId::new(task.task_id),
            phase,
            background,
            name: task.task_type,
            title: task.description,
            call: task.tool_use_id.map(CallId::new),
            summary: task.summary,
        }));
        if let Some(helper) = helper {
            match phase {
                TaskPhase::Started => self.calls.helper_began(frame, &helper),
                TaskPhase::Progress => {}
                TaskPhase::Completed => self.calls.helper_ended(frame, &helper, false),
                TaskPhase::Failed | TaskPhase::Stopped => {
                    self.calls.helper_ended(frame, &helper, true);
                }
            }
        }
        Some(())
    }

    /// The whole list of what runs in the background: what is missing from it has ended.
    fn background_tasks(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let value: Json = frame.read()?;
        let listed: HashSet<String> = value["tasks"]
            .as_array()?
            .iter()
            .filter(|task| task["task_type"].as_str().is_none_or(works_on))
            .filter_map(|task| task["task_id"].as_str().map(str::to_owned))
            .collect();
        let update = |task: &String, phase| TaskUpdate {
            task: TaskId::new(task.clone()),
            phase,
            background: true,
            name: None,
            title: None,
            call: None,
            summary: None,
        };
        for started in listed.difference(&self.tasks) {
            frame.event(EventKind::Task(update(started, TaskPhase::Started)));
            self.calls.helper_began(frame, started);
        }
        for ended in self.tasks.difference(&listed) {
            frame.event(EventKind::Task(update(ended, TaskPhase::Completed)));
            self.calls.helper_ended(frame, ended, false);
        }
        self.tasks = listed;
        frame.signal(Signal::Alive);
        Some(())
    }

    pub(super) fn rate_limit(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let RateLimitFrame { rate_limit_info: info } = frame.read()?;
        let exhausted = info.status == "rejected";
        self.trouble.limit_reached |= exhausted;
        frame.event(EventKind::RateLimit(Box::new(RateLimit {
            exhausted,
            status: info.status,
            window: info.rate_limit_type,
            resets_at: info.resets_at.map(|seconds| (seconds * 1000.0) as i64),
            used: info.utilization,
            error: None,
        })));
        Some(())
    }
}

/// Whether a run waits for this kind of work. A helper comes back with a result; a shell may be a server that never
/// ends, and it ends with the run.
fn works_on(task_type: &str) -> bool {
    !matches!(task_type, "local_bash" | "monitor" | "dream")
}

/// How a hook of the person's own ended, and what it said.
fn hook_response(frame: &mut AgentFrame<'_>) -> Option<()> {
    let value: Json = frame.read()?;
    let text = |key: &str| value[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let outcome = text("outcome")?;
    let name = text("hook_name").or_else(|| text("hook_event")).unwrap_or("a hook");
    let code = value["exit_code"].as_i64();
    let level = match (outcome, code) {
        ("success", None | Some(0)) => Level::Info,
        _ => Level::Warning,
    };
    let exit = code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    // Both outputs are in `output` as well; where a hook failed, its errors say why.
    let failed = matches!(level, Level::Warning | Level::Error);
    let errors = text("stderr").filter(|_| failed);
    let said = errors.or_else(|| text("output")).or_else(|| text("stdout"));
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    notice(frame, level, "hook", format!("hook {name}: {outcome}{exit}{said}"));
    Some(())
}

fn notice(frame: &mut AgentFrame<'_>, level: Level, code: &str, text: String) {
    frame.event(EventKind::Notice { level, code: Some(code.to_owned()), text });
}
