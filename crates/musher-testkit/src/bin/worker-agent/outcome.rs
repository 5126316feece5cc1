//! How a turn ends: the last frame of it, with what it used and what the session has used in all.

use std::io;

use serde_json::{Map, Value as Json, json};

use crate::agent::Agent;
use crate::calls::Charge;
use crate::home::Spent;
use crate::turn::Turn;

impl Agent {
    pub(crate) fn completed(&mut self, turn: &Turn) -> io::Result<()> {
        self.exit = 0;
        let mut frame = self.charged(turn, turn.spent);
        frame["subtype"] = "success".into();
        frame["is_error"] = false.into();
        frame["api_error_status"] = Json::Null;
        frame["terminal_reason"] = "completed".into();
        frame["stop_reason"] = "end_turn".into();
        frame["result"] = turn.last_text.clone().into();
        self.result(frame)
    }

    /// A failure of the model's service, which the real agent calls a success with an error.
    pub(crate) fn failed(&mut self, turn: &Turn, why: &str) -> io::Result<()> {
        self.exit = 1;
        let id = self.wire.mint.id("msg");
        self.wire.frame(json!({
            "type": "assistant",
            "message": {
                "id": id, "type": "message", "role": "assistant", "model": "<synthetic>",
                "content": [{ "type": "text", "text": why }],
                "usage": { "input_tokens": 0, "output_tokens": 0 },
            },
            "parent_tool_use_id": null,
            "error": "server_error",
        }))?;
        let mut frame = self.charged(turn, turn.spent);
        frame["subtype"] = "success".into();
        frame["is_error"] = true.into();
        frame["api_error_status"] = 500.into();
        frame["terminal_reason"] = "api_error".into();
        frame["result"] = why.into();
        self.result(frame)
    }

    /// An interrupted turn that is charged as one costs nothing: the real agent does not count a call that was cut off.
    pub(crate) fn aborted(&mut self, turn: &Turn, how: &str) -> io::Result<()> {
        self.exit = 1;
        let spent = match turn.charge {
            Charge::Turn => Spent::default(),
            Charge::Calls => turn.spent,
        };
        let mut frame = self.charged(turn, spent);
        frame["subtype"] = "error_during_execution".into();
        frame["is_error"] = true.into();
        frame["terminal_reason"] = how.into();
        frame["errors"] = json!(["[ede_diagnostic] result_type=user"]);
        self.result(frame)
    }

    /// What every such frame says, after the spending was entered.
    fn charged(&mut self, turn: &Turn, spent: Spent) -> Json {
        let Spent { input, output, cost } = spent;
        let mut since = Map::new();
        if input > 0 || output > 0 || cost > 0.0 {
            since.insert(self.wire.model.clone(), model_usage(spent));
        }
        if turn.charge == Charge::Turn && !since.is_empty() {
            let total = self.memory.totals.entry(self.wire.model.clone()).or_default();
            total.input = total.input.saturating_add(input);
            total.output = total.output.saturating_add(output);
            total.cost += cost;
        }
        let totals = self.memory.totals.iter();
        let totals: Map<_, _> =
            totals.map(|(model, spent)| (model.clone(), model_usage(*spent))).collect();
        let cost: f64 = self.memory.totals.values().map(|spent| spent.cost).sum();
        json!({
            "usage": usage(input, output),
            "total_cost_usd": cost,
            "modelUsage": totals,
            "model_usage_since_last_result": since,
            "permission_denials": turn.denials,
            "num_turns": turn.messages,
            "duration_ms": u64::try_from(turn.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "queued_turn_count": self.queue.len(),
        })
    }

    fn result(&mut self, mut frame: Json) -> io::Result<()> {
        frame["type"] = "result".into();
        frame["result_index"] = self.results.into();
        self.results += 1;
        self.memory.keep()?;
        self.wire.frame(frame)
    }
}

/// The end of a process that was to resume a session which nobody knows; gives its exit code.
pub(crate) fn unknown_session(session: &str) -> io::Result<u8> {
    let digits = session.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let is_uuid = digits && session.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    let why = if is_uuid {
        format!("No conversation found with session ID: {session}")
    } else {
        format!(
            "Error: --resume requires a valid session ID or session title when used with --print. \
             Provided value \"{session}\" is not a UUID and does not match any session title."
        )
    };
    let frame = json!({
        "type": "result", "subtype": "error_during_execution", "duration_ms": 0, "is_error": true,
        "num_turns": 0, "stop_reason": null, "session_id": session, "total_cost_usd": 0,
        "usage": usage(0, 0), "modelUsage": {}, "permission_denials": [], "errors": [why],
        "result_index": 0,
    });
    io::Write::write_all(&mut io::stdout(), format!("{frame}\n").as_bytes())?;
    eprintln!("{why}");
    Ok(1)
}

fn usage(input: u64, output: u64) -> Json {
    json!({
        "input_tokens": input, "output_tokens": output,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    })
}

fn model_usage(spent: Spent) -> Json {
    json!({
        "inputTokens": spent.input, "outputTokens": spent.output,
        "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "thinkingTokens": 0,
        "costUSD": spent.cost, "costBasis": "list",
        "contextWindow": 1_000_000, "maxOutputTokens": 128_000,
    })
}
