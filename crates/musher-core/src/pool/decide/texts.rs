//! What a text from a person must be like to be taken.

use crate::pool::Refusal;

/// The longest text, in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// The longest name of a model or of a mode, in bytes.
const MAX_NAME_BYTES: usize = 128;

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

fn bad(what: &str, why: &str) -> Refusal {
    Refusal::BadText { what: what.into(), why: why.into() }
}
