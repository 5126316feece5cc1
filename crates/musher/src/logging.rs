//! The server's own log: one line for each thing that it does, on standard error and in a bounded file.
//!
//! The parts of the server write lines with `tracing`; nothing else knows this module. Lines are formatted where they
//! are written and handed to a thread for each destination, so that a terminal that is paused or a disk that is full
//! never holds up the server. [`ServerLog::start`] begins it, and [`start_in_runner`] is the small one for runners.

mod file;
mod line;
mod plain;
mod sink;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use musher_runtime::Secrets;
use tracing::subscriber::set_global_default;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, Registry};

use file::BoundedFile;
use line::LineLayer;
pub use plain::start_in_runner;
use sink::Sink;

/// What is logged when nobody says otherwise: what the server does, and what goes wrong in the libraries below it.
const DEFAULT_FILTER: &str = "warn,musher=info,musher_runtime=info";

/// The target of lines that the command line also says in its own words. A person would read them twice, so that in text
/// they are in the file alone.
pub const SAID_IN_WORDS: &str = "musher::said_in_words";

/// How long the end of the server waits for the last lines to be written.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// How a line of the server's log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people: time, level, message, then `field=value`.
    Text,
    /// A JSON object for programs.
    Json,
}

/// Why the log could not begin.
#[derive(Debug, thiserror::Error)]
pub enum LogSetupError {
    #[error("RUST_LOG cannot be read: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    #[error("the log cannot begin: {0}")]
    Thread(#[from] std::io::Error),
    #[error("the log was begun before in this process")]
    Begun(#[from] tracing::subscriber::SetGlobalDefaultError),
}

/// Where lines go.
#[derive(Debug, Clone)]
struct Sinks {
    stderr: Sink,
    file: Sink,
}

/// The server's log, for as long as this lives; its last lines are written when it is dropped.
#[derive(Debug)]
pub struct ServerLog {
    sinks: Sinks,
}

impl ServerLog {
    /// Begins the log of this process. `filter` is what RUST_LOG says, and `secrets` never appear in a line.
    pub fn start(
        format: LogFormat,
        filter: Option<&str>,
        state: &Path,
        secrets: Secrets,
    ) -> Result<Self, LogSetupError> {
        let filter = EnvFilter::try_new(filter.unwrap_or(DEFAULT_FILTER))?;
        let path = log_file(state);
        let sinks = Sinks {
            stderr: Sink::start("log-stderr", format, || Some(Box::new(std::io::stderr())))?,
            file: Sink::start("log-file", format, move || {
                let file = BoundedFile::open(&path)?;
                Some(Box::new(file) as Box<dyn Write>)
            })?,
        };
        let layer = LineLayer { format, secrets, sinks: sinks.clone() };
        set_global_default(Registry::default().with(filter).with(layer))?;
        log_panics();
        Ok(Self { sinks })
    }
}

impl Drop for ServerLog {
    fn drop(&mut self) {
        let Sinks { stderr, file } = &self.sinks;
        [stderr, file].into_iter().for_each(|sink| sink.flush(FLUSH_WITHIN));
    }
}

/// Where the server's log is kept; the one before it has `.1` at its end.
pub fn log_file(state: &Path) -> PathBuf {
    state.join("server.log")
}

/// Makes a bug one line of the log, also where its thread is not waited for.
fn log_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str().unwrap_or("it did not say why");
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        tracing::error!(cause = text, at, thread, "a bug broke part of the server; report it");
        // Whoever asks for a backtrace gets it on standard error, where it can have many lines.
        if std::backtrace::Backtrace::capture().status()
            == std::backtrace::BacktraceStatus::Captured
        {
            usual(panic);
        }
    }));
}
