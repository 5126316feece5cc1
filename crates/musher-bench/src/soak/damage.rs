//! Damage that is done on purpose, to see that it is noticed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use musher::runner::spec::RunSpec;
use musher_testkit::books::BOOKS;
use serde_json::json;
use tokio::net::TcpStream;

use super::faults;
use super::world::{OUTCOME, World};

const LOOK: Duration = Duration::from_millis(20);
/// So many connections that nobody needs cost more memory than a server may take more.
const CONNECTIONS: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Damage {
    /// A viewer overlooks an event.
    DropEvent,
    /// A viewer takes an event twice.
    DoubleEvent,
    /// A client takes a story for added that it never sent.
    LoseStory,
    /// An agent gets an answer for a second time.
    AnswerTwice,
    /// A process of a run outlives it.
    Orphan,
    /// A line is cut out of the log of a run that has ended.
    CutLog,
    /// An agent knows of a call that nobody was told of.
    HideCall,
    /// Something makes the server take more and more memory.
    Memory,
}

impl Damage {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Does the damage that no client does by itself, and holds it until the end.
pub(super) async fn plant(world: Arc<World>, damage: Damage) -> anyhow::Result<()> {
    match damage {
        Damage::DropEvent | Damage::DoubleEvent | Damage::LoseStory => Ok(()),
        Damage::AnswerTwice => answer_twice(&world).await,
        Damage::Orphan => orphan(&world).await,
        Damage::CutLog => cut_log(&world).await,
        Damage::HideCall => hide_call(&world).await,
        Damage::Memory => take_memory(&world).await,
    }
}

/// Says to an agent once more what it was told, behind the back of its runner.
async fn answer_twice(world: &World) -> anyhow::Result<()> {
    while world.goes_on_after(LOOK).await {
        let effects = std::fs::read_to_string(world.worker_home.join("effects"));
        let effects = effects.unwrap_or_default();
        let Some(ask) = effects.lines().find_map(|line| line.strip_prefix("answer ")) else {
            continue;
        };
        let ask = ask.split(' ').next().unwrap_or_default();
        let response = json!({ "subtype": "success", "request_id": ask, "response": {} });
        let frame = json!({ "type": "control_response", "response": response });
        // Whichever agent hears it waits for no such answer.
        let Some(agent) = faults::agents(world).into_iter().next() else { continue };
        let input = File::options().write(true).open(format!("/proc/{}/fd/0", agent.pid));
        let Ok(mut input) = input else { continue };
        input.write_all(format!("{frame}\n").as_bytes())?;
        world.count("answers given for a second time");
        return Ok(());
    }
    Ok(())
}

/// A run that has ended, with its folder.
async fn ended(world: &World) -> Option<std::path::PathBuf> {
    while world.goes_on_after(LOOK).await {
        let folders = std::fs::read_dir(world.runs()).into_iter().flatten().flatten();
        let ended = |folder: &std::path::PathBuf| folder.join(OUTCOME).exists();
        if let Some(folder) = folders.map(|folder| folder.path()).find(ended) {
            return Some(folder);
        }
    }
    None
}

/// A process that is ended when it has served.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        // Whatever is dead already is as good.
        let _dead = self.0.kill();
        let _dead = self.0.wait();
    }
}

async fn orphan(world: &World) -> anyhow::Result<()> {
    let Some(folder) = ended(world).await else { return Ok(()) };
    let mark = RunSpec::read(&folder)?.mark;
    let sleeper = Command::new("sleep")
        .arg("600")
        .env(musher_runtime::MARK, mark)
        .stdin(Stdio::null())
        .spawn()
        .context("starting an orphan")?;
    let _sleeper = Sleeper(sleeper);
    while world.goes_on_after(Duration::from_secs(1)).await {}
    Ok(())
}

async fn cut_log(world: &World) -> anyhow::Result<()> {
    let Some(folder) = ended(world).await else { return Ok(()) };
    let entries = std::fs::read_dir(&folder)?.flatten();
    let is_segment = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "jsonl");
    let segment = entries.map(|entry| entry.path()).find(is_segment);
    let segment = segment.context("there is no segment")?;
    let text = std::fs::read(&segment)?;
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines.remove(lines.len() / 2);
    Ok(std::fs::write(segment, lines.concat())?)
}

/// Writes calls into the books of every session that has ended one, as if their agents had told of them.
async fn hide_call(world: &World) -> anyhow::Result<()> {
    while world.works_after(Duration::from_secs(1)).await {}
    let path = world.worker_home.join(BOOKS);
    let books = std::fs::read_to_string(&path).unwrap_or_default();
    let sessions = books.lines().filter_map(|line| line.strip_prefix("ended ")?.split(' ').next());
    let sessions: BTreeSet<&str> = sessions.collect();
    let mut file = File::options().append(true).open(path)?;
    for session in sessions {
        for step in ["begins", "ended", "ends"] {
            writeln!(file, "{step} {session} hidden 1000000 1000000")?;
        }
    }
    Ok(())
}

async fn take_memory(world: &World) -> anyhow::Result<()> {
    // The warm-up is over by then.
    let late = world.time.mul_f64(0.45);
    while world.began.elapsed() < late && world.goes_on_after(LOOK).await {}
    let door = world.door();
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = TcpStream::connect(&door.address).await?;
        let request = format!(
            "GET /api/v1/feed HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
            door.address, door.token
        );
        tokio::io::AsyncWriteExt::write_all(&mut connection, request.as_bytes()).await?;
        connections.push(connection);
    }
    while world.goes_on_after(Duration::from_secs(1)).await {}
    Ok(())
}
