//! What a model may pass to a tool, and what it is told when it passes something else.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::{ToolReply, ToolSpec};

/// How much of a wrong text is shown again.
const SHOWN: usize = 200;

/// The schema of an input, in the plain subset that every vendor takes.
pub(super) fn schema<T: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    Plain.transform(&mut schema);
    schema.into()
}

/// Takes out what some vendors refuse: titles, formats, `null` beside a type, and defaults.
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        for word in ["title", "format", "default"] {
            schema.remove(word);
        }
        if let Some(Json::Array(names)) = schema.get_mut("type") {
            names.retain(|name| name != "null");
            if let [only] = names.as_slice() {
                let only = only.clone();
                schema.insert("type".into(), only);
            }
        }
        if let Some(Json::Array(values)) = schema.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        if let Some(Json::Array(choices)) = schema.get_mut("anyOf") {
            choices.retain(|choice| choice["type"] != "null");
            if let [Json::Object(only)] = choices.as_slice() {
                let only = only.clone();
                schema.remove("anyOf");
                for (word, value) in only {
                    // What is said of the field itself stands.
                    if schema.get(&word).is_none() {
                        schema.insert(word, value);
                    }
                }
            }
        }
        transform_subschemas(self, schema);
    }
}

/// Reads an input, or makes the reply that says what is wrong with it and how the tool is called.
pub(super) fn parse<T: DeserializeOwned>(tool: &ToolSpec, input: Json) -> Result<T, ToolReply> {
    let refuse = |problem: &str| {
        let usage = usage(&tool.input_schema);
        ToolReply::failed(format!("{}: {problem}; call it with {usage}", tool.name))
    };
    let mut fields = match input {
        Json::Object(fields) => fields,
        Json::Null => Map::new(),
        Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            return Err(refuse("the input must be a JSON object"));
        }
    };
    if let Some(problem) = mend(&tool.input_schema, &mut fields) {
        return Err(refuse(&problem));
    }
    serde_json::from_value(Json::Object(fields)).map_err(|error| refuse(&clip(&error.to_string())))
}

/// Checks the fields against the schema and takes whole numbers that are written as fractions for what they are.
fn mend(schema: &Json, fields: &mut Map<String, Json>) -> Option<String> {
    let known = schema["properties"].as_object()?;
    if let Some(name) = fields.keys().find(|name| !known.contains_key(*name)) {
        return Some(format!("there is no field `{}`", clip(name)));
    }
    for (name, property) in known {
        let wanted = property["type"].as_str().unwrap_or_default();
        let needed = schema["required"].as_array().is_some_and(|all| all.iter().any(|n| n == name));
        match fields.get_mut(name) {
            None | Some(Json::Null) if needed => {
                return Some(format!("the field `{name}` is missing"));
            }
            None | Some(Json::Null) => {}
            Some(value) => {
                if wanted == "integer"
                    && let Some(whole) = value.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0)
                    && whole < 9e15
                {
                    *value = Json::from(whole as u64);
                }
                if !fits(wanted, value) {
                    let article = if wanted.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
                    return Some(format!("`{name}` must be {article} {wanted}"));
                }
            }
        }
    }
    None
}

fn fits(wanted: &str, value: &Json) -> bool {
    match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// `{"path": string, "limit"?: integer}`.
fn usage(schema: &Json) -> String {
    let required = schema["required"].as_array();
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(name, property)| {
        let needed = required.is_some_and(|all| all.iter().any(|n| n == name));
        let mark = if needed { "" } else { "?" };
        format!("\"{name}\"{mark}: {}", property["type"].as_str().unwrap_or("any"))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

/// A text from outside, short enough and plain enough to be told again.
pub(super) fn clip(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    // Quotes need no escape here.
    shown.replace("\\'", "'").replace("\\\"", "\"")
}

/// A tool whose input is `T`.
pub(super) fn spec<T: JsonSchema>(
    name: &'static str,
    description: &'static str,
    kind: musher_core::ToolKind,
) -> ToolSpec {
    ToolSpec {
        name: Cow::Borrowed(name),
        description: Cow::Borrowed(description),
        input_schema: schema::<T>(),
        kind,
        parallel: false,
        subject: None,
    }
}
