//! An ask in words: what it wants of a person, and what a line means as a reply.

use anstyle::AnsiColor;
use musher_core::{Approval, Ask, Question, QuestionReply, RawRef, ToolKind};
use serde_json::Value as Json;
use similar::{ChangeTag, TextDiff};

use super::text::{one_line, plain, visible};

/// How much of a file's new content is shown before it is approved.
const SHOWN: usize = 24;

/// The whole ask, without how to answer it.
pub(crate) fn described(ask: &Ask) -> String {
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
            text += &edited(approval);
            text += &others(approval);
            if let Some(whole) = approval.shortened {
                let RawRef { offset, len, .. } = whole;
                text += &format!(
                    "\n  This is shortened: all {len} bytes of it stand at {offset} of the agent's raw output."
                );
            }
            let said = |text: &String| {
                approval.input.as_object().is_some_and(|f| f.values().any(|v| v == text))
            };
            if let Some(reason) = approval.reason.as_ref().filter(|reason| !said(reason)) {
                text += &indented(&one_line(reason, 200));
            }
            text
        }
        Ask::Plan { plan } => {
            format!("{bold}? The agent has a plan{bold:#}{}", indented(&visible(plan)))
        }
        Ask::Question { questions } => questions.iter().map(asked).collect::<Vec<_>>().join("\n"),
        Ask::Form { server, message, url, .. } => {
            let url = url.as_deref().map(|url| indented(&visible(url))).unwrap_or_default();
            let message = indented(&plain(message));
            format!("{bold}? {} asks{bold:#}{message}{url}", plain(server))
        }
    }
}

/// A question with its options.
pub(crate) fn asked(question: &Question) -> String {
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
    text
}

/// The ask in a few words.
pub(crate) fn in_short(ask: &Ask) -> String {
    match ask {
        Ask::Approval(approval) => {
            let subject = approval.subject.as_deref().unwrap_or_default();
            format!("{} {}", plain(&approval.tool), one_line(subject, 50))
        }
        Ask::Question { questions } => {
            let texts: Vec<&str> =
                questions.iter().map(|question| question.text.as_str()).collect();
            one_line(&texts.join(" "), 80)
        }
        Ask::Plan { plan } => format!("a plan: {}", one_line(plan, 60)),
        Ask::Form { server, message, .. } => {
            format!("{}: {}", plain(server), one_line(message, 60))
        }
    }
}

/// The text on lines of its own, each set in, so that none can pass for ours.
pub(crate) fn indented(text: &str) -> String {
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

/// What has become of files, where the input itself does not tell: the lines that went and came.
fn edited(approval: &Approval) -> String {
    let (red, green) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    let told = CHANGES.iter().any(|key| approval.input.get(key).is_some());
    if told || approval.tool_kind != ToolKind::Other {
        return String::new();
    }
    let mut text = String::new();
    for edit in &approval.edits {
        text += &format!("\n  {}", visible(&edit.path));
        let old = edit.old.as_deref().unwrap_or_default();
        let diff = TextDiff::from_lines(old, &edit.new);
        let lines = diff.iter_all_changes().filter_map(|change| {
            let words = visible(change.value().trim_end_matches('\n'));
            match change.tag() {
                ChangeTag::Insert => Some(format!("\n  {green}+ {words}{green:#}")),
                ChangeTag::Delete => Some(format!("\n  {red}- {words}{red:#}")),
                ChangeTag::Equal => None,
            }
        });
        let lines: Vec<String> = lines.collect();
        text.extend(lines.iter().take(SHOWN).cloned());
        if lines.len() > SHOWN {
            text += &format!("\n  … {} more lines", lines.len() - SHOWN);
        }
    }
    text
}

/// What a line says to a question: labels, numbers of options, or words of one's own.
pub(crate) fn reply(question: &Question, line: &str) -> Result<QuestionReply, String> {
    if line.is_empty() {
        return Err("say something, or press Ctrl-C".into());
    }
    let same = |label: &str| label.to_lowercase() == line.to_lowercase();
    if let Some(option) = question.options.iter().find(|option| same(&option.label)) {
        return Ok(QuestionReply { chosen: vec![option.label.clone()], text: None });
    }
    let numbers: Option<Vec<usize>> =
        line.split(',').map(|part| part.trim().parse::<usize>().ok()).collect();
    let Some(numbers) = numbers.filter(|_| !question.options.is_empty()) else {
        return Ok(QuestionReply { chosen: Vec::new(), text: Some(line.to_owned()) });
    };
    if numbers.len() > 1 && !question.multi {
        return Err("only one can be chosen".into());
    }
    let chosen: Option<Vec<String>> = numbers
        .iter()
        .map(|n| Some(question.options.get(n.checked_sub(1)?)?.label.clone()))
        .collect();
    match chosen {
        Some(chosen) => Ok(QuestionReply { chosen, text: None }),
        None => Err(format!("choose from 1 to {}", question.options.len())),
    }
}

#[cfg(test)]
mod tests {
    use musher_core::ToolKind;

    use super::*;

    #[test]
    fn what_is_approved_is_shown_whole_and_cannot_pass_for_a_prompt() {
        let approval = Approval {
            tool: "Edit".into(),
            tool_kind: ToolKind::Edit,
            call: None,
            subject: Some("a.txt\n> y".into()),
            subject_field: Some("file_path".into()),
            input: serde_json::json!({ "file_path": "a.txt", "old_string": "one",
                "new_string": "two\u{202e}", "sql": "DROP TABLE users" }),
            edits: Vec::new(),
            reason: None,
            always: Vec::new(),
            human_only: false,
            shortened: None,
            as_is: false,
        };
        let shown = described(&Ask::Approval(Box::new(approval)));
        assert!(shown.contains("\n  > y"), "{shown}");
        assert!(shown.contains("sql: DROP TABLE users"), "{shown}");
        assert!(shown.contains("- one") && shown.contains("+ two\\u{202e}"), "{shown}");
    }
}
