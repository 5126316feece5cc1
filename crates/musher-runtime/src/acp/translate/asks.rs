//! What an agent asks a person: leave to use a tool, and forms; and how it wants them answered.

use musher_core::{Answer, Approval, Ask, AskId, CallId, EventKind, EventScope, GrantOffer, Level};
use serde_json::{Value as Json, json};

use super::super::frame::{FormFrame, PermissionFrame, PermissionOption};
use super::tools::OpenTool;
use super::{AcpTranslator, AgentFrame, RpcParams, Signal, Translation};

/// The option that lasts.
const ALLOW_ALWAYS: &str = "allow_always";

/// In which shape the answer is expected.
#[derive(Debug)]
pub(super) enum AcpShape {
    /// One of these options, for a call.
    Options {
        call: String,
        options: Vec<PermissionOption>,
    },
    Form,
}

impl AcpShape {
    /// The result that gives the request up.
    pub(super) fn cancelled(&self) -> Json {
        match self {
            Self::Options { .. } => cancelled(),
            Self::Form => json!({ "action": "cancel" }),
        }
    }
}

impl AcpTranslator {
    /// For some agents this is the first that is told of a tool.
    pub(super) fn permission(
        &mut self,
        frame: &mut AgentFrame<'_>,
        params: &RpcParams<'_>,
    ) -> Option<(Ask, AcpShape)> {
        let PermissionFrame { tool_call, options } = params.read()?;
        let (call, title) = (tool_call.tool_call_id.clone(), tool_call.title.clone());
        let tool = self.tool(frame, EventScope::Main, tool_call);
        let approval = approval(frame, &call, tool, title.as_deref(), &options);
        Some((Ask::Approval(Box::new(approval)), AcpShape::Options { call, options }))
    }

    pub(super) fn form(&self, params: &RpcParams<'_>) -> Option<(Ask, AcpShape)> {
        let FormFrame { message, requested_schema: schema, url } = params.read()?;
        let server = self.preset.name.clone();
        Some((Ask::Form { server, message, schema, url }, AcpShape::Form))
    }

    /// The line that answers an ask; nothing if the program has taken it back.
    pub(super) fn answer(&mut self, ask: &AskId, answer: Answer) -> Translation {
        let mut step = Translation::default();
        let Some((id, shape)) = self.asks.take(ask) else { return step };
        let interrupts = matches!(answer, Answer::DenyAndInterrupt { .. });
        let result = match shape {
            AcpShape::Form => form(answer),
            AcpShape::Options { call, options } => {
                let chosen = choose(&options, &answer);
                if let Answer::Deny { reason } | Answer::DenyAndInterrupt { reason } = &answer {
                    self.tool_denied(&call, reason);
                } else if chosen.is_none() {
                    let text = "the agent offers no way to allow this once, so it was denied";
                    self.tool_denied(&call, text);
                    let code = Some("no_such_option".to_owned());
                    let notice =
                        EventKind::Notice { level: Level::Warning, code, text: text.to_owned() };
                    step.signals.push(Signal::event(notice));
                }
                chosen.map_or_else(cancelled, selected)
            }
        };
        step.replies.extend(self.peer.answer(&id, result));
        if interrupts {
            let Translation { replies, signals, .. } = self.cancel();
            step.replies.extend(replies);
            step.signals.extend(signals);
        }
        step
    }
}

fn approval(
    frame: &AgentFrame<'_>,
    call: &str,
    tool: OpenTool,
    title: Option<&str>,
    options: &[PermissionOption],
) -> Approval {
    let lasting = options.iter().filter(|option| option.kind == ALLOW_ALWAYS);
    let offer = |option: &PermissionOption| GrantOffer { label: option.name.clone(), scope: None };
    Approval {
        tool: tool.name,
        tool_kind: tool.kind,
        call: Some(CallId::new(call)),
        subject: tool.subject,
        subject_field: None,
        input: tool.input.unwrap_or_else(|| json!({ "title": title })),
        edits: tool.edits,
        reason: None,
        // One word for always is all that an answer can carry.
        always: lasting.take(1).map(offer).collect(),
        human_only: false,
        shortened: Some(frame.raw).filter(|raw| raw.shortened),
        as_is: true,
    }
}

/// The option that says what was answered; nothing if there is none that says no more than that.
fn choose<'a>(options: &'a [PermissionOption], answer: &Answer) -> Option<&'a str> {
    let wanted: &[&str] = match answer {
        Answer::Allow { .. } | Answer::AllowAlways { rule: Some(_), .. } => &["allow_once"],
        Answer::AllowAlways { rule: None, .. } => &[ALLOW_ALWAYS],
        Answer::Deny { .. }
        | Answer::DenyAndInterrupt { .. }
        | Answer::Replies { .. }
        | Answer::Form { .. } => &["reject_once", "reject_always"],
    };
    let of_kind = |kind: &&str| options.iter().find(|option| option.kind == **kind);
    wanted.iter().find_map(of_kind).map(|option| option.option_id.as_str())
}

fn selected(option: &str) -> Json {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

fn cancelled() -> Json {
    json!({ "outcome": { "outcome": "cancelled" } })
}

fn form(answer: Answer) -> Json {
    match answer {
        Answer::Form { content } => json!({ "action": "accept", "content": content }),
        Answer::Allow { .. } | Answer::AllowAlways { .. } => json!({ "action": "accept" }),
        Answer::Deny { .. } | Answer::Replies { .. } => json!({ "action": "decline" }),
        Answer::DenyAndInterrupt { .. } => json!({ "action": "cancel" }),
    }
}
