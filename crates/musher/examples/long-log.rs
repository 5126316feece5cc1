//! Writes a run log of any length through the real writer: `long-log FOLDER RUN EVENTS`, in place of the one there.
//!
//! The log has turns of a thousand events: texts, calls of every outcome, an error here and an answered ask there, so
//! that a page that shows it meets everything that a long run brings. It says how many events it wrote.

use std::io::Write;
use std::path::Path;

use musher_core::{Event, SessionEnded};
use musher_log::{Lock, Writer};
use serde_json::{Value as Json, json};

/// Events in a turn, and when the first one was heard.
const TURN: u64 = 1_000;
const BEGAN: i64 = 1_790_000_000_000;
/// Events that are handed over at once.
const BATCH: u64 = 2_000;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, run, count] = args.as_slice() else {
        anyhow::bail!("give a folder, the id of the run and a number of events");
    };
    let (folder, count) = (Path::new(folder), count.parse::<u64>()?.max(10));
    clear(folder)?;
    let mut writer = Writer::create(Lock::take(folder)?, run)?;
    let mut batch = Vec::new();
    for seq in 1..=count {
        batch.push(event(seq, count)?);
        if seq % BATCH == 0 || seq == count {
            writer.append(&batch)?;
            batch.clear();
        }
    }
    let ended: SessionEnded = serde_json::from_value(end())?;
    writer.finish(&ended)?;
    writeln!(std::io::stdout(), "{count} events")?;
    Ok(())
}

/// Takes away the log that is there, and nothing else.
fn clear(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_log = ["events-", "raw-"].iter().any(|start| name.starts_with(start));
        if is_log || name == "head" || name == "outcome.json" {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// The event with this number. Each kind has its place in a turn, in blocks of ten.
fn event(seq: u64, count: u64) -> anyhow::Result<Event> {
    let (turn, place) = ((seq - 1) / TURN + 1, (seq - 1) % TURN);
    let block = (seq - 1) / 10;
    let call = format!("call-{block}");
    let mut line = match place {
        _ if seq == count => end(),
        0 => json!({"type": "turn_started", "trigger": "prompt", "prompts": [format!("p{turn}")]}),
        1 => json!({"type": "user_message", "prompt": format!("p{turn}"), "origin": "prompt",
            "text": format!("Take the next part of the work, number {turn}.")}),
        _ if place == TURN - 1 || seq == count - 1 => {
            json!({"type": "turn_ended", "outcome": "completed", "model_calls": 90, "duration_ms": 90_000})
        }
        30..=39 => helper(place - 30, turn),
        500 => json!({"type": "error", "error": {"class": "overloaded",
            "message": format!("overloaded in turn {turn}"), "http": 529}}),
        _ => inner(place % 10, block, seq, &call),
    };
    line["seq"] = seq.into();
    line["at"] = (BEGAN + i64::try_from(seq)? * 100).into();
    if seq != count {
        line["turn"] = turn.into();
    }
    Ok(serde_json::from_value(line)?)
}

/// What stands at a place of a block: words, a thought, a call with its steps, and what it cost.
fn inner(place: u64, block: u64, seq: u64, call: &str) -> Json {
    let failed = block % 37 == 5;
    match place {
        2 | 8 => {
            json!({"type": "item_done", "item": format!("item-{seq}"), "body": {"kind": "text",
            "text": format!("Line {seq}: I look at part **{block}** of the work, and go on with the next one.")}})
        }
        3 => {
            json!({"type": "item_done", "item": format!("item-{seq}"), "body": {"kind": "reasoning",
            "text": format!("Part {block} may need another look.")}})
        }
        4 => {
            json!({"type": "tool", "call": call, "phase": "proposed", "name": "run", "kind": "execute",
            "subject": format!("cargo test part_{block}"), "input": {"command": format!("cargo test part_{block}")},
            "by": "agent"})
        }
        5 => json!({"type": "tool", "call": call, "phase": "running", "by": "agent"}),
        6 => {
            json!({"type": "tool", "call": call, "phase": if failed { "failed" } else { "completed" }, "by": "agent",
            "output": {"text": format!("test part_{block} … {}", if failed { "FAILED" } else { "ok" }),
                "exit_code": i32::from(failed)}, "elapsed_ms": 300})
        }
        _ => {
            json!({"type": "usage", "of": "model_call", "cumulative": false, "model": "script", "input": 120,
            "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "cache_write_other": 0, "output": 40,
            "reasoning": 0, "cost_usd": 0.001, "cost_basis": "reported"})
        }
    }
}

/// A helper of the agent's own, which works for one call of it.
fn helper(place: u64, turn: u64) -> Json {
    let parent = format!("helper-{turn}");
    let scope = json!({"kind": "subagent", "agent": "h1", "parent_call": parent, "name": "Looker"});
    match place {
        0 => {
            json!({"type": "tool", "call": parent, "phase": "proposed", "name": "Helper", "kind": "subagent",
            "subject": format!("look around in turn {turn}"), "input": {"task": "look around"}, "by": "agent"})
        }
        9 => {
            json!({"type": "tool", "call": parent, "phase": "completed", "by": "agent", "elapsed_ms": 900,
            "output": {"text": "It looked around."}})
        }
        _ => json!({"type": "item_done", "item": format!("helper-{turn}-{place}"), "scope": scope,
            "body": {"kind": "text", "text": format!("Helper step {place} of turn {turn}.")}}),
    }
}

fn end() -> Json {
    json!({"type": "session_ended", "outcome": "completed", "session": "long", "origin": "fresh",
        "usage": {"input": 0, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "cache_write_other": 0,
            "output": 0, "reasoning": 0},
        "cost_usd": null, "turns": 1, "model_calls": 1, "duration_ms": 1000})
}
