//! Tools: each message about one may be the first, and tells only what has changed.

use std::collections::BTreeMap;

use musher_core::{
    CallId, Edit, EventKind, EventScope, ToolKind, ToolOutput, ToolPhase, ToolUpdate,
};
use serde_json::Value as Json;

use super::super::frame::{ToolContent, ToolFrame};
use super::{AcpTranslator, AgentFrame};
use crate::json;

/// The tools whose end was not told yet.
#[derive(Debug, Default)]
pub(super) struct OpenTools {
    open: BTreeMap<String, OpenTool>,
}

/// What is known of a tool.
#[derive(Debug, Clone)]
pub(super) struct OpenTool {
    pub(super) scope: EventScope,
    pub(super) name: String,
    pub(super) kind: ToolKind,
    pub(super) subject: Option<String>,
    pub(super) input: Option<Json>,
    pub(super) edits: Vec<Edit>,
    running: bool,
    /// Why it was denied, if it was.
    pub(super) denied: Option<String>,
}

impl AcpTranslator {
    pub(super) fn tool_updated(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: EventScope,
        update: &str,
    ) -> Option<()> {
        let told: ToolFrame = json::read(update)?;
        if told.tool_call_id.is_empty() {
            return None;
        }
        self.tool(frame, scope, told);
        Some(())
    }

    /// Takes in what is told of a tool, and tells it on.
    pub(super) fn tool(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: EventScope,
        told: ToolFrame,
    ) -> OpenTool {
        self.close_text(frame);
        self.answers(frame, &scope);
        let id = told.tool_call_id.clone();
        let known = self.tools.open.remove(&id);
        let first = known.is_none();
        let mut tool = known.unwrap_or_else(|| OpenTool::new(scope.clone()));
        let (status, output) = (told.status.clone(), output(&told));
        tool.take(told, &self.opening.cwd);
        let phase = match status.as_deref() {
            Some("completed") => ToolPhase::Completed,
            Some("failed") if tool.denied.is_some() => ToolPhase::Denied,
            Some("failed") => ToolPhase::Failed,
            _ if first => ToolPhase::Proposed,
            Some("in_progress") if !tool.running => ToolPhase::Running,
            _ => ToolPhase::Progress,
        };
        tool.running |= status.as_deref() == Some("in_progress");
        frame.event_in(scope, tool.event(&id, phase, output));
        match phase.is_final() {
            true => self.calls.tool_over(&tool.scope),
            false => {
                self.tools.open.insert(id, tool.clone());
            }
        }
        tool
    }

    /// A person or a rule has said no to a tool.
    pub(super) fn tool_denied(&mut self, call: &str, reason: &str) {
        if let Some(tool) = self.tools.open.get_mut(call) {
            tool.denied = Some(reason.to_owned());
        }
    }

    /// The turn is over: what of its tools was not told does not come any more.
    pub(super) fn close_tools(&mut self, frame: &mut AgentFrame<'_>) {
        for (id, tool) in std::mem::take(&mut self.tools.open) {
            let phase =
                if tool.denied.is_some() { ToolPhase::Denied } else { ToolPhase::Cancelled };
            frame.event_in(tool.scope.clone(), tool.event(&id, phase, None));
        }
    }
}

impl OpenTool {
    fn new(scope: EventScope) -> Self {
        Self {
            scope,
            name: String::new(),
            kind: ToolKind::Other,
            subject: None,
            input: None,
            edits: Vec::new(),
            running: false,
            denied: None,
        }
    }

