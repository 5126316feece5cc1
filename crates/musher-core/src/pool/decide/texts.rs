//! What a text from a person must be like to be taken.

use crate::pool::Refusal;
use crate::{Rule, RunOptions, Variables};

/// The longest text, in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// The longest name of a model or of a mode, in bytes.
const MAX_NAME_BYTES: usize = 128;
/// How many rules of one kind a run may have of its own, and how long one may be, in bytes.
const MAX_RULES: usize = 256;
const MAX_RULE_BYTES: usize = 1024;
/// How many variables a story or a run may have, and how long they may be, in bytes.
const MAX_VARIABLES: usize = 64;
const MAX_VARIABLE_NAME_BYTES: usize = 64;
const MAX_VARIABLE_BYTES: usize = 16 * 1024;

/// A title without the blanks around it.
pub(super) fn title(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    let length = text.chars().count();
    if length == 0 {
        return Err(bad("title", "is empty"));
    }
    if length > MAX_TITLE_CHARS {
        return Err(bad(
            "title",
            &format!("has {length} characters; {MAX_TITLE_CHARS} is the most"),
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(bad("title", "has a line break or another control character"));
    }
    Ok(text.to_owned())
}

/// A text, which may be empty.
pub(super) fn text(what: &str, text: String) -> Result<String, Refusal> {
    let length = text.len();
    if length > MAX_TEXT_BYTES {
        return Err(bad(what, &format!("has {length} bytes; {MAX_TEXT_BYTES} is the most")));
    }
    if text.contains('\0') {
        return Err(bad(what, "has a NUL character"));
    }
    Ok(text)
}

/// A text that asks for something.
pub(super) fn prompt(prompt: String) -> Result<String, Refusal> {
    match prompt.trim().is_empty() {
        true => Err(bad("prompt", "is empty")),
        false => text("prompt", prompt),
    }
}

/// The name of a model, which is passed on as one argument.
pub(super) fn model(model: String) -> Result<String, Refusal> {
    name("model", model)
}

/// The name of a permission mode, which is passed on as one argument.
pub(super) fn mode(mode: String) -> Result<String, Refusal> {
    name("mode", mode)
}

fn name(what: &str, name: String) -> Result<String, Refusal> {
    let plain = |c: char| !c.is_control() && !c.is_whitespace();
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(plain) {
        let why = format!("must be 1 to {MAX_NAME_BYTES} bytes without blanks");
        return Err(bad(what, &why));
    }
    Ok(name)
}

/// What a run gets beside what its agent has, as it is kept; nothing if that is nothing.
pub(super) fn options(options: RunOptions) -> Result<Option<String>, Refusal> {
    if options.is_empty() {
        return Ok(None);
    }
    let RunOptions { system_prompt, allow, ask, deny, mode, effort, set } = options;
    let named = |what, text: Option<String>| text.map(|text| name(what, text)).transpose();
    let system_prompt = match system_prompt {
        Some(words) if words.trim().is_empty() => return Err(bad("system prompt", "is empty")),
        Some(words) => Some(text("system prompt", words)?),
        None => None,
    };
    variables(&set)?;
    let options = RunOptions {
        system_prompt,
        allow: rules("allow", allow)?,
        ask: rules("ask", ask)?,
        deny: rules("deny", deny)?,
        mode: named("mode", mode)?,
        effort: named("effort", effort)?,
        set,
    };
    written("options", &options).map(Some)
}

/// The variables of a story, as they are kept.
pub(super) fn context(context: &Variables) -> Result<String, Refusal> {
    variables(context)?;
    written("context", context)
}

fn rules(what: &str, rules: Vec<Rule>) -> Result<Vec<Rule>, Refusal> {
    if rules.len() > MAX_RULES {
        return Err(bad(what, &format!("has {} rules; {MAX_RULES} is the most", rules.len())));
    }
    if rules.iter().any(|rule| rule.to_string().len() > MAX_RULE_BYTES) {
        return Err(bad(what, &format!("has a rule of more than {MAX_RULE_BYTES} bytes")));
    }
    Ok(rules)
}

/// A name is what a template can spell behind a dot.
fn variables(variables: &Variables) -> Result<(), Refusal> {
    if variables.len() > MAX_VARIABLES {
        let why = format!("are {}; {MAX_VARIABLES} is the most", variables.len());
        return Err(bad("variables", &why));
    }
    for (name, value) in variables {
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !begins || !plain || name.len() > MAX_VARIABLE_NAME_BYTES {
            let shown: String = name.chars().take(MAX_VARIABLE_NAME_BYTES).collect();
            let why = format!(
                "`{}` must be 1 to {MAX_VARIABLE_NAME_BYTES} letters, digits and `_`, and begin with no digit",
                shown.escape_debug()
            );
            return Err(bad("variable", &why));
        }
        if value.len() > MAX_VARIABLE_BYTES || value.contains('\0') {
            let why = format!("`{name}` must be at most {MAX_VARIABLE_BYTES} bytes without NUL");
            return Err(bad("variable", &why));
        }
    }
    Ok(())
}

fn written(what: &str, value: &impl serde::Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|error| bad(what, &error.to_string()))
}

pub(super) fn bad(what: &str, why: &str) -> Refusal {
    Refusal::BadText { what: what.into(), why: why.into() }
}
