//! Answers and verdicts, as Claude Code expects them.

use bytes::Bytes;
use musher_core::{Answer, AskId, QuestionReply, merged};
use serde_json::{Value as Json, json};

use super::Translator;
use super::control::{KeptAsk, Shape, for_this_session};
use crate::session::PermissionVerdict;

impl Translator {
    /// The line that answers an ask; nothing if the agent has taken it back.
    pub(super) fn answer(&mut self, ask: &AskId, answer: Answer) -> Option<Bytes> {
        let (id, kept) = self.asks.take(ask)?;
        let result = match kept.shape {
            Shape::Form => form(answer),
            Shape::Permission | Shape::Questions(_) => permission(&kept, answer),
        };
        self.peer.answer(&id, result)
    }

    /// The line that lets a tool call pass or not.
    pub(super) fn permission_verdict(
        &mut self,
        request: &str,
        verdict: &PermissionVerdict,
    ) -> Option<Bytes> {
        let id = self.permissions.remove(request)?;
        let decide = |decision: &str, reason: Option<&str>| {
            let mut output =
                json!({ "hookEventName": "PreToolUse", "permissionDecision": decision });
            if let Some(reason) = reason {
                output["permissionDecisionReason"] = reason.into();
            }
            json!({ "hookSpecificOutput": output })
        };
        let result = match verdict {
            PermissionVerdict::Allow => decide("allow", None),
            PermissionVerdict::Deny { reason } => decide("deny", Some(reason)),
            PermissionVerdict::Ask => decide("ask", None),
            PermissionVerdict::NoOpinion => json!({}),
        };
        self.peer.answer(&id, result)
    }
}

fn permission(open: &KeptAsk, answer: Answer) -> Json {
    match answer {
        Answer::Allow { input } => allowed(open, input.as_ref()),
        Answer::AllowAlways { .. } => {
            let mut allowed = allowed(open, None);
            allowed["updatedPermissions"] = for_this_session(&open.suggestions);
            allowed
        }
        Answer::Deny { reason } => json!({ "behavior": "deny", "message": reason }),
        Answer::DenyAndInterrupt { reason } => {
            json!({ "behavior": "deny", "message": reason, "interrupt": true })
        }
        Answer::Replies { replies } => {
            let answers = json!({ "answers": answers(&open.shape, &replies) });
            allowed(open, Some(&answers))
        }
        Answer::Form { .. } => json!({ "behavior": "deny", "message": "That was no answer." }),
    }
}

/// A yes. Older versions want the input back; where it is not at hand, the agent takes what it has asked about.
fn allowed(open: &KeptAsk, changes: Option<&Json>) -> Json {
    match &open.input {
        Some(wanted) => {
            json!({ "behavior": "allow", "updatedInput": merged(wanted, changes) })
        }
        None => json!({ "behavior": "allow" }),
    }
}

/// The answers under the full text of their questions.
fn answers(shape: &Shape, replies: &[QuestionReply]) -> Json {
    let Shape::Questions(questions) = shape else {
        return json!({});
    };
    let pairs = questions.iter().zip(replies);
    Json::Object(pairs.map(|(question, reply)| (question.clone(), reply.joined().into())).collect())
}

fn form(answer: Answer) -> Json {
    match answer {
        Answer::Form { content } => json!({ "action": "accept", "content": content }),
        Answer::Allow { .. }
        | Answer::AllowAlways { .. }
        | Answer::Replies { .. }
        | Answer::Deny { .. } => {
            json!({ "action": "decline" })
        }
        Answer::DenyAndInterrupt { .. } => json!({ "action": "cancel" }),
    }
}
