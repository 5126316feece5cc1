//! Requests that go both ways: approvals, questions, plans, permissions, and the answers to our own requests.

use musher_core::{
    Approval, Ask, AskId, CallId, ErrorClass, ErrorInfo, EventKind, EventScope, GrantOffer,
    HintCode, Level, ModelChange, Question, QuestionOption, SessionInfo, ToolKind, is_cut,
};
use serde_json::{Value as Json, json};

use super::super::control::{ControlSubject, PermissionHook};
use super::super::frame::{
    CanUseTool, ControlRequest, ControlResponse, Elicitation, HookCallback, Initialized,
};
use super::super::{project, tools};
use super::{AgentFailure, AgentFrame, Translator, scope};
use crate::json;
use crate::peer::Id;
use crate::session::{PermissionRequest, Signal};

/// What must be kept of an ask to answer it.
#[derive(Debug)]
pub(super) struct KeptAsk {
    /// What the agent wants to do, as it must be said back to it. It is absent when it was too long to be kept; then the
    /// agent does what it wanted without being told again.
    pub(super) input: Option<Json>,
    pub(super) suggestions: Vec<Json>,
    pub(super) shape: Shape,
}

/// In which shape the answer is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Permission,
    /// The questions, in their order.
    Questions(Vec<String>),
    Form,
}

impl Translator {
    pub(super) fn control_request(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let ControlRequest { request_id, request } = frame.read()?;
        let name = name_of(&request_id);
        let id = self.peer.opened(request_id);
        let subtype = json::text_in(request.as_raw_str(), "subtype");
        match subtype.as_deref() {
            Some("can_use_tool") => match json::read_piece(&request) {
                Some(wanted) => self.can_use_tool(frame, AskId::new(name), id, wanted),
                None => return self.not_understood(frame, &id),
            },
            Some("hook_callback") => {
                let Some(HookCallback { callback_id, input }) = json::read_piece(&request) else {
                    return self.not_understood(frame, &id);
                };
                if callback_id == project::HELD {
                    let held = self.peer.answer(&id, project::held(&input.source));
                    frame.reply(held);
                    return None;
                }
                let kind = tools::kind(&input.tool_name);
                frame.signal(Signal::Permission(PermissionRequest {
                    id: name.clone(),
                    tool: input.tool_name,
                    kind,
                    subject: tools::subject(kind, &input.tool_input).text,
                    input: input.tool_input,
                    shortened: frame.raw.shortened,
                }));
                self.permissions.insert(name, id);
            }
            Some("elicitation") => match json::read_piece(&request) {
                Some(wanted) => self.elicitation(frame, AskId::new(name), id, wanted),
                None => return self.not_understood(frame, &id),
            },
            other => {
                // A request without a reply would block the agent forever.
                let message = format!("Musher does not know `{}`", other.unwrap_or_default());
                let refusal = self.peer.refuse(&id, &message);
                frame.reply(refusal);
                return None;
            }
        }
        Some(())
    }

    /// What cannot be read is refused; the agent would wait for ever.
    fn not_understood(&mut self, frame: &mut AgentFrame<'_>, id: &Id) -> Option<()> {
        let refusal = self.peer.refuse(id, "Musher does not understand this request");
        frame.reply(refusal);
        None
    }

