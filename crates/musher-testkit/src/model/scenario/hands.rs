//! The model's hands: what it wants done, under whichever name and arguments the client offers a tool for it.

use serde_json::{Map, Value, json};

use super::Scene;
use crate::model::conversation::Offer;
use crate::model::reply::{Input, ToolCall};

/// An argument: the names that clients have for it, and what it is.
type Argument<'a> = (&'a [&'a str], Value);

const PATH: &[&str] = &["file_path", "filePath", "path", "filename", "file"];
/// Those names by which a path from the root is meant.
const FROM_ROOT: &[&str] = &["file_path", "filePath"];

impl Scene<'_> {
    /// Runs a command in a shell.
    pub(super) fn run(&self, command: &str) -> ToolCall {
        let names = [
            "Bash",
            "run_command",
            "exec_command",
            "shell_command",
            "run_shell_command",
            "shell",
            "bash",
        ];
        let arguments: [Argument<'_>; 2] = [
            (&["command", "cmd"], json!(command)),
            (&["description"], json!("Run a scripted command")),
        ];
        self.hand(&names, &arguments)
    }

    pub(super) fn read(&self, path: &str) -> ToolCall {
        if self.patches() {
            return self.run(&format!("cat {path}"));
        }
        self.hand(&["Read", "read_file", "read"], &[(PATH, json!(path))])
    }

    pub(super) fn write(&self, path: &str, content: &str) -> ToolCall {
        if self.patches() {
            return patch(&format!("*** Add File: {path}\n{}", prefixed('+', content)));
        }
        let names = ["Write", "write_file", "write"];
        self.hand(&names, &[(PATH, json!(path)), (&["content", "text"], json!(content))])
    }

    pub(super) fn edit(&self, path: &str, old: &str, new: &str) -> ToolCall {
        if self.patches() {
            let (old, new) = (prefixed('-', old), prefixed('+', new));
            return patch(&format!("*** Update File: {path}\n@@\n{old}{new}"));
        }
        let arguments: [Argument<'_>; 3] = [
            (PATH, json!(path)),
            (&["old_string", "old_text", "old"], json!(old)),
            (&["new_string", "new_text", "new"], json!(new)),
        ];
        self.hand(&["Edit", "edit_file", "replace", "edit"], &arguments)
    }

    /// Says that the work is done, if there is a tool for that.
    pub(super) fn finish_work(&self, summary: &str) -> Option<ToolCall> {
        self.conversation.offer("finish")?;
        Some(self.hand(&["finish"], &[(&["summary", "result", "message"], json!(summary))]))
    }

    /// Whether files are changed by patches alone.
    fn patches(&self) -> bool {
        self.conversation.offer("apply_patch").is_some()
    }

    /// The first tool of these names that is on offer, or the first name if none is.
    fn hand(&self, names: &[&str], arguments: &[Argument<'_>]) -> ToolCall {
        let offer = names.iter().find_map(|name| self.conversation.offer(name));
        let name = offer.map_or_else(|| names[0].to_owned(), |offer| offer.name.clone());
        let properties = offer.and_then(properties);
        let input = arguments.iter().filter_map(|(keys, value)| {
            let (key, value) = fill(properties, keys, value)?;
            let rooted = FROM_ROOT.contains(&key.as_str());
            let value = if rooted { self.absolute(&value) } else { value };
            Some((key, value))
        });
        ToolCall::new(name, Value::Object(input.collect()))
    }

    /// A path from the root: the clients that call it a file path demand it, the others have no use for it.
    fn absolute(&self, path: &Value) -> Value {
        let name = path.as_str().unwrap_or_default();
        match self.conversation.folder() {
            Some(folder) if !name.starts_with('/') => {
                json!(format!("{}/{name}", folder.trim_end_matches('/')))
            }
            _ => json!(name),
        }
    }
}

/// A patch, which is a text and no JSON.
fn patch(body: &str) -> ToolCall {
    let mut call = ToolCall::new("apply_patch", Value::Null);
    call.input = Input::Broken(format!("*** Begin Patch\n{body}*** End Patch"));
    call
}

/// Each line behind a sign.
fn prefixed(sign: char, text: &str) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}

/// The properties in a tool's schema, if it names any.
fn properties(offer: &Offer) -> Option<&Map<String, Value>> {
    offer.schema["properties"].as_object().filter(|properties| !properties.is_empty())
}

/// An argument under the name that the schema has for it; one that the schema does not know is left out.
fn fill(
    properties: Option<&Map<String, Value>>,
    keys: &[&str],
    value: &Value,
) -> Option<(String, Value)> {
    let Some(properties) = properties else {
        return Some(((*keys.first()?).to_owned(), value.clone()));
    };
    let key = keys.iter().find(|key| properties.contains_key(**key))?;
    // Some clients take a command as the list of its words.
    let value =
        if is_list(&properties[*key]) { json!(["bash", "-lc", value]) } else { value.clone() };
    Some(((*key).to_owned(), value))
}

fn is_list(schema: &Value) -> bool {
    schema["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("array"))
}
