//! Tools that need a word from the other side: the hook, the permission, the question.

use std::io;

use serde_json::{Value as Json, json};

use crate::agent::{Agent, News};
use crate::turn::{Cut, Turn};
use crate::wire::{Call, Flow};

/// Whether a tool is asked about when the hook has no opinion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Needed,
    Implied,
    /// Only a person can give it, whatever the hook says.
    Personal,
}

/// A call that may be made.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) call: Call,
    /// The answer that allowed it, if it was asked about.
    pub(crate) answer: Option<Answered>,
}

/// An answer that took effect.
#[derive(Debug)]
pub(crate) struct Answered {
    request: String,
    input: Json,
}

/// Why a call is not made.
enum Refusal {
    Hook(String),
    Person {
        request: String,
        reason: String,
        interrupt: bool,
    },
    /// The request failed, or the input ended while it was open.
    NoAnswer(String),
}

/// What the hook says to a call.
enum Verdict {
    Allow,
    Ask,
    NoOpinion,
}

const REJECTED: &str =
    "The user doesn't want to proceed with this tool use. The tool use was rejected.";

impl Agent {
    /// Proposes a call and gets leave for it; nothing if it was refused, which is then already told.
    pub(crate) fn use_tool(
        &mut self,
        turn: &mut Turn,
        tool: &'static str,
        input: Json,
        consent: Consent,
    ) -> Result<Option<Granted>, Cut> {
        let call = Call { id: self.wire.mint.id("toolu"), tool, input };
        self.propose(turn, &call)?;
        match self.leave_for(&call, consent)? {
            Ok(answer) => Ok(Some(Granted { call, answer })),
            Err(refusal) => {
                let denial = json!({
                    "tool_name": call.tool, "tool_use_id": call.id, "tool_input": call.input,
                });
                turn.denials.push(denial);
                self.refused(turn, &call, refusal)?;
                Ok(None)
            }
        }
    }

