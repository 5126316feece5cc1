//! What Codex asks a person: approvals, questions and forms, and how it wants them answered.

use bytes::Bytes;
use musher_core::{
    Answer, Approval, Ask, AskId, CallId, GrantOffer, Question, QuestionOption, QuestionReply,
    ToolKind,
};
use serde_json::{Map, Value as Json, json};

use super::super::frame::{ApprovalRequest, ElicitationRequest, UserInputRequest, UserQuestion};
use super::items::command;
use super::{AgentFrame, CodexTranslator, RpcParams, edits};

/// In which shape the answer is expected.
#[derive(Debug)]
pub(super) enum CodexShape {
    /// A command or a change.
    Decision,
    /// The permissions that are wanted.
    Permissions(Json),
    /// The names of the questions, in their order.
    Questions(Vec<String>),
    /// A form of a tool server, or leave to use one of its tools.
    Form,
}

impl CodexTranslator {
    /// What a request wants of a person. Nothing if it is not known.
    pub(super) fn wanted(
        &self,
        frame: &AgentFrame<'_>,
        method: &str,
        params: &RpcParams<'_>,
    ) -> Option<(Ask, CodexShape)> {
        match method {
            "item/commandExecution/requestApproval" => Self::command(frame, params),
            "item/fileChange/requestApproval" => self.change(frame, params),
            "item/permissions/requestApproval" => Self::permissions(frame, params),
            "item/tool/requestUserInput" => Self::questions(params),
            "mcpServer/elicitation/request" => Self::elicitation(frame, params),
            _ => None,
        }
    }

    fn command(frame: &AgentFrame<'_>, params: &RpcParams<'_>) -> Option<(Ask, CodexShape)> {
        let wanted: ApprovalRequest = params.read()?;
        if let Some(network) = &wanted.network_approval_context {
            let host = network["host"].as_str().map(str::to_owned);
            let approval = Approval {
                subject: host,
                ..approval(frame, "network", ToolKind::Fetch, &wanted, network.clone())
            };
            return Some((Ask::Approval(Box::new(approval)), CodexShape::Decision));
        }
        let command = command(wanted.command.as_deref()?);
        let input = json!({ "command": command, "cwd": wanted.cwd });
        let approval = Approval {
            subject: Some(command),
            subject_field: Some("command".into()),
            always: offer("this command"),
            ..approval(frame, "shell", ToolKind::Execute, &wanted, input)
        };
        Some((Ask::Approval(Box::new(approval)), CodexShape::Decision))
    }

    fn change(&self, frame: &AgentFrame<'_>, params: &RpcParams<'_>) -> Option<(Ask, CodexShape)> {
        let wanted: ApprovalRequest = params.read()?;
        let changes =
            self.items.patches.get(&wanted.item_id).map(Vec::as_slice).unwrap_or_default();
        let paths = edits::paths(changes);
        let input = json!({ "files": paths });
        let approval = Approval {
            // Of several files each has a word in it; see the edits.
            subject: Some(paths.join(", ")).filter(|_| paths.len() == 1),
            edits: edits::edits(changes),
            always: offer("changes of these files"),
            ..approval(frame, "apply_patch", ToolKind::Edit, &wanted, input)
        };
        Some((Ask::Approval(Box::new(approval)), CodexShape::Decision))
    }

    fn permissions(frame: &AgentFrame<'_>, params: &RpcParams<'_>) -> Option<(Ask, CodexShape)> {
        let mut wanted: ApprovalRequest = params.read()?;
        let permissions = wanted.permissions.take()?;
        let approval = Approval {
            always: offer("these permissions"),
            ..approval(frame, "permissions", ToolKind::Other, &wanted, permissions.clone())
        };
        Some((Ask::Approval(Box::new(approval)), CodexShape::Permissions(permissions)))
    }

    fn questions(params: &RpcParams<'_>) -> Option<(Ask, CodexShape)> {
        let UserInputRequest { questions } = params.read()?;
        if questions.is_empty() {
            return None;
        }
        let names = questions.iter().map(|question| question.id.clone()).collect();
        let questions = questions.into_iter().map(question).collect();
        Some((Ask::Question { questions }, CodexShape::Questions(names)))
    }