    fn take(&mut self, told: ToolFrame, cwd: &str) {
        if let Some(kind) = told.kind.as_deref() {
            self.kind = kind_of(kind);
        }
        if let Some(name) = told.name.or_else(|| vendor_name(told.meta.as_ref())) {
            self.name = name;
        } else if self.name.is_empty() {
            // What it calls its tools is not told: the kind is what rules speak of.
            self.name = match self.kind == ToolKind::Other {
                true => told.title.clone().unwrap_or_else(|| "tool".to_owned()),
                false => self.kind.as_str().to_owned(),
            };
        }
        if let Some(input) = told.raw_input.filter(|input| !input.is_null()) {
            self.input = Some(input);
        }
        let changes = told.content.into_iter().filter(|content| content.kind == "diff");
        let edits: Vec<Edit> = changes.map(|change| edit(change, cwd)).collect();
        if !edits.is_empty() {
            self.edits = edits;
        }
        let place = told.locations.first().map(|place| within(&place.path, cwd));
        let subject = match self.kind {
            ToolKind::Execute => command(self.input.as_ref()).or(told.title),
            ToolKind::Edit => match self.edits.as_slice() {
                [] => place.or(told.title),
                [one] => Some(one.path.clone()),
                // Of several files each has a word in it; see the edits.
                _ => None,
            },
            ToolKind::Read | ToolKind::Search => place.or(told.title),
            ToolKind::Fetch
            | ToolKind::Mcp
            | ToolKind::Subagent
            | ToolKind::Question
            | ToolKind::Plan
            | ToolKind::Other => told.title,
        };
        if subject.is_some() || self.edits.len() > 1 {
            self.subject = subject;
        }
    }

    fn event(&self, id: &str, phase: ToolPhase, output: Option<ToolOutput>) -> EventKind {
        EventKind::Tool(Box::new(ToolUpdate {
            name: Some(self.name.clone()),
            kind: Some(self.kind),
            subject: self.subject.clone(),
            input: self.input.clone(),
            edits: self.edits.clone(),
            output,
            reason: self.denied.clone().filter(|_| phase == ToolPhase::Denied),
            ..ToolUpdate::phase(CallId::new(id), phase)
        }))
    }
}

/// The tool's own name, where a vendor tells it beside the protocol.
fn vendor_name(meta: Option<&Json>) -> Option<String> {
    let meta = meta?.as_object()?;
    let own = |value: &Json| value.get("toolName").and_then(Json::as_str).map(str::to_owned);
    let bare = meta.get("toolName").and_then(Json::as_str).map(str::to_owned);
    bare.or_else(|| meta.values().find_map(own))
}

fn kind_of(kind: &str) -> ToolKind {
    match kind {
        "read" => ToolKind::Read,
        // All three change files.
        "edit" | "delete" | "move" => ToolKind::Edit,
        "search" => ToolKind::Search,
        "execute" => ToolKind::Execute,
        "fetch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

fn edit(change: ToolContent, cwd: &str) -> Edit {
    let path = within(&change.path, cwd);
    Edit { path, old: change.old_text, new: change.new_text, all: false }
}

/// A path as seen from the folder, where it is in it.
fn within(path: &str, cwd: &str) -> String {
    let inside = path.strip_prefix(cwd).and_then(|rest| rest.strip_prefix('/'));
    inside.filter(|rest| !rest.is_empty()).unwrap_or(path).to_owned()
}

/// The command, as agents write it into the input.
fn command(input: Option<&Json>) -> Option<String> {
    let command = input?.get("command").or_else(|| input?.get("cmd"))?;
    match command {
        Json::String(text) => Some(text.clone()),
        Json::Array(words) => {
            let words: Vec<&str> = words.iter().map(Json::as_str).collect::<Option<_>>()?;
            match words.as_slice() {
                // The shell that runs a command is not what the command is about.
                [shell, "-c" | "-lc", script] if shell.ends_with("sh") => {
                    Some((*script).to_owned())
                }
                words => Some(words.join(" ")),
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => None,
    }
}

fn output(told: &ToolFrame) -> Option<ToolOutput> {
    let shown = told.content.iter().filter(|content| content.kind == "content");
    let texts: Vec<&str> = shown.filter_map(|content| content.content.text.as_deref()).collect();
    let raw = told.raw_output.as_ref().filter(|raw| !raw.is_null());
    if texts.is_empty() && raw.is_none() {
        return None;
    }
    let exit = raw.and_then(|raw| raw.get("exit_code").or_else(|| raw["metadata"].get("exit")));
    let exit_code = exit.and_then(Json::as_i64).and_then(|code| code.try_into().ok());
    let said = match texts.is_empty() {
        false => texts.join("\n"),
        true => raw.and_then(Json::as_str).unwrap_or_default().to_owned(),
    };
    Some(ToolOutput { text: said, structured: None, exit_code })
}
