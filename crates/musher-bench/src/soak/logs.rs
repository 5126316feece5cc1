//! Run logs as they are on the disk, beside whatever the server says of them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use musher_core::Event;
use musher_log::{LogError, LogRead, LogReader, lines};

use super::broken::{Broken, Promise};

const PIECE: usize = 256 * 1024;
/// How long the head of a log may lag behind what a server has read.
const LAG: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(2);

/// The lines of a log, one after the other, while it grows.
#[derive(Debug)]
pub(super) struct Lines {
    folder: PathBuf,
    reader: Option<LogReader>,
    read: VecDeque<Vec<u8>>,
}

impl Lines {
    pub(super) fn of(folder: PathBuf) -> Self {
        Self { folder, reader: None, read: VecDeque::new() }
    }

    /// The next line; nothing if there is none yet.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        if let Some(line) = self.read.pop_front() {
            return Ok(Some(line));
        }
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => match LogReader::open(&self.folder, None) {
                Ok(reader) => none.insert(reader),
                Err(LogError::Missing { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
        };
        let mut buffer = Vec::new();
        let read = reader.read(&mut buffer, PIECE).map_err(|error| {
            match matches!(error, LogError::Damaged { .. }) {
                true => Broken::error(Promise::Numbers, error.to_string()),
                false => error.into(),
            }
        });
        match read? {
            LogRead::Lines(batch) => {
                self.read.extend(lines(&buffer[batch.lines]).map(<[u8]>::to_vec));
            }
            LogRead::End => {}
            LogRead::Reset { to } => {
                let folder = self.folder.display();
                let seen = format!("{folder} lost what came after {to}, which was written");
                return Err(Broken::error(Promise::Numbers, seen));
            }
        }
        Ok(self.read.pop_front())
    }

    /// The next line, which somebody has seen already.
    pub(super) async fn seen(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let began = Instant::now();
        loop {
            match self.next()? {
                None if began.elapsed() < LAG => tokio::time::sleep(LOOK).await,
                line => return Ok(line),
            }
        }
    }
}

/// All events of a log; none if there is no log.
pub(super) fn events(folder: &Path) -> anyhow::Result<Vec<Event>> {
    let mut lines = Lines::of(folder.to_owned());
    let mut events = Vec::new();
    while let Some(line) = lines.next()? {
        let event = serde_json::from_slice(&line).map_err(|error| {
            let line = String::from_utf8_lossy(&line).into_owned();
            Broken::error(Promise::Numbers, format!("{}: {error}: {line}", folder.display()))
        });
        events.push(event?);
    }
    Ok(events)
}