    fn elicitation(frame: &AgentFrame<'_>, params: &RpcParams<'_>) -> Option<(Ask, CodexShape)> {
        let wanted: ElicitationRequest = params.read()?;
        let kind = wanted.meta.as_ref().and_then(|meta| meta["codex_approval_kind"].as_str());
        let message = wanted.message.unwrap_or_default();
        if kind == Some("mcp_tool_call") {
            let meta = wanted.meta.unwrap_or_default();
            let tool = meta["tool_name"].as_str().or(meta["tool"].as_str()).unwrap_or("tool");
            let name = format!("mcp__{}__{tool}", wanted.server_name);
            let request = ApprovalRequest { reason: Some(message), ..ApprovalRequest::default() };
            let input = meta.get("tool_params").cloned().unwrap_or(Json::Null);
            let approval = approval(frame, &name, ToolKind::Mcp, &request, input);
            return Some((Ask::Approval(Box::new(approval)), CodexShape::Form));
        }
        let (server, schema, url) = (wanted.server_name, wanted.requested_schema, wanted.url);
        Some((Ask::Form { server, message, schema, url }, CodexShape::Form))
    }

    /// The line that answers an ask; nothing if the program has taken it back.
    pub(super) fn answer(&mut self, ask: &AskId, answer: Answer) -> Option<Bytes> {
        let (id, shape) = self.asks.take(ask)?;
        let result = match shape {
            CodexShape::Decision => json!({ "decision": decision(&answer) }),
            CodexShape::Permissions(wanted) => permissions(&answer, &wanted),
            CodexShape::Questions(names) => json!({ "answers": answers(&names, answer) }),
            CodexShape::Form => form(answer),
        };
        self.peer.answer(&id, result)
    }
}

/// An approval, without what only some have.
fn approval(
    frame: &AgentFrame<'_>,
    tool: &str,
    tool_kind: ToolKind,
    wanted: &ApprovalRequest,
    input: Json,
) -> Approval {
    Approval {
        tool: tool.to_owned(),
        tool_kind,
        call: Some(&wanted.item_id).filter(|id| !id.is_empty()).map(CallId::new),
        subject: None,
        subject_field: None,
        input,
        edits: Vec::new(),
        reason: wanted.reason.clone(),
        always: Vec::new(),
        human_only: false,
        shortened: Some(frame.raw).filter(|raw| raw.shortened),
        as_is: true,
    }
}

fn offer(what: &str) -> Vec<GrantOffer> {
    vec![GrantOffer { label: what.to_owned(), scope: Some("session".into()) }]
}

fn decision(answer: &Answer) -> &'static str {
    match answer {
        Answer::Allow { .. } | Answer::AllowAlways { rule: Some(_), .. } => "accept",
        Answer::AllowAlways { rule: None, .. } => "acceptForSession",
        Answer::Deny { .. } | Answer::Replies { .. } | Answer::Form { .. } => "decline",
        Answer::DenyAndInterrupt { .. } => "cancel",
    }
}

fn permissions(answer: &Answer, wanted: &Json) -> Json {
    match answer {
        Answer::Allow { .. } | Answer::AllowAlways { rule: Some(_), .. } => {
            json!({ "permissions": wanted, "scope": "turn" })
        }
        Answer::AllowAlways { rule: None, .. } => {
            json!({ "permissions": wanted, "scope": "session" })
        }
        Answer::Deny { .. }
        | Answer::DenyAndInterrupt { .. }
        | Answer::Replies { .. }
        | Answer::Form { .. } => json!({ "permissions": {}, "scope": "turn" }),
    }
}

fn question(question: UserQuestion) -> Question {
    let option = |option: super::super::frame::UserOption| QuestionOption {
        label: option.label,
        description: option.description,
    };
    Question {
        text: question.question,
        header: question.header,
        options: question.options.into_iter().map(option).collect(),
        multi: false,
    }
}

/// The replies under the names of their questions; a denial answers none.
fn answers(names: &[String], answer: Answer) -> Json {
    let Answer::Replies { replies } = answer else { return json!({}) };
    let words = |reply: QuestionReply| {
        let mut words = reply.chosen;
        words.extend(reply.text);
        json!({ "answers": words })
    };
    let pairs = names.iter().cloned().zip(replies.into_iter().map(words));
    Json::Object(pairs.collect::<Map<_, _>>())
}

fn form(answer: Answer) -> Json {
    let (action, content) = match answer {
        Answer::Form { content } => ("accept", json!(content)),
        Answer::Allow { .. } | Answer::AllowAlways { .. } => ("accept", json!({})),
        Answer::Deny { .. } | Answer::Replies { .. } => ("decline", Json::Null),
        Answer::DenyAndInterrupt { .. } => ("cancel", Json::Null),
    };
    json!({ "action": action, "content": content, "_meta": null })
}
