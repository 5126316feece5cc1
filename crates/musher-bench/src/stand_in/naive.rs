//! The design that one would write first: a thread and a terminal for each agent, every event in a list in memory, and a
//! broadcast to whoever listens.

use std::convert::Infallible;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post};
use futures_util::{Stream, stream};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value as Json;
use tokio::net::TcpListener;
use tokio::sync::broadcast;

/// What the channel holds for those who are slow.
const WAITING: usize = 1024;

#[derive(Debug, Clone)]
struct Naive {
    log: Arc<Mutex<Vec<Json>>>,
    told: broadcast::Sender<Json>,
    file: PathBuf,
}

/// Serves `/events`, `/count`, and `/go`, which starts an agent that prints the file.
pub(super) async fn serve(file: PathBuf) -> anyhow::Result<()> {
    let naive = Naive { log: Arc::default(), told: broadcast::channel(WAITING).0, file };
    let routes = Router::new()
        .route("/events", get(events))
        .route("/count", get(count))
        .route("/go", post(go))
        .with_state(naive);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let serving = axum::serve(listener, routes);
    Ok(serving.with_graceful_shutdown(super::input_ends()).await?)
}

async fn events(State(naive): State<Naive>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let told = naive.told.subscribe();
    Sse::new(stream::unfold(told, |mut told| async move {
        loop {
            match told.recv().await {
                Ok(event) => {
                    let event = Event::default().json_data(event).unwrap_or_default();
                    return Some((Ok(event), told));
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }))
}

async fn count(State(naive): State<Naive>) -> String {
    naive.log.lock().unwrap_or_else(PoisonError::into_inner).len().to_string()
}

async fn go(State(naive): State<Naive>) -> String {
    let started = std::thread::Builder::new().spawn(move || run(&naive));
    started.map_or_else(|error| error.to_string(), |_| "ok".to_owned())
}

/// One agent to its end.
fn run(naive: &Naive) -> anyhow::Result<()> {
    let (master, slave) = terminal()?;
    let mut agent = Command::new(std::env::current_exe()?)
        .args(["stand-in".as_ref(), "pour".as_ref(), "--file".as_ref(), naive.file.as_os_str()])
        .stdin(Stdio::null())
        .stdout(slave)
        .spawn()?;
    // The terminal fails when the agent has left it.
    for line in BufReader::new(master).lines().map_while(Result::ok) {
        let Ok(event) = serde_json::from_str::<Json>(&line) else { continue };
        naive.log.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        // Nobody may be listening.
        let _nobody = naive.told.send(event);
    }
    agent.wait()?;
    Ok(())
}

/// Both ends of a new terminal.
fn terminal() -> anyhow::Result<(File, File)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let path = Path::new(name.to_str()?);
    let slave = open(path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    Ok((File::from(master), File::from(slave)))
}
