//! What waits for a person: approvals and questions, and the answers to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{AskDigest, CallId, Edit, RawRef, Rule, ToolKind};

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    /// Yes or no on one named act.
    Approval(Box<Approval>),
    /// One or more questions, answered by choice or in free text.
    Question { questions: Vec<Question> },
    /// Yes or no on a plan before the work begins.
    Plan { plan: String },
    /// A tool server wants something filled in.
    Form {
        server: String,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Json>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
}

/// One act that an agent wants to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub tool: String,
    pub tool_kind: ToolKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The field of the input that the subject is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_field: Option<String>,
    pub input: Json,
    /// What the act would change in files, in order; empty when it changes none, or nobody can tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// Why the agent's own rules ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What "always" would grant, in the agent's own words; empty when it cannot be granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<GrantOffer>,
    /// Only a person may say yes: no rule and no default can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub human_only: bool,
    /// What the agent wants to do was too long to be told whole; all of it stands there in its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<RawRef>,
    /// The agent takes yes or no and nothing else: what it would do cannot be changed by the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_is: bool,
}

/// A lasting grant that the agent offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrantOffer {
    pub label: String,
    /// Where the agent would keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// One question of a [`Ask::Question`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<QuestionOption>,
    /// Several options may be chosen.
    #[serde(default)]
    pub multi: bool,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionOption {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What a person, a rule or a default said to an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Answer {
    /// Go on; the fields of `input` replace those of what the agent wanted to do, and the rest stays.
    Allow {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Json>,
    },
    /// Go on, and do not ask for the like again.
    AllowAlways {
        /// What is granted from now on; without it, the agent's own offer is taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Rule>,
        /// For whom the rule holds. A build that does not know this takes it for the agent's.
        #[serde(default, rename = "for", skip_serializing_if = "GrantFor::is_agent")]
        holds_for: GrantFor,
    },
    /// Do not; the agent is told why, and may go on with something else.
    Deny { reason: String },
    /// Do not, and end the turn.
    DenyAndInterrupt { reason: String },
    /// The answers, in the order of the questions.
    Replies { replies: Vec<QuestionReply> },
    /// The filled-in form.
    Form { content: BTreeMap<String, Json> },
}

/// For whom a rule holds that a person grants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantFor {
    /// This run; nothing is saved.
    Run,
    /// All runs of the agent from now on.
    #[default]
    Agent,
    /// All runs of every agent of the project from now on.
    Project,
}

impl GrantFor {
    fn is_agent(&self) -> bool {
        *self == Self::Agent
    }

    /// Whether it outlives the run, so that it has to be saved.
    pub fn is_saved(self) -> bool {
        match self {
            Self::Run => false,
            Self::Agent | Self::Project => true,
        }
    }
}

impl Answer {
    /// Grants this rule to the agent, or takes the agent's own offer.
    pub fn always(rule: Option<Rule>) -> Self {
        Self::AllowAlways { rule, holds_for: GrantFor::Agent }
    }

    /// Whether a rule of it has to be saved before the run may have the answer.
    pub fn saves_a_rule(&self) -> bool {
        matches!(self, Self::AllowAlways { rule: Some(_), holds_for } if holds_for.is_saved())
    }
}

/// The answer to one question: labels chosen, or words of one's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QuestionReply {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl QuestionReply {
    /// The reply as one text: the chosen labels, then the free text, separated by commas.
    pub fn joined(&self) -> String {
        let mut parts: Vec<&str> = self.chosen.iter().map(String::as_str).collect();
        parts.extend(self.text.as_deref());
        parts.join(", ")
    }
}

/// Yes or no, where nothing more is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskDecision {
    Allow,
    #[default]
    Deny,
}

/// Who closed an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosedBy {
    /// A person, or the program that drives the session.
    Person,
    /// A tool rule.
    Rule,
    /// The deadline's default.
    Deadline,
    /// Nobody is there to answer.
    Unattended,
    /// The agent took it back.
    Agent,
    /// The turn ended first.
    TurnEnd,
    /// The process ended first.
    ProcessEnd,
}

/// What was on the screen when an ask was answered, and what the ask says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownAsk {
    /// The digest that came with the answer.
    pub shown: Option<AskDigest>,
    /// The digest of the ask as its run's log has it; absent when nobody could find it.
    pub logged: Option<AskDigest>,
}

impl ShownAsk {
    /// Whether the person has seen this very ask.
    pub fn is_this(&self) -> bool {
        self.shown.is_some() && self.shown == self.logged
    }
}

/// Who sent an answer, as its door knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "door", rename_all = "snake_case")]
pub enum Sender {
    /// Somebody who showed the token of the state directory, as the command line does.
    CommandLine,
    /// A browser or a program that has a token of its own.
    Token { token: String },
    /// An assistant, through its tools.
    Assistant {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
}

/// What the agent wanted to do, with the fields that a person changed.
pub fn merged(wanted: &Json, changes: Option<&Json>) -> Json {
    let mut merged = wanted.clone();
    match (merged.as_object_mut(), changes.and_then(Json::as_object)) {
        (Some(fields), Some(changes)) => {
            fields.extend(changes.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        _ => {
            if let Some(changes) = changes {
                merged.clone_from(changes);
            }
        }
    }
    merged
}

impl Ask {
    /// Whether `answer` is of a kind that can answer this ask; the error says what would.
    pub fn accepts(&self, answer: &Answer) -> Result<(), &'static str> {
        match (self, answer) {
            (_, Answer::Deny { .. } | Answer::DenyAndInterrupt { .. }) => Ok(()),
            (Self::Approval(_) | Self::Plan { .. }, Answer::Allow { .. }) => Ok(()),
            (Self::Approval(a), Answer::AllowAlways { rule: Some(_), .. }) => {
                if a.human_only {
                    Err("only a person may say yes to this, each time; allow it once instead")
                } else {
                    Ok(())
                }
            }
            (Self::Approval(a), Answer::AllowAlways { rule: None, holds_for }) => {
                if a.always.is_empty() {
                    Err("this approval offers no lasting grant; allow it once instead")
                } else if *holds_for == GrantFor::Project {
                    Err(
                        "without a rule, the agent's own offer is taken, which holds for its session",
                    )
                } else {
                    Ok(())
                }
            }
            (Self::Question { questions }, Answer::Replies { replies }) => {
                if replies.len() == questions.len() {
                    Ok(())
                } else {
                    Err("give one reply for each question, in their order")
                }
            }
            (Self::Form { .. }, Answer::Form { .. }) => Ok(()),
            (Self::Question { .. }, _) => Err("a question takes replies or a denial"),
            (Self::Form { .. }, _) => Err("a form takes its content or a denial"),
            (Self::Plan { .. } | Self::Approval(_), _) => Err("an approval takes allow or deny"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_refuses_an_answer_of_the_wrong_kind() {
        let question = Ask::Question {
            questions: vec![Question {
                text: "Which?".into(),
                header: None,
                options: vec![],
                multi: false,
            }],
        };
        assert!(question.accepts(&Answer::Allow { input: None }).is_err());
        assert!(question.accepts(&Answer::Replies { replies: vec![] }).is_err());
        assert!(
            question.accepts(&Answer::Replies { replies: vec![QuestionReply::default()] }).is_ok()
        );
        assert!(question.accepts(&Answer::Deny { reason: "no".into() }).is_ok());
    }

    #[test]
    fn a_reply_joins_labels_and_free_text_with_commas() {
        let reply = QuestionReply {
            chosen: vec!["Red".into(), "Blue".into()],
            text: Some("or green".into()),
        };
        assert_eq!(reply.joined(), "Red, Blue, or green");
    }
}
