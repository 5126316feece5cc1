//! Items of a thread: messages, thoughts and tools, from their start to their end.

use std::collections::HashMap;

use musher_core::{
    CallId, Channel, Delta, Edit, EventKind, EventScope, Executor, ItemBody, ItemId, PlanEntry,
    ToolKind, ToolOutput, ToolPhase, ToolUpdate,
};
use serde_json::{Value as Json, json};

use super::super::frame::{DeltaNotice, FileChange, Item, ItemNotice, PlanNotice};
use super::edits;
use super::{AgentFrame, CodexTranslator, RpcParams, Signal};

/// A text in flight is kept up to this size, for the case that its end is never told.
const MAX_KEPT_TEXT_BYTES: usize = 256 * 1024;

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct OpenItems {
    /// Messages and thoughts that have begun, with what was said of them.
    texts: HashMap<String, OpenText>,
    /// Files that a patch would change: the request for approval does not repeat them.
    pub(super) patches: HashMap<String, Vec<FileChange>>,
}

#[derive(Debug)]
struct OpenText {
    scope: EventScope,
    reasoning: bool,
    text: String,
}

/// A tool as all runtimes tell it.
struct ToolFacts {
    name: String,
    kind: ToolKind,
    subject: Option<String>,
    input: Option<Json>,
    edits: Vec<Edit>,
    by: Executor,
}

impl CodexTranslator {
    pub(super) fn item_started(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: EventScope,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let ItemNotice { item } = params.read()?;
        match item.kind.as_str() {
            "userMessage" => {
                match item.client_id.filter(|id| self.own_prompts.contains(id)) {
                    Some(id) => frame.signal(Signal::Begun { prompt: id.as_str().into() }),
                    None => frame.signal(Signal::Alive),
                }
                return Some(());
            }
            "agentMessage" | "reasoning" | "plan" => {
                // After a steer the turn continues with a call that was not announced.
                self.calls.begin(frame, &scope, self.model.as_deref());
                let reasoning = item.kind == "reasoning";
                let open = OpenText { scope, reasoning, text: String::new() };
                self.items.texts.insert(item.id, open);
                frame.signal(Signal::Alive);
                return Some(());
            }
            "contextCompaction" => {
                frame.event_in(scope, compaction(false));
                return Some(());
            }
            _ => {}
        }
        if item.kind == "fileChange" {
            self.items.patches.insert(item.id.clone(), item.changes.clone());
        }
        let facts = tool(&item)?;
        self.calls.tool_used(&scope);
        let update = facts.update(item.id, ToolPhase::Proposed);
        frame.event_in(scope, EventKind::Tool(Box::new(update)));
        Some(())
    }

    pub(super) fn item_completed(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: EventScope,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let ItemNotice { item } = params.read()?;
        self.items.texts.remove(&item.id);
        match item.kind.as_str() {
            "userMessage" => {
                frame.signal(Signal::Alive);
                return Some(());
            }
            "agentMessage" | "plan" => {
                let text = item.text?;
                if let Some(turn) = self.turn.as_mut().filter(|_| scope.is_main()) {
                    turn.said = Some(text.clone());
                }
                frame.event_in(scope, done(item.id, ItemBody::Text { text }, false));
                return Some(());
            }
            "reasoning" => {
                let whole = item.content.iter().filter_map(Json::as_str).collect::<Vec<_>>();
                let text =
                    if whole.is_empty() { item.summary.join("\n\n") } else { whole.join("\n\n") };
                let body = ItemBody::Reasoning { text, opaque: None };
                frame.event_in(scope, done(item.id, body, false));
                return Some(());
            }
            "contextCompaction" => {
                frame.event_in(scope, compaction(true));
                return Some(());
            }
            _ => {}
        }
        self.items.patches.remove(&item.id);
        let facts = tool(&item)?;
        self.calls.tool_used(&scope);
        let phase = phase(&item);
        let output = output(&item);
        let elapsed_ms = item.duration_ms;
        let update = ToolUpdate { output, elapsed_ms, ..facts.update(item.id, phase) };
        frame.event_in(scope, EventKind::Tool(Box::new(update)));
        Some(())
    }

    pub(super) fn text_delta(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: EventScope,
        params: &RpcParams<'_>,
        channel: Channel,
    ) -> Option<()> {
        let DeltaNotice { item_id, delta } = params.read()?;
        if let Some(open) = self.items.texts.get_mut(&item_id)
            && open.text.len() + delta.len() <= MAX_KEPT_TEXT_BYTES
        {
            open.text.push_str(&delta);
        }
        let item = ItemId::new(item_id);
        frame.signal(Signal::Delta(Delta { item, channel, text: delta, scope }));
        Some(())
    }

    /// Tells what was said of messages whose end was not told: a turn that is interrupted leaves them open.
    pub(super) fn close_items(&mut self, frame: &mut AgentFrame<'_>, scope: &EventScope) {
        let open: Vec<_> = self.items.texts.extract_if(|_, open| open.scope == *scope).collect();
        for (id, OpenText { scope, reasoning, text }) in open {
            if text.is_empty() {
                continue;
            }
            let body = match reasoning {
                true => ItemBody::Reasoning { text, opaque: None },
                false => ItemBody::Text { text },
            };
            frame.event_in(scope, done(id, body, true));
        }
    }

