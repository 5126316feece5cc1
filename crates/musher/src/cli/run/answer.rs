//! Asks at the terminal: how they are put, and what a typed line means.

use musher_core::{Answer, Approval, Ask, Question, QuestionReply, ToolKind};
use serde_json::Value as Json;

use super::super::ask::{asked, described, indented, reply};
use super::super::text::one_line;

/// What a typed line means for an ask.
#[derive(Debug, PartialEq)]
pub(crate) enum Meaning {
    Answer(Answer),
    /// Another line is needed; this is what to ask for.
    Next(Dialog, String),
    /// Not understood; this is why.
    Again(String),
}

/// Where the conversation about an ask stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Dialog {
    Start,
    /// The next line replaces what the agent wanted to do.
    Editing,
    /// Earlier questions are answered.
    Questions(Vec<QuestionReply>),
}

/// The ask in words, with the keys that answer it.
pub(crate) fn put(ask: &Ask) -> String {
    match ask {
        Ask::Approval(approval) => described(ask) + &indented(&keys(approval)),
        Ask::Plan { .. } => {
            described(ask) + &indented("[y] approve  [n REASON] deny  [s] deny and end the turn")
        }
        Ask::Question { questions } => questions.first().map(put_question).unwrap_or_default(),
        Ask::Form { .. } => described(ask) + &indented("[n] decline"),
    }
}

/// Whether what the call is about can be changed in one line, and what that is.
fn editable(approval: &Approval) -> Option<&'static str> {
    approval.subject_field.as_ref().filter(|_| approval.shortened.is_none())?;
    match approval.tool_kind {
        ToolKind::Execute => Some("command"),
        ToolKind::Read | ToolKind::Edit => Some("path"),
        ToolKind::Fetch => Some("address"),
        ToolKind::Search
        | ToolKind::Mcp
        | ToolKind::Subagent
        | ToolKind::Question
        | ToolKind::Plan
        | ToolKind::Other => None,
    }
}

fn keys(approval: &Approval) -> String {
    let edit = editable(approval).map(|what| format!("  [e] edit the {what}")).unwrap_or_default();
    let keys = format!("[y] approve  [n REASON] deny{edit}  [s] deny and end the turn");
    if approval.always.is_empty() {
        return keys;
    }
    let grants: Vec<&str> = approval.always.iter().map(|choice| choice.label.as_str()).collect();
    format!("{keys}\n[a] yes, for this session: {}", one_line(&grants.join("; "), 70))
}

fn put_question(question: &Question) -> String {
    let keys = match (question.options.is_empty(), question.multi) {
        (true, _) => "your own words",
        (false, true) => "numbers with commas, or your own words",
        (false, false) => "a number, or your own words",
    };
    asked(question) + &indented(keys)
}

/// What `line` means for `ask`.
pub(crate) fn understand(ask: &Ask, dialog: &Dialog, line: &str) -> Meaning {
    let line = line.trim();
    let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let deny = |default: &str| {
        let reason = if rest.trim().is_empty() { default } else { rest.trim() };
        Meaning::Answer(Answer::Deny { reason: reason.to_owned() })
    };
    match (ask, dialog) {
        (Ask::Approval(approval), Dialog::Editing) => match edited(approval, line) {
            Some(input) => Meaning::Answer(Answer::Allow { input: Some(input) }),
            None => Meaning::Again("this input cannot be edited here; answer y or n".into()),
        },
        (Ask::Approval(approval), _) => match key {
            "y" | "yes" => Meaning::Answer(Answer::Allow { input: None }),
            "n" | "no" => deny("The person said no."),
            "a" if !approval.always.is_empty() => Meaning::Answer(Answer::always(None)),
            "e" => match editable(approval) {
                Some(what) => Meaning::Next(Dialog::Editing, format!("the {what} instead:")),
                None => Meaning::Again("this cannot be edited; answer y or n".into()),
            },
            "s" => stop(rest),
            _ => {
                Meaning::Again(format!("answer with one of the keys:{}", indented(&keys(approval))))
            }
        },
        (Ask::Plan { .. }, _) => match key {
            "y" | "yes" => Meaning::Answer(Answer::Allow { input: None }),
            "n" | "no" => deny("The person wants another plan."),
            "s" => stop(rest),
            _ => Meaning::Again("answer y, n or s".into()),
        },
        (Ask::Form { .. }, _) => deny("The person declined."),
        (Ask::Question { questions }, dialog) => {
            let mut replies = match dialog {
                Dialog::Questions(replies) => replies.clone(),
                Dialog::Start | Dialog::Editing => Vec::new(),
            };
            let Some(question) = questions.get(replies.len()) else {
                return Meaning::Answer(Answer::Replies { replies });
            };
            match reply(question, line) {
                Err(why) => return Meaning::Again(why),
                Ok(reply) => replies.push(reply),
            }
            match questions.get(replies.len()) {
                None => Meaning::Answer(Answer::Replies { replies }),
                Some(next) => Meaning::Next(Dialog::Questions(replies), put_question(next)),
            }
        }
    }
}

