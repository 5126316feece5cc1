//! The tools of a script: files are written and commands are run for real, each with permission first.

use std::time::Duration;

use musher_core::{
    Answer, Approval, Ask, AskId, CallId, Channel, Delta, Edit, EventKind, EventScope, Executor,
    ToolKind, ToolOutput, ToolPhase, ToolUpdate, merged,
};
use serde_json::json;
use tokio::time::Instant;

use super::files;
use super::format::Tool;
use super::play::{Player, StepBroken};
use super::sessions::Keep;
use crate::process::{
    Confinement, Errors, Launch, LineBody, Process, ProcessorShare, Said, StdinMode, Weight,
};
use crate::session::{BackendOrder, FrameBatch, PermissionRequest, PermissionVerdict, Signal};

/// How much of a command's output is kept.
const KEPT: usize = 64 * 1024;

/// What a person said to an act.
pub(super) enum Approved {
    /// Yes, or yes to something else instead.
    Yes {
        instead: Option<serde_json::Value>,
    },
    No {
        reason: String,
    },
}

impl Player {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "one order is looked for; `until` takes the rest"
    )]
    pub(super) async fn tool(&mut self, tool: &Tool, ask_first: bool) -> Result<(), StepBroken> {
        // Rules and people judge what will really be done, so names are filled in before either sees it.
        let mut tool = tool.map(|text| self.fill(text));
        let call = CallId::new(format!("call-{}", self.mint()));
        let (name, kind, field, input) = describe(&tool);
        let subject = input[field].as_str().unwrap_or_default().to_owned();
        let proposed = ToolUpdate {
            name: Some(name.into()),
            kind: Some(kind),
            subject: Some(subject.clone()),
            input: Some(input.clone()),
            edits: edits(&tool),
            by: Executor::Agent,
            ..ToolUpdate::phase(call.clone(), ToolPhase::Proposed)
        };
        self.event(EventKind::Tool(Box::new(proposed))).await?;
        let request = PermissionRequest {
            id: call.as_str().to_owned(),
            tool: name.into(),
            kind,
            subject: Some(subject.clone()),
            input: input.clone(),
            shortened: false,
        };
        self.signal(Signal::Permission(request)).await?;
        let verdict = self
            .until(|order| match order {
                BackendOrder::Permission { verdict, .. } => Ok(verdict),
                other => Err(other),
            })
            .await?;
        let approved = match verdict {
            PermissionVerdict::Deny { reason } => Approved::No { reason },
            PermissionVerdict::Allow => Approved::Yes { instead: None },
            PermissionVerdict::NoOpinion if !ask_first => Approved::Yes { instead: None },
            PermissionVerdict::Ask | PermissionVerdict::NoOpinion => {
                self.approval(Approval {
                    tool: name.into(),
                    tool_kind: kind,
                    call: Some(call.clone()),
                    subject: Some(subject),
                    subject_field: Some(field.into()),
                    input,
                    edits: edits(&tool),
                    reason: None,
                    always: Vec::new(),
                    human_only: false,
                    shortened: None,
                    as_is: false,
                })
                .await?
            }
        };
        let denied = match approved {
            Approved::No { reason } => Some(reason),
            Approved::Yes { instead: None } => None,
            Approved::Yes { instead: Some(changes) } => {
                let (_, _, _, wanted) = describe(&tool);
                match edited(&tool, &merged(&wanted, Some(&changes))) {
                    Some(edited) => {
                        tool = edited;
                        None
                    }
                    None => Some("The edited input does not fit this tool.".to_owned()),
                }
            }
        };
        if let Some(reason) = denied {
            let update =
                ToolUpdate { reason: Some(reason), ..ToolUpdate::phase(call, ToolPhase::Denied) };
            return self.event(EventKind::Tool(Box::new(update))).await;
        }
        self.begin(Keep::ForGood)?;
        self.event(EventKind::Tool(Box::new(ToolUpdate::phase(call.clone(), ToolPhase::Running))))
            .await?;
        let began = Instant::now();
        let (phase, output) = match &tool {
            Tool::Write { path, content } => done(files::write(&self.cwd(), path, content)),
            Tool::Edit { path, old, new } => done(files::edit(&self.cwd(), path, old, new)),
            Tool::Run { command, timeout } => {
                self.command(&call, command.clone(), *timeout).await?
            }
        };
        let update = ToolUpdate {
            output: Some(output),
            elapsed_ms: u64::try_from(began.elapsed().as_millis()).ok(),
            ..ToolUpdate::phase(call, phase)
        };
        self.event(EventKind::Tool(Box::new(update))).await
    }

    /// Asks for approval.
    pub(super) async fn approval(&mut self, approval: Approval) -> Result<Approved, StepBroken> {
        match self.ask(Ask::Approval(Box::new(approval))).await? {
            Answer::Deny { reason } => Ok(Approved::No { reason }),
            Answer::DenyAndInterrupt { .. } => Err(StepBroken::Interrupted),
            Answer::Allow { input } => Ok(Approved::Yes { instead: input }),
            Answer::AllowAlways { .. } | Answer::Replies { .. } | Answer::Form { .. } => {
                Ok(Approved::Yes { instead: None })
            }
        }
    }

    /// Opens an ask and waits for its answer.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "one order is looked for; `until` takes the rest"
    )]
    pub(super) async fn ask(&mut self, body: Ask) -> Result<Answer, StepBroken> {
        let ask = AskId::new(format!("ask-{}", self.mint()));
        self.signal(Signal::AskOpened {
            ask: ask.clone(),
            body,
            scope: EventScope::Main,
            raw: None,
        })
        .await?;
        self.until(move |order| match order {
            BackendOrder::Answer { ask: answered, answer } if answered == ask => Ok(answer),
            other => Err(other),
        })
        .await
    }

    async fn command(
        &mut self,
        call: &CallId,
        command: String,
        timeout: Option<Duration>,
    ) -> Result<(ToolPhase, ToolOutput), StepBroken> {
        let launch = Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), command.into()],
            cwd: self.cwd(),
            env: self.env(),
            mark: self.mark(),
            containment: self.containment(),
            stdin: StdinMode::Null,
            stderr: Errors::WithOutput,
            weights: self.weights(),
            tap: None,
            confinement: self.sandbox().map(Confinement::of),
            share: ProcessorShare::default(),
        };
        let mut process = match Process::start(launch).await {
            Ok(process) => process,
            Err(error) => return Ok(done(Err(error.to_string()))),
        };
        let control = process.control();
        let deadline = timeout.map(|limit| Instant::now() + limit);
        let mut text = String::new();
        let mut broken = None;
        loop {
            let said = tokio::select! {
                said = process.next() => said,
                order = self.interruption(), if broken.is_none() => {
                    broken = Some(order);
                    control.kill().await;
                    continue;
                }
                () = until(deadline), if broken.is_none() => {
                    broken = Some(StepBroken::TimedOut);
                    control.kill().await;
                    continue;
                }
            };
            match said {
                Some(Said::Line(line, weight)) => {
                    let shown = match &line.body {
                        LineBody::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                        LineBody::Shortened(_) | LineBody::Cut { .. } => {
                            format!("[a line of {} bytes]", line.len)
                        }
                    };
                    keep_tail(&mut text, &shown);
                    // What is being ended is read to its end: only then is its tree known to be gone.
                    if broken.is_none()
                        && let Err(ending) = self.output(call, &shown, weight).await
                    {
                        broken = Some(ending);
                        control.kill().await;
                    }
                }
                Some(Said::Ended(exit)) => {
                    self.survivors(exit.survivors);
                    let phase = match (&broken, exit.code) {
                        (Some(StepBroken::TimedOut), _) => {
                            keep_tail(&mut text, "[stopped: it took too long]");
                            ToolPhase::Failed
                        }
                        (Some(_), _) => ToolPhase::Cancelled,
                        (None, Some(0)) => ToolPhase::Completed,
                        (None, _) => ToolPhase::Failed,
                    };
                    let output = ToolOutput { text, structured: None, exit_code: exit.code };
                    return match broken {
                        Some(StepBroken::TimedOut) | None => Ok((phase, output)),
                        Some(broken) => Err(broken),
                    };
                }
                None => return Err(StepBroken::Ending),
            }
        }
    }

    async fn output(
        &mut self,
        call: &CallId,
        line: &str,
        weight: Weight,
    ) -> Result<(), StepBroken> {
        let delta = Signal::Delta(Delta {
            item: call.as_str().into(),
            channel: Channel::ToolOutput,
            text: format!("{line}\n"),
            scope: EventScope::Main,
        });
        self.send(FrameBatch { weight: Some(weight), ..vec![delta].into() }).await
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The tool with what a person wrote instead, if it fits.
fn edited(tool: &Tool, input: &serde_json::Value) -> Option<Tool> {
    let text = |key: &str| input[key].as_str().map(str::to_owned);
    Some(match tool {
        Tool::Write { .. } => Tool::Write { path: text("path")?, content: text("content")? },
        Tool::Edit { .. } => {
            Tool::Edit { path: text("path")?, old: text("old")?, new: text("new")? }
        }
        Tool::Run { timeout, .. } => Tool::Run { command: text("command")?, timeout: *timeout },
    })
}

/// A tool's name and kind, the field that it is about, and its input.
fn describe(tool: &Tool) -> (&'static str, ToolKind, &'static str, serde_json::Value) {
    match tool {
        Tool::Write { path, content } => {
            ("write", ToolKind::Edit, "path", json!({ "path": path, "content": content }))
        }
        Tool::Edit { path, old, new } => {
            ("edit", ToolKind::Edit, "path", json!({ "path": path, "old": old, "new": new }))
        }
        Tool::Run { command, .. } => {
            ("run", ToolKind::Execute, "command", json!({ "command": command }))
        }
    }
}

/// What a tool changes in files.
fn edits(tool: &Tool) -> Vec<Edit> {
    match tool {
        Tool::Write { path, content } => {
            vec![Edit { path: path.clone(), old: None, new: content.clone(), all: false }]
        }
        Tool::Edit { path, old, new } => {
            let (path, old, new) = (path.clone(), Some(old.clone()), new.clone());
            vec![Edit { path, old, new, all: false }]
        }
        Tool::Run { .. } => Vec::new(),
    }
}

fn done(result: Result<String, String>) -> (ToolPhase, ToolOutput) {
    let (phase, text) = match result {
        Ok(text) => (ToolPhase::Completed, text),
        Err(text) => (ToolPhase::Failed, text),
    };
    (phase, ToolOutput { text, ..ToolOutput::default() })
}

fn keep_tail(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
    if text.len() > KEPT {
        let cut = text.ceil_char_boundary(text.len() - KEPT);
        text.drain(..cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_step_changes_in_files_is_told_in_neutral_words() {
        let (path, content) = ("a.txt".to_owned(), "x".to_owned());
        let write = Tool::Write { path: path.clone(), content: content.clone() };
        let whole = Edit { path: path.clone(), old: None, new: content, all: false };
        assert_eq!(edits(&write), [whole]);
        let edit = Tool::Edit { path: path.clone(), old: "x".into(), new: "y".into() };
        assert_eq!(
            edits(&edit),
            [Edit { path, old: Some("x".into()), new: "y".into(), all: false }]
        );
        assert_eq!(edits(&Tool::Run { command: "rm a.txt".into(), timeout: None }), []);
    }
}