    fn can_use_tool(
        &mut self,
        frame: &mut AgentFrame<'_>,
        ask: AskId,
        id: Id,
        mut wanted: CanUseTool,
    ) {
        let kind = tools::kind(&wanted.tool_name);
        let shortened = Some(frame.raw).filter(|raw| raw.shortened);
        if shortened.is_some() {
            // A grant of which a part is missing would be another grant.
            wanted.permission_suggestions.retain(|suggestion| !holds_cut(suggestion));
        }
        let call = wanted.tool_use_id.map(CallId::new);
        let owner = scope(None, wanted.agent_id.as_deref(), None);
        let (body, shape) = match (kind, questions(&wanted.input)) {
            (ToolKind::Question, Some(_)) if shortened.is_some() => {
                return self.too_long_a_question(frame, &id);
            }
            (ToolKind::Question, Some(questions)) => {
                let texts = questions.iter().map(|question| question.text.clone()).collect();
                (Ask::Question { questions }, Shape::Questions(texts))
            }
            (ToolKind::Plan, _) if wanted.requires_user_interaction => {
                let known = call.as_ref().and_then(|call| self.plans.get(call)).cloned();
                let plan = known.or_else(|| wanted.input["plan"].as_str().map(str::to_owned));
                (Ask::Plan { plan: plan.unwrap_or_default() }, Shape::Permission)
            }
            _ => {
                let subject = tools::subject(kind, &wanted.input);
                let approval = Approval {
                    edits: tools::edits(&wanted.tool_name, &wanted.input),
                    tool: wanted.tool_name,
                    tool_kind: kind,
                    call,
                    subject: subject.text,
                    subject_field: subject.field,
                    input: wanted.input.clone(),
                    reason: wanted.decision_reason.or(wanted.description),
                    always: wanted.permission_suggestions.iter().filter_map(choice).collect(),
                    human_only: wanted.requires_user_interaction,
                    shortened,
                    as_is: false,
                };
                (Ask::Approval(Box::new(approval)), Shape::Permission)
            }
        };
        let suggestions = wanted.permission_suggestions;
        let input = Some(wanted.input).filter(|_| shortened.is_none());
        let kept = KeptAsk { input, suggestions, shape };
        self.asks.open(frame, owner, (ask, id), (body, kept));
    }

    /// The answer to a question names it in full, which nobody could who has seen a part of it. The agent is told so, and
    /// can ask again.
    fn too_long_a_question(&mut self, frame: &mut AgentFrame<'_>, id: &Id) {
        let bytes = frame.raw.len;
        let message = format!(
            "A question of {bytes} bytes cannot be put to a person. Ask again in fewer words."
        );
        let denial = json!({ "behavior": "deny", "message": message });
        let line = self.peer.answer(id, denial);
        frame.reply(line);
        frame.event(EventKind::Notice {
            level: Level::Warning,
            code: Some("question_too_long".into()),
            text: format!(
                "a question of {bytes} bytes was denied; the agent was asked to be brief"
            ),
        });
    }

    fn elicitation(&mut self, frame: &mut AgentFrame<'_>, ask: AskId, id: Id, wanted: Elicitation) {
        let body = Ask::Form {
            server: wanted.mcp_server_name.unwrap_or_default(),
            message: wanted.message.unwrap_or_default(),
            schema: wanted.requested_schema,
            url: wanted.url,
        };
        let kept = KeptAsk { input: None, suggestions: Vec::new(), shape: Shape::Form };
        self.asks.open(frame, EventScope::Main, (ask, id), (body, kept));
    }

    pub(super) fn control_cancelled(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let cancelled: Json = frame.read()?;
        let name = name_of(cancelled.get("request_id")?);
        self.permissions.remove(&name);
        self.asks.withdraw(frame, &mut self.peer, AskId::new(name));
        Some(())
    }

