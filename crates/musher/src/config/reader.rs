//! A reader of tables that knows which keys there are, and says where each mistake is.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::KeyTable;
use super::nearest;
use super::problem::Problems;
use super::source::Source;

/// How many words are looked at for a slip of the pen.
const MAX_SPELLING_HINTS: usize = 100;

/// A value and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

/// What is wrong with a value, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) fix: Option<String>,
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), fix: None }
    }

    pub(super) fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// Reads values from one file and notes what is wrong with them.
#[derive(Debug)]
pub(super) struct ValueReader<'a> {
    pub(super) source: &'a Source,
    pub(super) problems: Problems,
}

/// One table of the file.
#[derive(Debug, Clone)]
pub(super) struct TableFields<'t, 'i> {
    table: &'t DeTable<'i>,
    what: KeyTable,
    span: Range<usize>,
}

impl ValueReader<'_> {
    pub(super) fn wrong(&mut self, span: Range<usize>, wrong: Wrong) {
        let Wrong { message, fix } = wrong;
        self.problems.add(|| {
            let problem = self.source.problem(span, message);
            fix.into_iter().fold(problem, |problem, fix| problem.with_fix(fix))
        });
    }

    /// Opens a table and refuses the keys that it does not have.
    pub(super) fn open<'t, 'i>(
        &mut self,
        table: &'t DeTable<'i>,
        span: Range<usize>,
        what: KeyTable,
    ) -> TableFields<'t, 'i> {
        for key in table.keys() {
            let word = key.get_ref().as_ref();
            if what.keys.contains(&word) {
                continue;
            }
            self.problems.add(|| {
                let fix = match nearest(word, what.keys.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it may hold {}", what.keys.join(", ")),
                };
                let message = format!("{} has no key `{}`", what.name, shown(word));
                self.source.problem(key.span(), message).with_fix(fix)
            });
        }
        TableFields { table, what, span }
    }

    /// Notes a missing key, unless it is there with a slip of the pen, which was noted already.
    pub(super) fn require(&mut self, fields: &TableFields<'_, '_>, key: &str, fix: &str) {
        let slip = |word: &str| {
            let known = fields.what.keys;
            !known.contains(&word) && nearest(word, known.iter().copied()) == Some(key)
        };
        let mut words =
            fields.table.keys().take(MAX_SPELLING_HINTS).map(|word| word.get_ref().as_ref());
        if !fields.table.contains_key(key) && !words.any(slip) {
            let wrong = Wrong::new(format!("{} has no `{key}`", fields.what.name)).with_fix(fix);
            self.wrong(fields.span.clone(), wrong);
        }
    }

    pub(super) fn text(&mut self, fields: &TableFields<'_, '_>, key: &str) -> Option<At<String>> {
        let value = fields.get(key)?;
        self.as_text(value, key)
    }

    pub(super) fn texts(&mut self, fields: &TableFields<'_, '_>, key: &str) -> Vec<At<String>> {
        let Some(value) = fields.get(key) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            self.mistyped(value, key, "a list of strings such as [\"a\", \"b\"]");
            return Vec::new();
        };
        array.iter().filter_map(|element| self.as_text(element, key)).collect()
    }

    pub(super) fn flag(&mut self, fields: &TableFields<'_, '_>, key: &str) -> Option<bool> {
        let value = fields.get(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.mistyped(value, key, "true or false");
        }
        flag
    }

    /// A whole number from 1 up.
    pub(super) fn count(&mut self, fields: &TableFields<'_, '_>, key: &str) -> Option<u32> {
        let value = fields.get(key)?;
        let count = value.get_ref().as_integer().and_then(|number| {
            u32::from_str_radix(number.as_str(), number.radix()).ok().filter(|count| *count > 0)
        });
        if count.is_none() {
            self.mistyped(value, key, "a number, whole and 1 or more");
        }
        count
    }

    /// An amount above 0.
    pub(super) fn amount(&mut self, fields: &TableFields<'_, '_>, key: &str) -> Option<f64> {
        let value = fields.get(key)?;
        let amount = written(value).filter(|amount| amount.is_finite() && *amount > 0.0);
        if amount.is_none() {
            self.mistyped(value, key, "a number above 0 such as 2.50");
        }
        amount
    }

    /// How freely a model may speak: any number from 0 up.
    pub(super) fn temperature(&mut self, fields: &TableFields<'_, '_>, key: &str) -> Option<f64> {
        let value = fields.get(key)?;
        let number = written(value).filter(|number| number.is_finite() && *number >= 0.0);
        if number.is_none() {
            self.mistyped(value, key, "a number from 0 up such as 0.2");
        }
        number
    }

    /// A moment in time, in Unix milliseconds.
    pub(super) fn moment(&mut self, fields: &TableFields<'_, '_>, key: &str) -> Option<i64> {
        let value = fields.get(key)?;
        let written = value.get_ref().as_datetime().map(ToString::to_string);
        let moment = written.and_then(|text| text.parse::<jiff::Timestamp>().ok());
        if moment.is_none() {
            self.mistyped(value, key, "a date with its time and zone such as 2026-01-31T08:15:00Z");
        }
        moment.map(|moment| moment.as_millisecond())
    }

    pub(super) fn table<'t, 'i>(
        &mut self,
        fields: &TableFields<'t, 'i>,
        key: &str,
        what: KeyTable,
    ) -> Option<TableFields<'t, 'i>> {
        let (table, span) = self.plain_table(fields, key)?;
        Some(self.open(table, span, what))
    }

    /// A table whose keys are free.
    pub(super) fn plain_table<'t, 'i>(
        &mut self,
        fields: &TableFields<'t, 'i>,
        key: &str,
    ) -> Option<(&'t DeTable<'i>, Range<usize>)> {
        let value = fields.get(key)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.mistyped(value, key, "a table");
        }
        Some((table?, value.span()))
    }

    /// The tables that are written `[[key]]`.
    pub(super) fn tables<'t, 'i>(
        &mut self,
        fields: &TableFields<'t, 'i>,
        key: &str,
        what: KeyTable,
    ) -> Vec<TableFields<'t, 'i>> {
        let Some(value) = fields.get(key) else { return Vec::new() };
        let elements = value.get_ref().as_array().map(|array| array.iter().collect());
        let elements: Vec<_> = elements.unwrap_or_else(|| vec![value]);
        let mut found = Vec::new();
        for element in elements {
            match (element.get_ref().as_table(), value.get_ref().is_array()) {
                (Some(table), true) => found.push(self.open(table, element.span(), what)),
                (Some(_), false) | (None, _) => {
                    let wrong = Wrong::new(format!("`{key}` must be a list of tables"));
                    self.wrong(element.span(), wrong.with_fix(format!("write [[{key}]]")));
                }
            }
        }
        found
    }

    pub(super) fn as_text(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        key: &str,
    ) -> Option<At<String>> {
        let Some(text) = value.get_ref().as_str() else {
            self.mistyped(value, key, "a string in quotes");
            return None;
        };
        if text.contains('\0') {
            self.wrong(value.span(), Wrong::new(format!("`{key}` holds a NUL character")));
            return None;
        }
        Some(At { value: text.to_owned(), span: value.span() })
    }

    pub(super) fn mistyped(&mut self, value: &Spanned<DeValue<'_>>, key: &str, wanted: &str) {
        let given = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        // The right kind with a wrong value needs no word about its kind.
        let message = match wanted.starts_with(given) {
            true => format!("`{}` must be {wanted}", shown(key)),
            false => format!("`{}` must be {wanted}, not {given}", shown(key)),
        };
        self.wrong(value.span(), Wrong::new(message));
    }

    /// Makes something of a value, or notes why it cannot be made.
    pub(super) fn parse<T>(
        &mut self,
        given: &At<String>,
        parse: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        match parse(&given.value) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.wrong(given.span.clone(), wrong);
                None
            }
        }
    }
}

