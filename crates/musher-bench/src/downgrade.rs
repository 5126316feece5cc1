//! An older build meets a journal with a fact that it does not know: it must refuse it, change nothing, and leave agents alone.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use musher_client::api::ApiRun;
use serde_json::json;

use crate::setup::Setup;
use crate::stage::place::{Held, Place};

/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// Lets this build write a fact that an older one does not know, and starts the older one.
#[derive(Debug, Clone, Args)]
pub struct Downgrade {
    /// A musher of an older build.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

impl Downgrade {
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        // Servers are started in another folder.
        let older = self.to.canonicalize().with_context(|| self.to.display().to_string())?;
        let mut place = Place::open(&Setup::unmeasured(None)?)?;
        let held = place.begin_held("[[work lines=3]]").await?;
        let runner = place.runner(&held.run)?;
        take_a_message_back(&place, &held).await?;
        place.kill_server()?;
        let before = facts(place.top())?;
        let said = refused(&older, place.top())?;
        ensure!(facts(place.top())? == before, "the older build changed the facts");
        ensure!(place.runner(&held.run)? == runner, "the older build touched the agent");
        println!("the older build refuses: {}", said.trim());
        place.serve_again()?;
        place.let_go(&held).await?;
        until_over(&place, &held.run).await?;
        println!("{} facts unchanged; the run was taken up again and has completed", before.len());
        Ok(ExitCode::SUCCESS)
    }
}

/// Queues a message behind the turn and takes it back: of this the older build knows no fact.
async fn take_a_message_back(place: &Place, held: &Held) -> anyhow::Result<()> {
    let client = place.client();
    client.post(&["runs", &held.run, "prompt"], &json!({ "text": "And then?" })).await?;
    let began = Instant::now();
    let queued = loop {
        let run: ApiRun = client.read(&["runs", &held.run], &[]).await?;
        if let Some(message) = run.queued.first() {
            break message.id.clone();
        }
        ensure!(began.elapsed() < PATIENCE, "the message is not queued");
        tokio::time::sleep(LOOK).await;
    };
    client.delete(&["runs", &held.run, "queued", &queued], &json!({})).await?;
    Ok(())
}

/// All facts, as they are written.
fn facts(top: &Path) -> anyhow::Result<Vec<String>> {
    let db = rusqlite::Connection::open(top.join("state/journal.db"))?;
    let mut sql = db.prepare("SELECT id || ' ' || at || ' ' || body FROM facts ORDER BY id")?;
    let facts = sql.query_map([], |row| row.get(0))?;
    Ok(facts.collect::<Result<_, _>>()?)
}

/// Starts the older build, which must end by itself; gives what it says.
fn refused(musher: &Path, top: &Path) -> anyhow::Result<String> {
    let mut server = Command::new(musher)
        .args(["serve", "--json", "--listen", "127.0.0.1:0", "--state"])
        .arg(top.join("state"))
        .current_dir(top.join("repo"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", top)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {}", musher.display()))?;
    let began = Instant::now();
    while server.try_wait()?.is_none() {
        if began.elapsed() > PATIENCE {
            server.kill()?;
            server.wait()?;
            bail!("{} serves the journal: it knows all of its facts", musher.display());
        }
        std::thread::sleep(LOOK);
    }
    let output = server.wait_with_output()?;
    ensure!(!output.status.success(), "the older build ended as if all were well");
    let said = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&said).into_owned())
}

async fn until_over(place: &Place, run: &str) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let found: ApiRun = place.client().read(&["runs", run], &[]).await?;
        if found.is_over() {
            let outcome = found.outcome.as_deref();
            ensure!(outcome == Some("completed"), "{run} ended as {outcome:?}");
            return Ok(());
        }
        ensure!(began.elapsed() < PATIENCE, "{run} does not end");
        tokio::time::sleep(LOOK).await;
    }
}