fn stop(reason: &str) -> Meaning {
    let reason =
        if reason.trim().is_empty() { "The person stopped the turn." } else { reason.trim() };
    Meaning::Answer(Answer::DenyAndInterrupt { reason: reason.to_owned() })
}

/// The one field that was edited. The others are not sent back: secrets in them were hidden from us.
fn edited(approval: &Approval, text: &str) -> Option<Json> {
    let field = approval.subject_field.clone()?;
    Some(Json::Object([(field, text.into())].into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use musher_core::QuestionOption;

    fn approval() -> Ask {
        Ask::Approval(Box::new(Approval {
            tool: "Bash".into(),
            tool_kind: ToolKind::Execute,
            call: None,
            subject: Some("rm x".into()),
            subject_field: Some("command".into()),
            input: serde_json::json!({ "command": "rm x", "description": "d" }),
            edits: Vec::new(),
            reason: None,
            always: Vec::new(),
            human_only: false,
            shortened: None,
            as_is: false,
        }))
    }

    #[test]
    fn keys_answer_an_approval() {
        let ask = approval();
        let says = |line: &str| understand(&ask, &Dialog::Start, line);
        assert_eq!(says("y"), Meaning::Answer(Answer::Allow { input: None }));
        assert_eq!(
            says(" n too risky "),
            Meaning::Answer(Answer::Deny { reason: "too risky".into() })
        );
        assert!(matches!(says("a"), Meaning::Again(_)), "nothing lasting is offered");
        assert!(matches!(says("s"), Meaning::Answer(Answer::DenyAndInterrupt { .. })));
        assert!(matches!(says(""), Meaning::Again(_)));
        assert!(matches!(says("e"), Meaning::Next(Dialog::Editing, _)));
        let Meaning::Answer(Answer::Allow { input: Some(input) }) =
            understand(&ask, &Dialog::Editing, "ls")
        else {
            panic!("not an edit");
        };
        assert_eq!(input, serde_json::json!({ "command": "ls" }));
    }

    #[test]
    fn numbers_and_words_answer_a_question() {
        let option = |label: &str| QuestionOption { label: label.into(), description: None };
        let question = |multi| Question {
            text: "Which?".into(),
            header: None,
            options: vec![option("Red"), option("Blue")],
            multi,
        };
        let ask = Ask::Question { questions: vec![question(false), question(true)] };
        let Meaning::Next(dialog, _) = understand(&ask, &Dialog::Start, "2") else {
            panic!("one more is open")
        };
        assert!(matches!(understand(&ask, &dialog, "3"), Meaning::Again(_)));
        let Meaning::Answer(Answer::Replies { replies }) = understand(&ask, &dialog, "1, 2") else {
            panic!("done")
        };
        assert_eq!(replies[0].joined(), "Blue");
        assert_eq!(replies[1].joined(), "Red, Blue");
        assert!(matches!(understand(&ask, &Dialog::Start, "1,2"), Meaning::Again(_)));
        let Meaning::Next(Dialog::Questions(named), _) = understand(&ask, &Dialog::Start, "blue")
        else {
            panic!("a label in another case is still a label")
        };
        assert_eq!(named[0].chosen, ["Blue"]);
        let Meaning::Next(Dialog::Questions(own), _) = understand(&ask, &Dialog::Start, "green")
        else {
            panic!("own words")
        };
        assert_eq!(own[0].joined(), "green");
    }
}
