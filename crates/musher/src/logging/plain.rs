//! The log of a runner: what goes wrong with it, on its standard error, which is the file `runner.log` of its run.
//!
//! There may be a thousand runners, so this one keeps no spans, no queue and no thread.

use std::io::Write;

use musher_runtime::Secrets;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::LogFormat;
use super::line::{Fields, Line};

/// Begins the log of a runner, once in its life.
pub fn start_in_runner() {
    // A process that has a log already keeps it.
    let _begun = tracing::subscriber::set_global_default(StderrLog);
}

struct StderrLog;

impl Subscriber for StderrLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && *metadata.level() <= Level::WARN
            && metadata.target().starts_with("musher")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        // Lines of a runner are about its own files and sockets; the words of an agent are in its run log alone.
        let message = fields.finish(&Secrets::default());
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        let line = Line { level, target, message: &message, fields: &fields };
        // There is nobody else to tell when the disk is full.
        let _full = std::io::stderr().write_all(line.written(LogFormat::Text).as_bytes());
    }

    // Spans are never enabled, so that there is one at most, and nothing is kept of it.
    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}
