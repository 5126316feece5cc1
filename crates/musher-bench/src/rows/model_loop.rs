//! Our own loop around a model: what it adds to each call, in every wire format.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use musher_core::Outcome;
use musher_runtime::anthropic::Anthropic;
use musher_runtime::gemini::Gemini;
use musher_runtime::openai::OpenAi;
use musher_runtime::{CancellationToken, Environment, Runtime, SessionSpec, run_once};
use musher_testkit::model::{ModelServer, Request};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::bench::Bench;
use crate::measure::{Bar, Measure};
use crate::row::{Needs, Rounds, Row};

const BARE: &str = "the same requests by a bare client";

pub const ROW: Row = Row {
    name: "model-loop",
    about: "a call of a model and of a tool that reads a file, 50 times in one session",
    measures: &[
        Measure::beside("messages", "Messages, each call", "ms", BARE, Bar::OverAtMost(5.0)),
        Measure::beside("responses", "Responses, each call", "ms", BARE, Bar::OverAtMost(5.0)),
        Measure::beside("chat", "Chat Completions, each call", "ms", BARE, Bar::OverAtMost(5.0)),
        Measure::beside("generate", "Gemini, each call", "ms", BARE, Bar::OverAtMost(5.0)),
    ],
    rounds: Rounds::Many,
    needs: Needs::Programs,
    run: |bench| Box::pin(run(bench)),
};

const CALLS: u64 = 50;
const KEY: &str = "dummy-key-of-the-benchmark";

/// A wire format, and how it is reached.
struct Wire {
    key: &'static str,
    runtime: Box<dyn Runtime>,
    name: Option<&'static str>,
    address: (&'static str, String),
    secret: &'static str,
}

async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    musher_client::prepare();
    let calls = bench.setup.effort.of(CALLS);
    let server = ModelServer::start().await?;
    let folder = TempDir::new_in(&bench.setup.folder)?;
    let work = folder.path().join("work");
    std::fs::create_dir(&work)?;
    std::fs::write(work.join("file.txt"), "a line\n".repeat(20))?;
    let script = folder.path().join("script.json");
    let step = json!({
        "text": "I look at the file again.",
        "tools": [{ "name": "read_file", "input": { "path": "file.txt" } }],
    });
    let steps: Vec<Json> = (0..calls).map(|_| step.clone()).collect();
    std::fs::write(&script, Json::from(steps).to_string())?;
    let prompt = format!("[[scn:script file={}]]", script.display());
    let client = reqwest::Client::builder().no_proxy().build()?;
    let wires = wires(&server);
    while bench.another_round()? {
        for wire in &wires {
            // What a session takes to begin and to end is no call's.
            let spec = |prompt| spec(wire, prompt, &work, folder.path());
            let around = session(wire, spec("[[scn:text say=Done]]")?).await?;
            // The bare client sends what ours has sent, so ours is always first.
            let mut ours = 0.0;
            for _ in 0..bench.slow.times() {
                server.reset();
                ours += session(wire, spec(&prompt)?).await? - around;
            }
            let requests = server.requests();
            ensure!(requests.len() as u64 == calls + 1, "{} requests were made", requests.len());
            let began = Instant::now();
            for request in &requests {
                send(&client, &server, request).await?;
            }
            let bare = began.elapsed().as_secs_f64() * 1e3;
            bench.pair(wire.key, ours / calls as f64, bare / requests.len() as f64)?;
        }
    }
    Ok(())
}

fn wires(server: &ModelServer) -> Vec<Wire> {
    let openai = || ("OPENAI_BASE_URL", server.openai_url());
    vec![
        Wire {
            key: "messages",
            runtime: Box::new(Anthropic::default()),
            name: None,
            address: ("ANTHROPIC_BASE_URL", server.url().to_owned()),
            secret: "ANTHROPIC_API_KEY",
        },
        Wire {
            key: "responses",
            runtime: Box::new(OpenAi::default()),
            name: None,
            address: openai(),
            secret: "OPENAI_API_KEY",
        },
        Wire {
            key: "chat",
            runtime: Box::new(OpenAi::default()),
            name: Some("chat"),
            address: openai(),
            secret: "OPENAI_API_KEY",
        },
        Wire {
            key: "generate",
            runtime: Box::new(Gemini::default()),
            name: None,
            address: ("GOOGLE_GEMINI_BASE_URL", server.url().to_owned()),
            secret: "GEMINI_API_KEY",
        },
    ]
}

/// One session to its end: the milliseconds.
async fn session(wire: &Wire, spec: SessionSpec) -> anyhow::Result<f64> {
    let began = Instant::now();
    let result = run_once(wire.runtime.as_ref(), spec, &CancellationToken::new()).await;
    let took = began.elapsed().as_secs_f64() * 1e3;
    let why = || format!("{}: {:?} {:?}", wire.key, result.outcome, result.error);
    ensure!(result.outcome == Outcome::Completed, why());
    Ok(took)
}

fn spec(wire: &Wire, prompt: &str, work: &Path, home: &Path) -> anyhow::Result<SessionSpec> {
    let vars = [
        ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
        ("HOME".into(), home.into()),
    ];
    let environment =
        Environment::from_vars(vars).set(wire.address.0, &wire.address.1).set(wire.secret, KEY);
    let mut spec = SessionSpec::new(prompt, work, environment);
    spec.session_dir = Some(tempfile::Builder::new().tempdir_in(home)?.keep());
    spec.permission_mode = Some("free".into());
    spec.model_options.wire = wire.name.map(Into::into);
    Ok(spec)
}

/// Sends a request again as it was, and reads the reply to its end.
async fn send(
    client: &reqwest::Client,
    server: &ModelServer,
    request: &Request,
) -> anyhow::Result<()> {
    let question = if request.query.is_empty() { "" } else { "?" };
    let url = format!("{}{}{question}{}", server.url(), request.path, request.query);
    let mut sending = client.post(url);
    for (name, value) in &request.headers {
        if !["host", "content-length", "connection", "transfer-encoding"].contains(&name.as_str()) {
            sending = sending.header(name, value);
        }
    }
    let reply = sending.body(request.body.clone()).send().await.context("the bare client")?;
    ensure!(reply.status().is_success(), "the bare client was told {}", reply.status());
    reply.bytes().await?;
    Ok(())
}
