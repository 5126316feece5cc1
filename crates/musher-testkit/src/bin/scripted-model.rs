//! The scripted model as a program: prints its URL, and serves until it is told to stop.
#![expect(clippy::print_stdout, reason = "the URL on the first line is this program's output")]

use anyhow::Context as _;
use clap::Parser;
use musher_testkit::model::ModelServer;
use tokio::signal::unix::{SignalKind, signal};

/// A scripted model server that speaks Messages, Responses, Chat Completions and Gemini on loopback.
#[derive(Debug, Parser)]
struct Args {
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut interrupt = signal(SignalKind::interrupt()).context("watching SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("watching SIGTERM")?;
    let server = ModelServer::start_on(args.port).await?;
    println!("{}", server.url());
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
