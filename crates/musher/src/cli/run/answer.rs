//! Asks at the terminal: how they are put, and what a typed line means.

use anstyle::AnsiColor;
use musher_core::{Answer, Approval, Ask, Question, Reply, ToolKind};
use serde_json::Value as Json;

use super::super::text::{one_line, plain, visible};

/// What a typed line means for an ask.
#[derive(Debug, PartialEq)]
pub(super) enum Meaning {
    Answer(Answer),
    /// Another line is needed; this is what to ask for.
    Next(Dialog, String),
    /// Not understood; this is why.
    Again(String),
}

/// Where the conversation about an ask stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Dialog {
    Start,
    /// The next line replaces what the agent wanted to do.
    Editing,
    /// Earlier questions are answered.
    Questions(Vec<Reply>),
}

/// How much of a file's new content is shown before it is approved.
const SHOWN: usize = 24;

/// The ask in words, with the keys that answer it.
pub(super) fn put(ask: &Ask) -> String {
    let bold = AnsiColor::Yellow.on_default().bold();
    match ask {
        Ask::Approval(approval) => {
            let mut text =
                format!("{bold}? The agent wants to use {}{bold:#}", plain(&approval.tool));
            match &approval.subject {
                Some(subject) => text += &indented(&visible(subject)),
                None => text += &indented(&one_line(&approval.input.to_string(), 200)),
            }
            text += &changes(&approval.input);
            text += &others(approval);
            let said = |text: &String| {
                approval.input.as_object().is_some_and(|f| f.values().any(|v| v == text))
            };
            if let Some(reason) = approval.reason.as_ref().filter(|reason| !said(reason)) {
                text += &indented(&one_line(reason, 200));
            }
            text + &indented(&keys(approval))
        }
        Ask::Plan { plan } => {
            let keys = "[y] go on  [n REASON] no  [s] no, and end the turn";
            format!(
                "{bold}? The agent has a plan{bold:#}{}{}",
                indented(&visible(plan)),
                indented(keys)
            )
        }
        Ask::Question { questions } => questions.first().map(put_question).unwrap_or_default(),
        Ask::Form { server, message, url, .. } => {
            let url = url.as_deref().map(|url| indented(&visible(url))).unwrap_or_default();
            let message = indented(&plain(message));
            format!("{bold}? {} asks{bold:#}{message}{url}\n  [n] decline", plain(server))
        }
    }
}

/// The text on lines of its own, each set in, so that none can pass for ours.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("\n  {line}")).collect()
}

/// Fields that are shown as a change.
const CHANGES: &[&str] = &["old_string", "old", "new_string", "new", "content"];
/// How many of the other fields are shown.
const FIELDS: usize = 12;

/// Every other field of the input, so that nothing is approved unseen.
fn others(approval: &Approval) -> String {
    let fields = approval.input.as_object().into_iter().flatten();
    let unseen: Vec<_> = fields
        .filter(|(name, _)| !CHANGES.contains(&name.as_str()))
        .filter(|(name, _)| approval.subject_field.as_deref() != Some(name.as_str()))
        .collect();
    let shown = unseen.iter().take(FIELDS).map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("\n  {}: {}", visible(name), one_line(&visible(&text), 160))
    });
    let more = unseen.len().saturating_sub(FIELDS);
    shown.chain((more > 0).then(|| format!("\n  … {more} more fields"))).collect()
}

/// What would be written: the new content, or what goes and what comes.
fn changes(input: &Json) -> String {
    let (red, green) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    let side = |keys: &[&str], sign: &str, style: anstyle::Style| -> String {
        let Some(text) = keys.iter().find_map(|key| input[key].as_str()) else {
            return String::new();
        };
        let text = visible(text);
        let lines = text.lines().count();
        let shown =
            text.lines().take(SHOWN).map(|line| format!("\n  {style}{sign} {line}{style:#}"));
        let more = (lines > SHOWN).then(|| format!("\n  … {} more lines", lines - SHOWN));
        shown.chain(more).collect()
    };
    side(&["old_string", "old"], "-", red) + &side(&["new_string", "new", "content"], "+", green)
}

