//! For programs: one JSON object a line on standard output, and nothing else.

use std::io::{self, Write};

use musher_core::{ClosedBy, Delta, EventKind};
use musher_runtime::Output;
use serde::Serialize;

use super::super::tell;
use super::View;

/// Writes events as they are. Deltas have no number.
#[derive(Debug, Default)]
pub(crate) struct Json {
    line: Vec<u8>,
}

#[derive(Serialize)]
struct DeltaLine<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    delta: &'a Delta,
}

impl View for Json {
    fn show(&mut self, output: &Output, _asking: bool) -> io::Result<()> {
        self.line.clear();
        match output {
            Output::Event(event) => {
                serde_json::to_writer(&mut self.line, event)?;
                if let EventKind::AskClosed { ask, by: ClosedBy::Unattended, .. } = &event.kind {
                    self.say(&format!("ask {ask} was denied: nobody is there to answer (--allow settles it by rule)"));
                }
            }
            Output::Delta(delta) => {
                serde_json::to_writer(&mut self.line, &DeltaLine { r#type: "delta", delta })?;
            }
        }
        self.line.push(b'\n');
        let mut stdout = io::stdout().lock();
        stdout.write_all(&self.line)?;
        stdout.flush()
    }

    fn ask(&mut self, text: &str) {
        self.say(text);
    }

    fn say(&mut self, text: &str) {
        tell(text);
    }
}
