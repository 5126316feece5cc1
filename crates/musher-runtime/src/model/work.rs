//! Carries out the calls of an answer: each with permission of the rules and, where need be, of a person; then at once or in turn.

mod tool_calls;

use std::ffi::OsStr;
use std::sync::Arc;

use musher_core::{ErrorClass, ErrorInfo, EventKind, Executor, ToolOutput, ToolPhase, ToolUpdate};

use serde_json::Value as Json;

use super::agent::{ModelAgent, call_id};
use super::history::CANCELLED;
use super::inbox::WaitBroken;
use super::wire::{CallArguments, CallResult, HistoryEntry, ToolRequest};
use crate::KeySource;
use crate::session::{Attempt, PermissionRequest, Signal};
use crate::tools::{CommandTools, FileTools, RunTools, ToolHost, ToolsError};
use tool_calls::{CallStage, ToolCalls};

/// Calls of one answer that are carried out; a model that wants more is told to come again.
const MAX_CALLS_PER_ANSWER: usize = 128;
/// The longest result that is sent to a model, whatever a tool gives.
const MAX_RESULT_BYTES: usize = 512 * 1024;

/// The tools that every agent of ours has in its folder.
pub(super) fn tools(attempt: &Attempt) -> Result<Vec<Arc<dyn ToolHost>>, ErrorInfo> {
    let refuse = |error: ToolsError| ErrorInfo::new(ErrorClass::Config, error.to_string());
    let spec = &attempt.spec;
    let files = FileTools::also_reading(&spec.cwd, spec.rules.clone(), attempt.attached_files())
        .map_err(refuse)?;
    // The key is for us; no command gets to see it.
    let key = match &spec.model_options.key {
        Some(KeySource::Env(name)) => Some(OsStr::new(name)),
        Some(KeySource::File(_) | KeySource::Command(_)) | None => None,
    };
    let env = attempt.env.iter().filter(|(name, _)| Some(name.as_os_str()) != key).cloned();
    let (mark, sandbox) = (&attempt.mark, spec.sandbox.clone());
    let commands =
        CommandTools::in_session(&spec.cwd, env.collect(), mark, spec.containment, sandbox);
    Ok(vec![Arc::new(files), Arc::new(commands), Arc::new(RunTools::default())])
}

impl ModelAgent {
    /// Carries out calls and puts their results into the history. Gives the summary of an agent that says it is done.
    pub(super) async fn carry_out(
        &mut self,
        calls: &[ToolRequest],
    ) -> Result<Option<String>, WaitBroken> {
        let (calls, more) = calls.split_at(calls.len().min(MAX_CALLS_PER_ANSWER));
        let mut desk = ToolCalls::new(calls.len());
        let worked = self.work(calls, more, &mut desk).await;
        desk.stop_all().await;
        let (stages, summary) = desk.finish();
        let results = calls
            .iter()
            .zip(stages)
            .map(|(call, stage)| match stage {
                CallStage::Done(result) => result,
                CallStage::Undecided
                | CallStage::Asked(_)
                | CallStage::Ready(_)
                | CallStage::Running(_) => result(call, CANCELLED.to_owned(), Failed::Yes),
            })
            .chain(more.iter().map(|call| result(call, too_many(), Failed::Yes)))
            .collect();
        self.history.push(HistoryEntry::Results { results }).map_err(WaitBroken::Failed)?;
        worked?;
        Ok(summary)
    }

    async fn work(
        &mut self,
        calls: &[ToolRequest],
        more: &[ToolRequest],
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        for (at, call) in calls.iter().enumerate() {
            self.propose(at, call, desk).await?;
        }
        for call in more {
            self.update(proposed(call, call.input.object())).await?;
            self.tell_failure(call, too_many()).await?;
        }
        while !desk.is_done() {
            self.start_what_may(calls, desk);
            self.hear(calls, desk).await?;
        }
        Ok(())
    }

    /// Tells of a call and asks whether it may be made. One that cannot be made fails at once, and the model is told why.
    async fn propose(
        &mut self,
        at: usize,
        call: &ToolRequest,
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        let tool = self.tool(&call.name).cloned();
        let input = call.input.object();
        let subject = tool.as_ref().and_then(|tool| tool.subject_of(&input)).map(str::to_owned);
        let edits = self.tools.edits(&call.name, &input);
        let proposed = ToolUpdate {
            kind: tool.as_ref().map(|tool| tool.kind),
            subject: subject.clone(),
            edits,
            ..proposed(call, input.clone())
        };
        self.update(proposed).await?;
        let wrong = match (&tool, &call.input) {
            (_, CallArguments::Broken { why, .. }) => Some(format!(
                "the arguments could not be read: {why}; send one JSON object as the tool's schema says"
            )),
            (None, CallArguments::Json(_)) => Some(self.unknown(&call.name)),
            (Some(_), CallArguments::Json(_)) => None,
        };
        if let Some(why) = wrong {
            return self.fail(at, call, why, desk).await;
        }
        let Some(tool) = tool else { return Ok(()) };
        let request = PermissionRequest {
            id: permission_id(at, call),
            tool: call.name.clone(),
            kind: tool.kind,
            subject,
            input,
            shortened: false,
        };
        self.outbox.send(vec![Signal::Permission(request)], None).await
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.offered.iter().map(|tool| tool.name.as_ref()).collect();
        let shown: String = name.chars().take(64).collect();
        format!("there is no tool `{}`; call one of: {}", shown.escape_debug(), names.join(", "))
    }

    async fn fail(
        &mut self,
        at: usize,
        call: &ToolRequest,
        why: String,
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        desk.set(at, CallStage::Done(result(call, why.clone(), Failed::Yes)));
        self.tell_failure(call, why).await
    }

    async fn tell_failure(&self, call: &ToolRequest, why: String) -> Result<(), WaitBroken> {
        let update = ToolUpdate {
            output: Some(ToolOutput { text: why, ..ToolOutput::default() }),
            by: Executor::Host,
            ..ToolUpdate::phase(call_id(&call.id), ToolPhase::Failed)
        };
        self.update(update).await
    }

    pub(super) async fn update(&self, update: ToolUpdate) -> Result<(), WaitBroken> {
        self.outbox.event(EventKind::Tool(Box::new(update))).await
    }
}

/// Whether the model is told that a call did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failed {
    Yes,
    No,
}

fn too_many() -> String {
    format!(
        "there were more than {MAX_CALLS_PER_ANSWER} calls in one answer; make this one again later"
    )
}

fn proposed(call: &ToolRequest, input: Json) -> ToolUpdate {
    ToolUpdate {
        name: Some(call.name.clone()),
        input: Some(input),
        by: Executor::Host,
        ..ToolUpdate::phase(call_id(&call.id), ToolPhase::Proposed)
    }
}

fn result(call: &ToolRequest, mut text: String, failed: Failed) -> CallResult {
    if text.len() > MAX_RESULT_BYTES {
        let head = text.floor_char_boundary(MAX_RESULT_BYTES / 2);
        let tail = text.ceil_char_boundary(text.len() - MAX_RESULT_BYTES / 2);
        let left_out = tail - head;
        text = format!("{}\n[{left_out} bytes were left out]\n{}", &text[..head], &text[tail..]);
    }
    CallResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text,
        failed: failed == Failed::Yes,
        minted: call.minted,
    }
}

/// The id under which permission is asked for a call. Ids come from outside and may not be told apart.
fn permission_id(at: usize, call: &ToolRequest) -> String {
    format!("{at}:{}", call.id)
}
