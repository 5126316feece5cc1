//! For programs: one JSON object a line on standard output, and nothing else.

use std::io::{self, BufWriter, Write};

use musher_core::{ClosedBy, Delta, EventKind};
use musher_runtime::SessionOutput;
use serde::Serialize;

use super::super::tell;
use super::View;

/// What is gathered before it is written; a long event goes out piece by piece.
const BUFFER: usize = 64 * 1024;

/// Writes events as they are. Deltas have no number.
#[derive(Debug, Default)]
pub(crate) struct JsonRenderer {}

#[derive(Serialize)]
struct DeltaLine<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    delta: &'a Delta,
}

impl View for JsonRenderer {
    fn show(&mut self, output: &SessionOutput, _asking: bool) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
        match output {
            SessionOutput::Event(event) => {
                serde_json::to_writer(&mut out, event)?;
                if let EventKind::AskClosed { ask, by: ClosedBy::Unattended, .. } = &event.kind {
                    tell(&format!("ask {ask} was denied: nobody is there to answer"));
                }
            }
            SessionOutput::Delta(delta) => {
                serde_json::to_writer(&mut out, &DeltaLine { r#type: "delta", delta })?;
            }
        }
        out.write_all(b"\n")?;
        out.flush()
    }

    fn ask(&mut self, text: &str) {
        self.say(text);
    }

    fn say(&mut self, text: &str) {
        tell(text);
    }
}