/// Whether what the call is about can be changed in one line, and what that is.
fn editable(approval: &Approval) -> Option<&'static str> {
    approval.subject_field.as_ref()?;
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
    let keys = format!("[y] yes  [n REASON] no{edit}  [s] no, and end the turn");
    if approval.always.is_empty() {
        return keys;
    }
    let grants: Vec<&str> = approval.always.iter().map(|choice| choice.label.as_str()).collect();
    format!("{keys}\n[a] yes, for this session: {}", one_line(&grants.join("; "), 70))
}

pub(super) fn put_question(question: &Question) -> String {
    let bold = AnsiColor::Yellow.on_default().bold();
    let asked = plain(&question.text);
    let mut lines = asked.lines();
    let mut text = format!("{bold}? {}{bold:#}", lines.next().unwrap_or_default());
    text += &lines.map(|line| format!("\n  {line}")).collect::<String>();
    for (index, option) in question.options.iter().enumerate() {
        let about = option.description.as_deref().map(|d| format!("  {}", one_line(d, 100)));
        let label = one_line(&option.label, 100);
        text += &format!("\n  [{}] {label}{}", index + 1, about.unwrap_or_default());
    }
    text += match (question.options.is_empty(), question.multi) {
        (true, _) => "\n  your own words",
        (false, true) => "\n  numbers with commas, or your own words",
        (false, false) => "\n  a number, or your own words",
    };
    text
}

/// What `line` means for `ask`.
pub(super) fn understand(ask: &Ask, dialog: &Dialog, line: &str) -> Meaning {
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
            "a" if !approval.always.is_empty() => Meaning::Answer(Answer::AllowAlways),
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

fn reply(question: &Question, line: &str) -> Result<Reply, String> {
    if line.is_empty() {
        return Err("say something, or press Ctrl-C".into());
    }
    let same = |label: &str| label.to_lowercase() == line.to_lowercase();
    if let Some(option) = question.options.iter().find(|option| same(&option.label)) {
        return Ok(Reply { chosen: vec![option.label.clone()], text: None });
    }
    let numbers: Option<Vec<usize>> =
        line.split(',').map(|part| part.trim().parse::<usize>().ok()).collect();
    let Some(numbers) = numbers.filter(|_| !question.options.is_empty()) else {
        return Ok(Reply { chosen: Vec::new(), text: Some(line.to_owned()) });
    };
    if numbers.len() > 1 && !question.multi {
        return Err("only one can be chosen".into());
    }
    let chosen: Option<Vec<String>> = numbers
        .iter()
        .map(|n| Some(question.options.get(n.checked_sub(1)?)?.label.clone()))
        .collect();
    match chosen {
        Some(chosen) => Ok(Reply { chosen, text: None }),
        None => Err(format!("choose from 1 to {}", question.options.len())),
    }
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
        Ask::Approval(Approval {
            tool: "Bash".into(),
            tool_kind: ToolKind::Execute,
            call: None,
            subject: Some("rm x".into()),
            subject_field: Some("command".into()),
            input: serde_json::json!({ "command": "rm x", "description": "d" }),
            reason: None,
            always: Vec::new(),
            human_only: false,
        })
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

    #[test]
    fn what_is_approved_is_shown_whole_and_cannot_pass_for_a_prompt() {
        let Ask::Approval(mut approval) = approval() else { unreachable!() };
        approval.subject = Some("a.txt\n> y".into());
        approval.input = serde_json::json!({ "file_path": "a.txt", "old_string": "one",
            "new_string": "two\u{202e}", "sql": "DROP TABLE users" });
        let shown = put(&Ask::Approval(approval));
        assert!(shown.contains("\n  > y"), "{shown}");
        assert!(shown.contains("sql: DROP TABLE users"), "{shown}");
        assert!(shown.contains("- one") && shown.contains("+ two\\u{202e}"), "{shown}");
    }
}