    fn leave_for(
        &mut self,
        call: &Call,
        consent: Consent,
    ) -> Result<Result<Option<Answered>, Refusal>, Cut> {
        let verdict = match self.hook.clone() {
            None => Verdict::NoOpinion,
            Some(hook) => match self.ask_hook(call, &hook)? {
                Ok(verdict) => verdict,
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        match (verdict, consent) {
            (Verdict::Allow, Consent::Needed | Consent::Implied)
            | (Verdict::NoOpinion, Consent::Implied) => Ok(Ok(None)),
            (Verdict::Allow | Verdict::NoOpinion, Consent::Personal)
            | (Verdict::NoOpinion, Consent::Needed)
            | (Verdict::Ask, _) => Ok(self.permission(call, consent)?.map(Some)),
        }
    }

    fn ask_hook(&mut self, call: &Call, hook: &str) -> Result<Result<Verdict, Refusal>, Cut> {
        let (_, body) = self.request(
            call,
            &json!({
                "subtype": "hook_callback",
                "callback_id": hook,
                "tool_use_id": call.id,
                "input": {
                    "session_id": self.wire.session,
                    "hook_event_name": "PreToolUse",
                    "tool_name": call.tool,
                    "tool_input": call.input,
                    "tool_use_id": call.id,
                },
            }),
        )?;
        let word = match body {
            Ok(body) => body["hookSpecificOutput"].clone(),
            Err(why) => return Ok(Err(Refusal::NoAnswer(why))),
        };
        Ok(match word["permissionDecision"].as_str() {
            Some("deny") => {
                let why = word["permissionDecisionReason"].as_str().unwrap_or_default();
                Err(Refusal::Hook(why.to_owned()))
            }
            Some("allow") => Ok(Verdict::Allow),
            Some("ask") => Ok(Verdict::Ask),
            Some(_) | None => Ok(Verdict::NoOpinion),
        })
    }

    fn permission(
        &mut self,
        call: &Call,
        consent: Consent,
    ) -> Result<Result<Answered, Refusal>, Cut> {
        self.wire.state("requires_action")?;
        let mut request = json!({
            "subtype": "can_use_tool",
            "tool_name": call.tool,
            "display_name": call.tool,
            "input": call.input,
            "tool_use_id": call.id,
        });
        if consent == Consent::Personal {
            request["requires_user_interaction"] = true.into();
        }
        let (request, body) = self.request(call, &request)?;
        self.wire.state("running")?;
        let body = match body {
            Ok(body) => body,
            Err(why) => return Ok(Err(Refusal::NoAnswer(why))),
        };
        if body["behavior"] == "allow" {
            self.home.append("effects", &format!("answer {request} allow"))?;
            return Ok(Ok(Answered { request, input: body["updatedInput"].clone() }));
        }
        self.home.append("effects", &format!("answer {request} deny"))?;
        let reason = body["message"].as_str().unwrap_or_default().to_owned();
        let interrupt = body["interrupt"].as_bool().unwrap_or(false);
        Ok(Err(Refusal::Person { request, reason, interrupt }))
    }

    /// Sends a request about a call and waits for its answer; gives the id of the request too.
    fn request(
        &mut self,
        call: &Call,
        request: &Json,
    ) -> Result<(String, Result<Json, String>), Cut> {
        let id = self.wire.mint.id("ask");
        let frame = json!({ "type": "control_request", "request_id": id, "request": request });
        self.wire.bare(&frame)?;
        loop {
            match self.listen(None)? {
                News::Handled | News::Quiet => {}
                News::Answer(answer) if answer.request == id => {
                    self.wire.replay(answer.frame)?;
                    return Ok((id, answer.body));
                }
                News::Answer(answer) => self.stray(&answer)?,
                News::End => {
                    let why = "AbortError: Tool permission stream closed before response received";
                    return Ok((id, Err(why.to_owned())));
                }
                News::Interrupt(interrupt) => {
                    let withdrawn = json!({ "type": "control_cancel_request", "request_id": id });
                    self.wire.bare(&withdrawn)?;
                    self.interrupted(&interrupt)?;
                    let cause = json!({ "non_execution_kind": "user-rejected" });
                    self.wire.tool_refused(call, REJECTED, &cause)?;
                    return Err(self.aborted_tools()?);
                }
            }
        }
    }

    fn refused(&mut self, turn: &mut Turn, call: &Call, refusal: Refusal) -> Result<(), Cut> {
        let cause = |source: &str| {
            json!({
                "non_execution_kind": "permission-rule",
                "permission_decision": { "decision": "reject", "source": source },
            })
        };
        match refusal {
            Refusal::Hook(why) => {
                let why = format!("PreToolUse:{} hook error: {why}", call.tool);
                self.wire.tool_refused(call, &why, &cause("hook"))?;
            }
            Refusal::NoAnswer(why) => {
                let why = format!("Tool permission request failed: {why}");
                self.wire.tool_refused(call, &why, &cause("config"))?;
            }
            Refusal::Person { request, reason, interrupt } => {
                self.wire.tool_refused(call, &reason, &cause("user_reject"))?;
                if interrupt {
                    return Err(self.aborted_tools()?);
                }
                self.say(turn, &format!("answer {request} deny"), Flow::Whole)?;
            }
        }
        Ok(())
    }

    fn aborted_tools(&mut self) -> io::Result<Cut> {
        self.wire.noted("[Request interrupted by user for tool use]")?;
        Ok(Cut::Aborted("aborted_tools"))
    }

    /// Says which answer allowed something; where a hook did, there is none.
    pub(crate) fn say_answer(
        &mut self,
        turn: &mut Turn,
        answer: Option<&Answered>,
    ) -> io::Result<()> {
        match answer {
            Some(answer) => {
                self.say(turn, &format!("answer {} allow", answer.request), Flow::Whole)
            }
            None => self.say(turn, "allowed by the hook", Flow::Whole),
        }
    }

    pub(crate) fn question(
        &mut self,
        turn: &mut Turn,
        text: &str,
        options: &[String],
    ) -> Result<(), Cut> {
        let label = |label: &str| json!({ "label": label, "description": label });
        let options = match options {
            [] => vec![label("Yes"), label("No")],
            options => options.iter().map(|option| label(option)).collect(),
        };
        let question = json!({
            "question": text, "header": "Question", "options": options, "multiSelect": false,
        });
        let input = json!({ "questions": [question] });
        let granted = self.use_tool(turn, "AskUserQuestion", input, Consent::Personal)?;
        if let Some(Granted { call, answer: Some(answer) }) = granted {
            let said = answer.input["answers"][text].as_str().unwrap_or_default();
            self.wire.tool_done(&call, &format!("The question was answered: {said}"))?;
            self.say(turn, &format!("answer {} allow: {said}", answer.request), Flow::Whole)?;
        }
        Ok(())
    }
}
