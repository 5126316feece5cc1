//! How an event of `tracing` becomes one line: its own fields and those of the spans around it, without secrets.

use std::fmt::{Debug, Write};
use std::sync::Arc;

use jiff::Timestamp;
use musher_runtime::{Secrets, now_ms};
use serde_json::Value as Json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::{LogFormat, SAID_IN_WORDS, Sinks};

/// A text in a line is cut here: an agent or git may have written it.
const MAX_VALUE_BYTES: usize = 2048;

/// Writes each event as a line to every sink.
pub(super) struct LineLayer {
    pub(super) format: LogFormat,
    pub(super) secrets: Secrets,
    pub(super) sinks: Sinks,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LineLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        // The innermost is the nearest, so what it says is not overwritten by those around it.
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(around) = span.extensions().get::<Fields>() {
                fields.add_missing(around);
            }
        }
        let message = fields.finish(&self.secrets);
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        let line = Line { level, target, message: &message, fields: &fields }.written(self.format);
        let line = Arc::from(line);
        self.sinks.file.line(&line);
        if target != SAID_IN_WORDS || self.format == LogFormat::Json {
            self.sinks.stderr.line(&line);
        }
    }
}

/// The fields of a span or an event, in the order in which they were written.
#[derive(Debug, Default)]
pub(super) struct Fields {
    message: String,
    named: Vec<(&'static str, Json)>,
}

impl Fields {
    pub(super) fn number(&mut self, name: &'static str, value: u64) {
        self.put(name, value.into());
    }

    fn put(&mut self, name: &'static str, value: Json) {
        match self.named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.named.push((name, value)),
        }
    }

    fn add_missing(&mut self, around: &Self) {
        for (name, value) in &around.named {
            if self.named.iter().all(|(known, _)| known != name) {
                self.named.push((name, value.clone()));
            }
        }
    }

    /// Hides secrets, bounds every text, and takes out the message.
    pub(super) fn finish(&mut self, secrets: &Secrets) -> String {
        let clean = |text: &mut String| {
            secrets.hide(text);
            if text.len() > MAX_VALUE_BYTES {
                text.truncate(text.floor_char_boundary(MAX_VALUE_BYTES));
                text.push('…');
            }
        };
        for (_, value) in &mut self.named {
            if let Json::String(text) = value {
                clean(text);
            }
        }
        clean(&mut self.message);
        std::mem::take(&mut self.message)
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = value.to_owned(),
            name => self.put(name, value.into()),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value.into());
    }
}

/// One line before it is written.
pub(super) struct Line<'a> {
    pub(super) level: Level,
    pub(super) target: &'a str,
    pub(super) message: &'a str,
    pub(super) fields: &'a Fields,
}

impl Line<'_> {
    pub(super) fn written(&self, format: LogFormat) -> String {
        let mut out = String::with_capacity(256);
        let time = Timestamp::from_millisecond(now_ms()).unwrap_or_default();
        match format {
            LogFormat::Text => self.text(&mut out, &format!("{time:.3}")),
            LogFormat::Json => self.json(&mut out, &format!("{time:.3}")),
        }
        out.push('\n');
        out
    }

    fn text(&self, out: &mut String, time: &str) {
        let Self { level, target, message, fields } = self;
        let _infallible = write!(out, "{time} {level:>5} ");
        push_plain(out, message);
        for (name, value) in &fields.named {
            let _infallible = write!(out, " {name}=");
            match value.as_str().filter(|text| is_bare(text)) {
                Some(text) => out.push_str(text),
                // A quoted text has no line end and no control character, so nobody can forge a line.
                None => push_plain(out, &value.to_string()),
            }
        }
        // A line of our own says what it is about; one of a library may not.
        if !target.starts_with("musher") {
            let _infallible = write!(out, " target={target}");
        }
    }

    fn json(&self, out: &mut String, time: &str) {
        let Self { level, target, message, fields } = self;
        let message = Json::from(*message);
        let _infallible = write!(
            out,
            r#"{{"time":"{time}","level":"{level}","target":"{target}","message":{message}"#
        );
        for (name, value) in &fields.named {
            let _infallible = write!(out, r#","{name}":{value}"#);
        }
        out.push('}');
    }
}

fn is_bare(text: &str) -> bool {
    let bare = |c: char| c.is_alphanumeric() || "-_./:+,@%…".contains(c);
    !text.is_empty() && text.chars().all(bare)
}

/// Adds a text with its control characters escaped: it may come from an agent, and a terminal would obey them.
fn push_plain(out: &mut String, text: &str) {
    for c in text.chars() {
        // Some characters turn the direction of a line around or end it, and are no control characters.
        let turns = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match c.is_control() || turns {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        let mut fields = Fields { message: "run\nended".into(), named: Vec::new() };
        fields.put("run.id", "r1".into());
        fields.put("cause", "a \"bad\"\x1b[31m\nline key-123456789".into());
        fields.put("tries", 3.into());
        fields
    }

    #[test]
    fn whatever_a_text_holds_it_stays_one_line_without_secrets() {
        let secrets = Secrets::new([("KEY".to_owned(), "key-123456789".to_owned())]);
        let mut fields = fields();
        let message = fields.finish(&secrets);
        let line =
            Line { level: Level::WARN, target: "musher", message: &message, fields: &fields };
        let text = line.written(LogFormat::Text);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.trim_end().chars().any(char::is_control), "{text:?}");
        let end = r#"  WARN run\u{a}ended run.id=r1 cause="a \"bad\"\u001b[31m\nline [redacted KEY]" tries=3"#;
        assert!(text.trim_end().ends_with(end), "{text}");
        let json: Json = serde_json::from_str(&line.written(LogFormat::Json)).unwrap();
        assert_eq!((&json["message"], &json["tries"]), (&"run\nended".into(), &3.into()));
        assert_eq!(json["cause"], "a \"bad\"\u{1b}[31m\nline [redacted KEY]");
    }

    #[test]
    fn a_long_text_is_cut() {
        let mut fields = Fields::default();
        fields.put("cause", "ä".repeat(MAX_VALUE_BYTES).into());
        fields.finish(&Secrets::default());
        let Json::String(cut) = &fields.named[0].1 else { panic!("it is a text") };
        assert!(cut.len() <= MAX_VALUE_BYTES + '…'.len_utf8(), "{}", cut.len());
    }
}
