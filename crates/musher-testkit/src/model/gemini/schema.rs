//! Refuses tools whose parameters use words that the vendor's schema does not have.

use serde_json::Value;

use super::refusal::invalid;
use crate::model::asked::list;
use crate::model::trouble::Refusal;

/// The words of the vendor's subset of JSON schema.
const KNOWN: &[&str] = &[
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
];

pub(super) fn check(request: &Value) -> Result<(), Refusal> {
    for (at, tool) in list(&request["tools"]).iter().enumerate() {
        for (place, function) in list(&tool["functionDeclarations"]).iter().enumerate() {
            let path = format!("tools[{at}].function_declarations[{place}]");
            check_name(&path, &function["name"])?;
            if function["parameters"].is_object() && function["parametersJsonSchema"].is_object() {
                return Err(invalid(format!(
                    "{path}: only one of parameters and parameters_json_schema may be set."
                )));
            }
            check_schema(&format!("{path}.parameters"), &function["parameters"])?;
        }
    }
    Ok(())
}

fn check_name(path: &str, name: &Value) -> Result<(), Refusal> {
    let name = name.as_str().unwrap_or_default();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    if begins && name.len() <= 64 && name.chars().all(fits) {
        return Ok(());
    }
    Err(invalid(format!(
        "Invalid function name at {path}.name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
    )))
}

fn check_schema(path: &str, schema: &Value) -> Result<(), Refusal> {
    let Some(words) = schema.as_object() else {
        return Ok(());
    };
    for (word, value) in words {
        if !KNOWN.contains(&word.as_str()) {
            return Err(invalid(format!(
                "Invalid JSON payload received. Unknown name \"{word}\" at '{path}': Cannot find field."
            )));
        }
        match word.as_str() {
            "items" => check_schema(&format!("{path}.items"), value)?,
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                for (index, (_, property)) in properties.enumerate() {
                    check_schema(&format!("{path}.properties[{index}].value"), property)?;
                }
            }
            "anyOf" => {
                for (index, choice) in list(value).iter().enumerate() {
                    check_schema(&format!("{path}.any_of[{index}]"), choice)?;
                }
            }
            "type" if !value.is_string() => {
                return Err(invalid(format!(
                    "Invalid JSON payload received. Unknown name \"type\" at '{path}': Proto field is not repeating, cannot start list."
                )));
            }
            _ => {}
        }
    }
    Ok(())
}
