//! An agent that prints a corpus as fast as it is read.

use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::greet::greet;
use crate::stage::alone::monotonic;
use crate::stage::cores;

/// The kind of the frame that comes last.
pub const LAST: &str = "bench_last";
const PIECE: usize = 64 * 1024;

/// Prints a file as fast as it is read.
pub fn pour(file: &Path) -> anyhow::Result<()> {
    cores::stand_aside()?;
    let corpus = std::fs::read(file)?;
    let mut out = io::stdout().lock();
    for piece in corpus.chunks(PIECE) {
        out.write_all(piece)?;
    }
    Ok(out.flush()?)
}

/// Greets as the protocol wants it, waits for the prompt and then for the word of the one who measures, and prints.
pub fn play(file: &Path, folder: &Path) -> anyhow::Result<()> {
    cores::stand_aside()?;
    let corpus = std::fs::read(file)?;
    let mut input = io::BufReader::new(io::stdin());
    let mut out = io::stdout().lock();
    greet(&mut input, &mut out)?;
    // What is answered meanwhile is read, so that nobody waits for us.
    let listening = std::thread::spawn(move || input.lines().for_each(drop));
    let waiting = folder.join("waiting");
    std::fs::write(&waiting, "")?;
    while waiting.exists() {
        std::thread::sleep(Duration::from_micros(200));
    }
    let began = folder.join("began.new");
    std::fs::write(&began, monotonic().to_string())?;
    std::fs::rename(began, folder.join("began"))?;
    for piece in corpus.chunks(PIECE) {
        out.write_all(piece)?;
    }
    writeln!(out, "{}", json!({ "type": LAST }))?;
    out.flush()?;
    // It stays until its input ends.
    let _ended = listening.join();
    Ok(())
}
