//! How an agent's model is reached and asked, for runtimes that speak to one themselves.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use musher_runtime::KeySource;
use toml::de::DeValue;

use super::agent::EnvSource;
use super::raw::Variable;
use super::reader::{At, TableFields, ValueReader, Wrong, shown};
use super::{PROJECT_FILE, keys, value};
use crate::runtimes::KnownRuntime;

/// What an agent says about its model. What is left out is the runtime's own choice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelChoice {
    pub base_url: Option<String>,
    /// The wire format, where a runtime has several.
    pub wire: Option<String>,
    /// Where the key comes from. A file is absolute, starts at the home of the server's user (`~/`), or at the
    /// repository.
    pub key: Option<KeySource>,
    pub headers: BTreeMap<String, EnvSource>,
    pub temperature: Option<f64>,
    pub effort: Option<String>,
    pub max_output: Option<u64>,
    pub window: Option<u64>,
    /// A table of prices, as seen from the repository.
    pub prices: Option<PathBuf>,
}

/// The same as it is written.
#[derive(Debug)]
pub(super) struct RawModel {
    base_url: Option<At<String>>,
    wire: Option<At<String>>,
    key: Option<At<RawKey>>,
    headers: Vec<(At<String>, Variable)>,
    temperature: Option<f64>,
    effort: Option<At<String>>,
    max_output: Option<u32>,
    window: Option<u32>,
    prices: Option<At<String>>,
    /// Where the first of them is.
    first: Option<(&'static str, Range<usize>)>,
}

#[derive(Debug)]
struct RawKey {
    env: Option<At<String>>,
    file: Option<At<String>>,
    command: Option<At<String>>,
}

pub(super) fn read(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>) -> RawModel {
    RawModel {
        base_url: reader.text(fields, "base_url"),
        wire: reader.text(fields, "wire"),
        key: key(reader, fields),
        headers: headers(reader, fields),
        temperature: reader.temperature(fields, "temperature"),
        effort: reader.text(fields, "effort"),
        max_output: reader.count(fields, "max_output"),
        window: reader.count(fields, "window"),
        prices: reader.text(fields, "prices"),
        first: keys::MODEL.iter().find_map(|key| Some((*key, fields.span_of(key)?))),
    }
}

fn key(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>) -> Option<At<RawKey>> {
    let inside = match fields.value("key").map(|value| (value.get_ref(), value.span())) {
        // Whoever writes a text here has written the key itself.
        Some((DeValue::String(_), span)) => {
            let wrong = Wrong::new("a key may not be written in the project file");
            reader.wrong(span, wrong.with_fix(KEY_FIX));
            return None;
        }
        Some(_) | None => reader.table(fields, "key", keys::KEY)?,
    };
    let key = RawKey {
        env: reader.text(&inside, "env"),
        file: reader.text(&inside, "file"),
        command: reader.text(&inside, "command"),
    };
    Some(At { value: key, span: inside.span() })
}

const KEY_FIX: &str = "say where it is found, as in { env = \"NAME\" }, { file = \"~/key\" } or { command = \"pass key\" }";

fn headers(
    reader: &mut ValueReader<'_>,
    fields: &TableFields<'_, '_>,
) -> Vec<(At<String>, Variable)> {
    let Some((table, _)) = reader.plain_table(fields, "headers") else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in table {
        let name = At { value: name.get_ref().to_string(), span: name.span() };
        if reader.parse(&name, value::header_name).is_none() {
            continue;
        }
        let variable = reader.variable(value, &name.value);
        if let Some(Variable::Text(text)) = &variable {
            let text = At { value: text.clone(), span: value.span() };
            if reader.parse(&text, value::header).is_none() {
                continue;
            }
        }
        found.extend(variable.map(|variable| (name, variable)));
    }
    found
}

/// Makes a choice of what is written; nothing is known of a runtime whose name is wrong.
pub(super) fn resolve(
    raw: &RawModel,
    runtime: Option<KnownRuntime<'_>>,
    reader: &mut ValueReader<'_>,
) -> ModelChoice {
    let wires = runtime.map(|runtime| runtime.wires);
    if let (Some(KnownRuntime { effort: false, name, .. }), Some(effort)) = (runtime, &raw.effort) {
        let wrong = Wrong::new(format!("the runtime `{}` takes no `effort`", shown(name)));
        let fix = "leave it out, or give the agent another runtime";
        reader.wrong(effort.span.clone(), wrong.with_fix(fix));
    }
    if let (Some([]), Some((key, span))) = (wires, &raw.first) {
        let wrong = Wrong::new(format!("`{key}` is for runtimes that speak to a model themselves"));
        let fix = "leave it out, or give the agent such a runtime";
        reader.wrong(span.clone(), wrong.with_fix(fix));
        return ModelChoice::default();
    }
    let mut given = |text: &Option<At<String>>, parse: fn(&str) -> Result<String, Wrong>| {
        text.as_ref().and_then(|text| reader.parse(text, parse))
    };
    let (base_url, effort) =
        (given(&raw.base_url, value::base_url), given(&raw.effort, value::word));
    let wire = raw.wire.as_ref().and_then(|wire| {
        let choices: Vec<(&str, &str)> = wires?.iter().map(|wire| (*wire, *wire)).collect();
        reader.parse(wire, |text| value::choice(text, &choices)).map(ToOwned::to_owned)
    });
    let prices = raw.prices.as_ref().and_then(|path| reader.parse(path, value::relative));
    let headers = raw.headers.iter().filter_map(|(name, variable)| {
        Some((name.value.clone(), EnvSource::of(variable, reader)?))
    });
    let headers = headers.collect();
    ModelChoice {
        base_url,
        wire,
        key: raw.key.as_ref().and_then(|key| key_source(key, reader)),
        headers,
        temperature: raw.temperature,
        effort,
        max_output: raw.max_output.map(u64::from),
        window: raw.window.map(u64::from),
        prices: prices.map(|path| Path::new(PROJECT_FILE).with_file_name(path)),
    }
}

fn key_source(key: &At<RawKey>, reader: &mut ValueReader<'_>) -> Option<KeySource> {
    let RawKey { env, file, command } = &key.value;
    match (env, file, command) {
        (Some(name), None, None) => reader.parse(name, value::variable).map(KeySource::Env),
        (None, Some(file), None) => {
            reader.parse(file, value::word).map(|path| KeySource::File(path.into()))
        }
        (None, None, Some(command)) => {
            reader.parse(command, value::not_blank).map(KeySource::Command)
        }
        (None, None, None) => {
            reader.wrong(key.span.clone(), Wrong::new("the key has no source").with_fix(KEY_FIX));
            None
        }
        (_, _, _) => {
            let wrong = Wrong::new("the key has several sources").with_fix("keep one of them");
            reader.wrong(key.span.clone(), wrong);
            None
        }
    }
}

impl EnvSource {
    pub(super) fn of(variable: &Variable, reader: &mut ValueReader<'_>) -> Option<Self> {
        Some(match variable {
            Variable::Text(text) => Self::Text(text.clone()),
            Variable::From(from) => Self::From(reader.parse(from, value::variable)?),
        })
    }
}

/// What is wrong with a value that another program would misread.
pub(super) fn odd(text: &str, what: &str) -> Wrong {
    Wrong::new(format!("`{}` is not {what}", shown(text)))
}
