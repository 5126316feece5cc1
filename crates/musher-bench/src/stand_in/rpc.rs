//! Agents that speak JSON-RPC and make many calls in one turn that does not end, so that their runners can be weighed.

use std::io::{self, BufRead as _, Write};

use clap::ValueEnum;
use serde_json::{Value as Json, json};

const ID: &str = "s-1";

/// How such an agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RpcSpeech {
    Codex,
    Acp,
}

/// Answers what the protocol asks, makes so many calls at the first prompt, and stays until its input ends.
pub fn play(speech: RpcSpeech, calls: usize) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let told: Json = serde_json::from_str(&line?)?;
        let (Some(method), false) = (told["method"].as_str(), told["id"].is_null()) else {
            continue;
        };
        let is_prompt = matches!(method, "turn/start" | "session/prompt");
        let result = match (speech, method) {
            (RpcSpeech::Codex, "thread/start") => json!({ "thread": { "id": ID } }),
            (RpcSpeech::Codex, "turn/start") => {
                json!({ "turn": { "id": "t-1", "status": "inProgress" } })
            }
            (RpcSpeech::Codex, _) => json!({ "userAgent": "stand-in/0" }),
            (RpcSpeech::Acp, "session/new") => json!({ "sessionId": ID }),
            (RpcSpeech::Acp, _) => json!({ "protocolVersion": 1, "agentCapabilities": {} }),
        };
        // A prompt of ACP is answered at the end of its turn, which does not come.
        if !(is_prompt && speech == RpcSpeech::Acp) {
            say(&mut out, &json!({ "jsonrpc": "2.0", "id": told["id"], "result": result }))?;
        }
        if is_prompt {
            for call in 0..calls {
                match speech {
                    RpcSpeech::Codex => codex_call(&mut out, call)?,
                    RpcSpeech::Acp => acp_call(&mut out, call)?,
                }
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn codex_call(out: &mut impl Write, call: usize) -> anyhow::Result<()> {
    for (method, status) in [("item/started", "inProgress"), ("item/completed", "completed")] {
        let item = json!({
            "type": "commandExecution", "id": format!("c{call}"), "command": "echo hi", "cwd": "/",
            "status": status, "aggregatedOutput": "hi\n", "exitCode": 0, "commandActions": [],
        });
        let params = json!({ "item": item, "threadId": ID, "turnId": "t-1" });
        say(out, &json!({ "jsonrpc": "2.0", "method": method, "params": params }))?;
    }
    Ok(())
}

fn acp_call(out: &mut impl Write, call: usize) -> anyhow::Result<()> {
    for (kind, status) in [("tool_call", "in_progress"), ("tool_call_update", "completed")] {
        let update = json!({
            "sessionUpdate": kind, "toolCallId": format!("c{call}"), "title": "echo hi",
            "kind": "execute", "status": status,
            "content": [{ "type": "content", "content": { "type": "text", "text": "hi" } }],
        });
        let params = json!({ "sessionId": ID, "update": update });
        say(out, &json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))?;
    }
    Ok(())
}

fn say(out: &mut impl Write, message: &Json) -> anyhow::Result<()> {
    Ok(writeln!(out, "{message}")?)
}