    /// An answer to a request of ours, or the echo of an answer of ours.
    pub(super) fn control_response(&mut self, frame: &mut AgentFrame<'_>) -> Option<()> {
        let ControlResponse { response } = frame.read()?;
        let Some(asked) = self.peer.answered(&response.request_id) else {
            frame.signal(Signal::Alive);
            return Some(());
        };
        let refused = (&*response.subtype == "error").then(|| response.error.unwrap_or_default());
        match (asked, refused) {
            (ControlSubject::Initialize { hook }, refused) => {
                let answer: Option<Initialized> =
                    response.response.as_ref().and_then(json::read_piece);
                let applied = answer.is_some_and(|answer| answer.hooks_applied);
                let unasked = hook.filter(|_| !(refused.is_none() && applied));
                if unasked == Some(PermissionHook::Wished) {
                    let text = "the agent does not let its tools be held back, so it may edit files that its program would run; that is noticed before the next prompt";
                    let code = Some("tools_not_held_back".into());
                    frame.event(EventKind::Notice {
                        level: Level::Warning,
                        code,
                        text: text.into(),
                    });
                }
                if unasked == Some(PermissionHook::Needed) {
                    // Without its hook the agent would do what the rules forbid.
                    let message = "the agent does not let its tools be held back, so the rules cannot be kept";
                    let error =
                        ErrorInfo::new(ErrorClass::Policy, message).hinting(HintCode::DropRules);
                    frame.event(EventKind::Error { error: error.clone() });
                    self.failure = Some(AgentFailure::fatal(error));
                    return Some(());
                }
                self.ready = true;
                frame.step.replies.append(&mut self.held);
                match refused {
                    None => frame.signal(Signal::Alive),
                    Some(why) => warn(frame, "initialize", &why),
                }
            }
            (ControlSubject::SetModel(model), None) => {
                let from = self.model.replace(model.clone());
                let why = ModelChange::Person;
                frame.event(EventKind::ModelChanged { from, to: model, why });
            }
            (ControlSubject::SetMode(mode), None) => {
                frame.event(EventKind::SessionInfo(Box::new(SessionInfo {
                    permission_mode: Some(mode),
                    ..SessionInfo::default()
                })));
            }
            (ControlSubject::Interrupt, None) => frame.signal(Signal::Alive),
            (ControlSubject::Interrupt, Some(why)) => warn(frame, "interrupt", &why),
            (ControlSubject::SetModel(_), Some(why)) => warn(frame, "set_model", &why),
            (ControlSubject::SetMode(_), Some(why)) => warn(frame, "set_mode", &why),
        }
        Some(())
    }
}

/// A request's id as a name; `0` and `"0"` are two.
fn name_of(id: &Json) -> String {
    id.as_str().map_or_else(|| format!("#{id}"), str::to_owned)
}

fn warn(frame: &mut AgentFrame<'_>, what: &str, why: &str) {
    frame.event(EventKind::Notice {
        level: Level::Warning,
        code: Some(format!("{what}_refused")),
        text: format!("the agent refused `{what}`: {why}"),
    });
}

fn questions(input: &Json) -> Option<Vec<Question>> {
    let questions = input["questions"].as_array()?;
    let text = |value: &Json, key: &str| value[key].as_str().map(str::to_owned);
    let option = |value: &Json| {
        Some(QuestionOption {
            label: text(value, "label")?,
            description: text(value, "description"),
        })
    };
    let question = |value: &Json| {
        Some(Question {
            text: text(value, "question")?,
            header: text(value, "header"),
            options: value["options"].as_array().into_iter().flatten().filter_map(option).collect(),
            multi: value["multiSelect"].as_bool().unwrap_or(false),
        })
    };
    questions.iter().map(question).collect()
}

/// Whether a text in it was cut.
fn holds_cut(value: &Json) -> bool {
    match value {
        Json::String(text) => is_cut(text),
        Json::Array(items) => items.iter().any(holds_cut),
        Json::Object(fields) => fields.iter().any(|(name, item)| is_cut(name) || holds_cut(item)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// A lasting grant in words.
fn choice(suggestion: &Json) -> Option<GrantOffer> {
    let label = match suggestion["type"].as_str()? {
        "addRules" => {
            let rules: Vec<String> = suggestion["rules"]
                .as_array()?
                .iter()
                .filter_map(|rule| {
                    let tool = rule["toolName"].as_str()?;
                    Some(match rule["ruleContent"].as_str() {
                        Some(content) => format!("{tool}({content})"),
                        None => tool.to_owned(),
                    })
                })
                .collect();
            rules.join(", ")
        }
        "setMode" => format!("permission mode {}", suggestion["mode"].as_str()?),
        "addDirectories" => {
            let folders: Vec<&str> =
                suggestion["directories"].as_array()?.iter().filter_map(Json::as_str).collect();
            format!("folder {}", folders.join(", "))
        }
        other => other.to_owned(),
    };
    Some(GrantOffer { label, scope: Some("session".into()) })
}

/// The lasting grants, kept for this session only: the agent would otherwise write them into the work tree.
pub(super) fn for_this_session(suggestions: &[Json]) -> Json {
    suggestions
        .iter()
        .filter(|suggestion| suggestion.is_object())
        .map(|suggestion| {
            let mut grant = suggestion.clone();
            grant["destination"] = json!("session");
            grant
        })
        .collect()
}
