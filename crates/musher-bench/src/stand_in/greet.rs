//! The first words of the protocol that an agent of the benchmark speaks.

use std::io::{self, BufRead, Write};

use serde_json::{Value as Json, json};

/// Answers the first request, and returns when there is a prompt.
pub(super) fn greet(input: &mut impl BufRead, out: &mut impl Write) -> anyhow::Result<()> {
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let told: Json = serde_json::from_str(&line)?;
        line.clear();
        if told["request"]["subtype"] == "initialize" {
            let response =
                json!({ "subtype": "success", "request_id": told["request_id"], "response": {} });
            writeln!(out, "{}", json!({ "type": "control_response", "response": response }))?;
            out.flush()?;
        }
        if told["type"] == "user" {
            return Ok(());
        }
    }
    Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
}