    pub(super) fn plan_updated(
        frame: &mut AgentFrame<'_>,
        scope: EventScope,
        params: &RpcParams<'_>,
    ) -> Option<()> {
        let PlanNotice { plan } = params.read()?;
        let entry = |step: super::super::frame::PlanStep| PlanEntry {
            text: step.step,
            // The words of other agents.
            status: if step.status == "inProgress" { "in_progress".into() } else { step.status },
        };
        let entries = plan.into_iter().map(entry).collect();
        frame.event_in(scope, EventKind::Plan { entries });
        Some(())
    }
}

impl ToolFacts {
    fn update(self, id: String, phase: ToolPhase) -> ToolUpdate {
        ToolUpdate {
            name: Some(self.name),
            kind: Some(self.kind),
            subject: self.subject,
            input: self.input,
            edits: self.edits,
            by: self.by,
            ..ToolUpdate::phase(CallId::new(id), phase)
        }
    }
}

/// What kind of tool an item is; nothing if it is none.
fn tool(item: &Item) -> Option<ToolFacts> {
    let facts = |name: &str, kind, subject: Option<String>, input| ToolFacts {
        name: name.to_owned(),
        kind,
        subject,
        input,
        edits: Vec::new(),
        by: Executor::Agent,
    };
    Some(match item.kind.as_str() {
        "commandExecution" => {
            let command = command(item.command.as_deref().unwrap_or_default());
            let input = json!({ "command": command, "cwd": item.cwd });
            facts("shell", ToolKind::Execute, Some(command), Some(input))
        }
        "fileChange" => {
            let subject = Some(edits::paths(&item.changes).join(", "));
            let edits = edits::edits(&item.changes);
            ToolFacts { edits, ..facts("apply_patch", ToolKind::Edit, subject, None) }
        }
        "mcpToolCall" => {
            let server = item.server.as_deref().unwrap_or_default();
            let tool = item.tool.as_deref().unwrap_or_default();
            let name = format!("mcp__{server}__{tool}");
            facts(&name, ToolKind::Mcp, None, item.arguments.clone())
        }
        "collabAgentToolCall" => {
            let name = item.tool.as_deref().unwrap_or("agent");
            facts(name, ToolKind::Subagent, item.prompt.clone(), None)
        }
        "dynamicToolCall" => {
            let name = item.tool.as_deref().unwrap_or("tool");
            facts(name, ToolKind::Other, None, item.arguments.clone())
        }
        "webSearch" => {
            let found = facts("web_search", ToolKind::Fetch, item.query.clone(), None);
            ToolFacts { by: Executor::Provider, ..found }
        }
        "imageView" => facts("view_image", ToolKind::Read, item.path.clone(), None),
        _ => return None,
    })
}

fn phase(item: &Item) -> ToolPhase {
    match item.status.as_deref() {
        Some("failed") => ToolPhase::Failed,
        Some("declined") => ToolPhase::Denied,
        Some("inProgress") => ToolPhase::Cancelled,
        Some(_) | None => ToolPhase::Completed,
    }
}

fn output(item: &Item) -> Option<ToolOutput> {
    let text = match item.kind.as_str() {
        "mcpToolCall" => mcp_text(item),
        _ => item.aggregated_output.clone(),
    };
    let structured = item.result.as_ref().and_then(|result| result.get("structuredContent"));
    let structured = structured.filter(|content| !content.is_null()).cloned();
    if text.is_none() && structured.is_none() && item.exit_code.is_none() {
        return None;
    }
    Some(ToolOutput { text: text.unwrap_or_default(), structured, exit_code: item.exit_code })
}

/// What a tool server has replied, or why it failed.
fn mcp_text(item: &Item) -> Option<String> {
    let error = item.error.as_ref().and_then(|error| error["message"].as_str());
    let content = item.result.as_ref().and_then(|result| result["content"].as_array());
    let texts = || content?.iter().map(|part| part["text"].as_str()).collect::<Option<Vec<_>>>();
    error.map(str::to_owned).or_else(|| texts().map(|texts| texts.join("\n")))
}

fn done(id: String, body: ItemBody, aborted: bool) -> EventKind {
    EventKind::ItemDone { item: ItemId::new(id), body, aborted }
}

fn compaction(done: bool) -> EventKind {
    EventKind::Compaction { done, auto: None, before: None, after: None }
}

/// The command without the shell that runs it: `/bin/bash -lc 'echo hi'` is about `echo hi`.
pub(super) fn command(shown: &str) -> String {
    let inner = || {
        let (shell, rest) = shown.split_once(' ')?;
        let script = rest.strip_prefix("-lc ").or_else(|| rest.strip_prefix("-c "))?;
        let is_shell = matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash"));
        unquoted(script).filter(|_| is_shell)
    };
    inner().unwrap_or_else(|| shown.to_owned())
}

/// One word of the shell without its quotes; nothing if it is more than one.
fn unquoted(word: &str) -> Option<String> {
    let mut words = shlex::split(word)?.into_iter();
    let first = words.next()?;
    words.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_without_its_shell() {
        for (shown, wanted) in [
            ("/bin/bash -lc 'echo hi > o.txt'", "echo hi > o.txt"),
            (r#"/bin/bash -lc "it's""#, "it's"),
            ("bash -c ls", "ls"),
            ("/bin/bash -lc 'a' 'b'", "/bin/bash -lc 'a' 'b'"),
            ("git status", "git status"),
            ("/usr/bin/python -c 'x'", "/usr/bin/python -c 'x'"),
            ("", ""),
        ] {
            assert_eq!(command(shown), wanted, "{shown}");
        }
    }
}
