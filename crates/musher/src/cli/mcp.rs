//! `musher mcp`: the operator's tools over standard input and output, for assistants that start programs.

use std::path::PathBuf;

use clap::Args;
use futures_util::stream::unfold;
use musher_runtime::Environment;
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;
use tokio_util::sync::CancellationToken;

use super::place::PlaceArgs;
use super::{CliError, CliExit};
use crate::mcp::api_client::Remote;
use crate::mcp::operator::{INSTRUCTIONS, Operator};
use crate::mcp::{self, ToolServer};
use crate::runner::bridge::{BridgeError, bridge};
use crate::runner::tools::SECRET;

/// Pieces of input that may wait to be read.
const WAITING: usize = 16;

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Offer the tools of the one run in this folder instead; an agent's program is told to do so by its runner.
    #[arg(long, value_name = "DIR", hide = true)]
    run: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Mcp {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        match self.run {
            Some(folder) => bridge_to(folder).await?,
            None => operate(self.place).await,
        }
        Ok(CliExit::Completed)
    }
}

/// Serves the operator's tools. The server may come and go meanwhile; a call finds out.
async fn operate(place: PlaceArgs) {
    let place = place.place();
    let office = Remote::new(move || Ok(place.find()?.of_assistant()));
    let door = ToolServer::new(Operator::new(office), INSTRUCTIONS);
    mcp::serve(door, StreamReader::new(input()), tokio::io::stdout(), &CancellationToken::new())
        .await;
}

/// Our input, read by a thread of its own: one that waits for input cannot be stopped, and must not hold up the end.
fn input()
-> std::pin::Pin<Box<dyn futures_util::Stream<Item = std::io::Result<bytes::Bytes>> + Send>> {
    let (pieces, read) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        let mut buffer = [0; 64 * 1024];
        loop {
            let piece = match std::io::Read::read(&mut std::io::stdin(), &mut buffer) {
                Ok(0) => return,
                Ok(count) => Ok(bytes::Bytes::copy_from_slice(&buffer[..count])),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let broken = piece.is_err();
            if pieces.blocking_send(piece).is_err() || broken {
                return;
            }
        }
    });
    Box::pin(unfold(read, |mut read| async { read.recv().await.map(|piece| (piece, read)) }))
}

async fn bridge_to(folder: PathBuf) -> Result<(), CliError> {
    let environment = Environment::of_this_process();
    let secret = environment.get(SECRET).and_then(|secret| secret.to_str()).unwrap_or_default();
    bridge(&folder, secret).await.map_err(|error| match error {
        BridgeError::Gone(_) | BridgeError::Link(_) | BridgeError::Broken(_) => {
            CliError::Unavailable(error.to_string())
        }
        BridgeError::Refused(_) => CliError::hinted(
            error.to_string(),
            "only the agent of the run can use its tools; an assistant uses `musher mcp`",
        ),
    })
}
