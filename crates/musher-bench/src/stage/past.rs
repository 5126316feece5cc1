//! Runs that are over: facts in a journal and a log for each, made without agents.

use std::path::Path;

use anyhow::Context as _;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use musher_core::{Event, RunId, SessionEnded};
use musher_log::{Lock, Writer};
use serde_json::{Value as Json, json};

use super::pool::{Deciding, add, live};

/// So many decisions wait for the disk together.
const AT_ONCE: usize = 200;
const BEGAN: i64 = 1_790_000_000_000;

/// Adds so many runs with so many events each to a state directory that nobody serves.
pub async fn add_past(state: &Path, runs: u64, events: u64) -> anyhow::Result<()> {
    let deciding = Deciding::open(&state.join("journal.db"))?;
    let handle = deciding.handle();
    let making = (0..runs).map(|nth| {
        let handle = handle.clone();
        async move {
            let story = add(&handle, &format!("past-{nth}")).await?;
            live(&handle, &story).await
        }
    });
    let made: Vec<RunId> = stream::iter(making).buffer_unordered(AT_ONCE).try_collect().await?;
    deciding.close().await?;
    let folder = state.join("runs");
    tokio::task::spawn_blocking(move || {
        made.iter().try_for_each(|run| write_log(&folder.join(run.to_string()), run, events))
    })
    .await?
}

/// Writes the log of a run that is over, through the real writer.
pub fn write_log(folder: &Path, run: &RunId, events: u64) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut writer = Writer::create(Lock::take(folder)?, &run.to_string())?;
    let mut batch = Vec::new();
    for seq in 1..=events {
        batch.push(event(seq, events)?);
        if batch.len() == 1000 || seq == events {
            writer.append(&batch)?;
            batch.clear();
        }
    }
    let ended: SessionEnded = serde_json::from_value(end())?;
    Ok(writer.finish(&ended)?)
}

/// One event of a log of so many: words, and the end.
pub fn event(seq: u64, of: u64) -> anyhow::Result<Event> {
    let mut line = match seq == of {
        true => end(),
        false => json!({
            "type": "item_done", "item": format!("item-{seq}"),
            "body": { "kind": "text", "text": format!(
                "Line {seq}: the agent looks at this part of the work, says what it found there, \
                 and goes on with the next one, for there is always a next one."
            ) },
        }),
    };
    line["seq"] = seq.into();
    line["at"] = (BEGAN + i64::try_from(seq)?).into();
    Ok(serde_json::from_value(line)?)
}

pub fn end() -> Json {
    json!({
        "type": "session_ended", "outcome": "completed", "session": "past", "origin": "fresh",
        "usage": {
            "input": 0, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0,
            "cache_write_other": 0, "output": 0, "reasoning": 0,
        },
        "cost_usd": null, "turns": 1, "model_calls": 1, "duration_ms": 1000,
    })
}