impl<'t, 'i> TableFields<'t, 'i> {
    /// Whether a key is there and holds an empty list.
    pub(super) fn is_empty_list(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.get_ref().as_array().is_some_and(|a| a.is_empty()))
    }

    /// Where the table is.
    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Where the value of a key is, if it is there.
    pub(super) fn span_of(&self, key: &str) -> Option<Range<usize>> {
        self.get(key).map(Spanned::span)
    }

    /// What a key holds, whatever it is.
    pub(super) fn value(&self, key: &str) -> Option<&'t Spanned<DeValue<'i>>> {
        self.get(key)
    }

    fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'i>>> {
        debug_assert!(self.what.keys.contains(&key), "{} has no {key}", self.what.name);
        self.table.get(key)
    }
}

/// A number, with or without a fraction.
fn written(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    let whole = value.get_ref().as_integer().filter(|number| number.radix() == 10);
    let broken = value.get_ref().as_float().map(|number| number.as_str());
    whole.map(|number| number.as_str()).or(broken)?.parse().ok()
}

/// A word from the file, short enough for a message and harmless on a terminal.
pub(super) fn shown(word: &str) -> String {
    let cut: String = word.chars().take(64).collect();
    let dots = if cut.len() < word.len() { "…" } else { "" };
    format!("{}{dots}", cut.escape_debug())
}
