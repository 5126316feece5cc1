//! Agents that speak ACP and that a project brings itself: the presets of its `[[runtime]]` tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use musher_runtime::acp::{AcpPowers, AcpPreset, AcpUsage, LaunchExtra, PresetError};

use super::raw::Variable;
use super::reader::{At, TableFields, ValueReader, Wrong};
use super::{keys, value};
use crate::runtimes::KnownRuntime;

const USAGES: [(&str, AcpUsage); 6] = [
    ("unknown", AcpUsage::Unknown),
    ("part", AcpUsage::Part),
    ("turn", AcpUsage::Turn),
    ("total", AcpUsage::Total),
    ("quota", AcpUsage::Quota),
    ("chunks", AcpUsage::Chunks),
];

/// Reads one `[[runtime]]`, and where its name is written.
pub(super) fn read(
    reader: &mut ValueReader<'_>,
    fields: &TableFields<'_, '_>,
) -> Option<At<AcpPreset>> {
    reader.require(fields, "name", "give it a name, such as name = \"our-agent\"");
    reader.require(fields, "program", "name the program that speaks ACP");
    let name = reader.text(fields, "name");
    let program = reader.text(fields, "program");
    let program = program.and_then(|program| reader.parse(&program, value::word));
    let usage = reader.text(fields, "usage");
    let usage = usage.and_then(|usage| reader.parse(&usage, |text| value::choice(text, &USAGES)));
    let preset = AcpPreset {
        name: name.as_ref().map(|name| name.value.clone()).unwrap_or_default(),
        program: program.clone().unwrap_or_default(),
        args: texts(reader, fields, "args"),
        trusted: extra(reader, fields, "trusted").unwrap_or_default(),
        confined: extra(reader, fields, "confined").unwrap_or_default(),
        confined_without_mode: LaunchExtra::default(),
        leaves_out: extra(reader, fields, "leaves_out"),
        env: env(reader, fields),
        variables: variables(reader, fields),
        install: line(reader, fields, "install"),
        login: line(reader, fields, "login"),
        login_file: line(reader, fields, "login_file"),
        tested: None,
        executes: patterns(reader, fields, "executes"),
        obeys: patterns(reader, fields, "obeys"),
        hosts: Vec::new(),
        usage: usage.unwrap_or_default(),
        powers: powers(reader, fields),
    };
    let (name, _) = (name?, program?);
    Some(At { value: preset, span: name.span })
}

/// Takes the presets whose names are free.
pub(super) fn resolve(
    raw: &[At<AcpPreset>],
    known: &[KnownRuntime<'_>],
    reader: &mut ValueReader<'_>,
) -> Vec<Arc<AcpPreset>> {
    let mut taken: Vec<Arc<AcpPreset>> = Vec::new();
    for At { value: preset, span } in raw {
        let refused = match preset.check() {
            Ok(()) if known.iter().any(|known| known.name == preset.name) => {
                Err(PresetError::Taken(preset.name.clone()))
            }
            checked @ (Ok(()) | Err(_)) => checked,
        };
        if let Err(error) = refused {
            reader.wrong(span.clone(), Wrong::new(error.to_string()));
        } else if taken.iter().any(|other| other.name == preset.name) {
            let wrong = Wrong::new(format!("there are two runtimes called `{}`", preset.name));
            reader.wrong(span.clone(), wrong.with_fix("give this one another name"));
        } else {
            taken.push(Arc::new(preset.clone()));
        }
    }
    taken
}

fn texts(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>, key: &str) -> Vec<String> {
    reader.texts(fields, key).into_iter().map(|text| text.value).collect()
}

fn line(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>, key: &str) -> Option<String> {
    let text = reader.text(fields, key)?;
    reader.parse(&text, value::not_blank)
}

/// Names of variables, which may end with a star.
fn variables(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>) -> Vec<String> {
    let names = reader.texts(fields, "variables");
    let star = |text: &str| {
        value::variable(text.strip_suffix('*').unwrap_or(text)).map(|_| text.to_owned())
    };
    names.iter().filter_map(|name| reader.parse(name, star)).collect()
}

/// Patterns of files, as tool rules have them.
fn patterns(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>, key: &str) -> Vec<String> {
    let given = reader.texts(fields, key);
    let pattern = |text: &str| value::rule(&format!("edit({text})")).map(|_| text.to_owned());
    given.iter().filter_map(|text| reader.parse(text, pattern)).collect()
}

/// Plain values: what is secret is passed by name in `variables`.
fn env(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, variable) in super::raw::env(reader, fields) {
        match variable {
            Variable::Text(text) => {
                found.insert(name.value, text);
            }
            Variable::From(from) => {
                let wrong = Wrong::new("a runtime's variables have plain values");
                let fix = "name it in `variables`, or set it in the agent's `env`";
                reader.wrong(from.span, wrong.with_fix(fix));
            }
        }
    }
    found
}

fn extra(
    reader: &mut ValueReader<'_>,
    fields: &TableFields<'_, '_>,
    key: &str,
) -> Option<LaunchExtra> {
    let table = reader.table(fields, key, keys::LAUNCH)?;
    Some(LaunchExtra { args: texts(reader, &table, "args"), env: env(reader, &table) })
}

fn powers(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>) -> AcpPowers {
    let Some(table) = reader.table(fields, "powers", keys::POWERS) else {
        return AcpPowers::default();
    };
    let mut flag = |key: &str| reader.flag(&table, key).unwrap_or_default();
    AcpPowers {
        resume: flag("resume"),
        fork: flag("fork"),
        approvals: flag("approvals"),
        questions: flag("questions"),
        set_model: flag("set_model"),
        set_mode: flag("set_mode"),
        effort: flag("effort"),
        images: flag("images"),
        cost: flag("cost"),
    }
}
