//! What a tool takes: the schema that a model is told, and the reading of what it gives.

use musher_core::ToolKind;
use musher_runtime::tools::{ToolReply, ToolSpec};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// A tool whose input is described by a type of ours.
pub(super) fn spec<T: JsonSchema>(
    name: &'static str,
    about: &'static str,
    kind: ToolKind,
) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: about.into(),
        input_schema: schema::<T>(),
        kind,
        parallel: matches!(kind, ToolKind::Read),
        subject: None,
    }
}

/// The schema in one piece, because not every client follows references.
fn schema<T: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        // The names of our types are nobody's business.
        schema.remove("title");
        schema.entry("properties").or_insert_with(|| Json::Object(serde_json::Map::new()));
    }
    schema
}

/// Reads what a model gave; a mistake is told so that it can be put right.
pub(super) fn read<T: DeserializeOwned>(tool: &str, input: Json) -> Result<T, ToolReply> {
    serde_json::from_value(input).map_err(|error| {
        ToolReply::failed(format!("{tool} cannot take this: {error}; see its input schema"))
    })
}
