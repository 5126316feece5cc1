//! A recorded stdout, with what each line means for the order of play.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::{fs, io};

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) frames: VecDeque<Frame>,
    /// Whether the agent read its input from stdin; a run with the prompt in its arguments has no stdin file.
    pub(crate) two_way: bool,
    /// Whether a turn after the first waits for a user line. With fewer user lines than results some turns began by
    /// themselves, and it cannot be told which.
    pub(crate) turns_wait: bool,
}

/// One line as it was written, and its part in the play.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) line: String,
    pub(crate) part: Part,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// An answer to a control request; the subtype is known if the request is in the stdin file.
    Response {
        id: String,
        subtype: Option<String>,
    },
    /// A control request of the agent, such as a permission.
    Request {
        id: String,
    },
    Cancel,
    Result,
    /// A frame that begins a turn when it follows a result.
    Opening,
    Other,
}

impl Recording {
    pub(crate) fn read(path: &Path, stdin: Option<&Path>) -> io::Result<Self> {
        let sent = stdin.map(lines).transpose()?.unwrap_or_default();
        Ok(Self::new(&lines(path)?, &sent, stdin.is_some()))
    }

    pub(crate) fn new(lines: &[String], sent: &[String], two_way: bool) -> Self {
        let sent = sent.iter().filter_map(|line| serde_json::from_str(line).ok());
        let sent = sent.collect::<Vec<Value>>();
        let subtypes = sent
            .iter()
            .filter(|line| line["type"] == "control_request")
            .filter_map(|line| {
                Some((text(&line["request_id"])?, text(&line["request"]["subtype"])?))
            })
            .collect::<HashMap<_, _>>();
        let frames = lines
            .iter()
            .map(|line| Frame { part: part(line, &subtypes), line: line.clone() })
            .collect::<VecDeque<_>>();
        let users = sent.iter().filter(|line| line["type"] == "user").count();
        let results = frames.iter().filter(|frame| frame.part == Part::Result).count();
        Self { frames, two_way, turns_wait: users >= results }
    }
}

fn part(line: &str, subtypes: &HashMap<String, String>) -> Part {
    let Ok(frame) = serde_json::from_str::<Value>(line) else {
        return Part::Other;
    };
    let state = frame["state"].as_str();
    match frame["type"].as_str().unwrap_or_default() {
        "control_response" => {
            let id = text(&frame["response"]["request_id"]).unwrap_or_default();
            let subtype = subtypes.get(&id).cloned();
            Part::Response { id, subtype }
        }
        "control_request" => Part::Request { id: text(&frame["request_id"]).unwrap_or_default() },
        "control_cancel_request" => Part::Cancel,
        "result" => Part::Result,
        "system" if frame["subtype"] == "init" => Part::Opening,
        "assistant" | "stream_event" => Part::Opening,
        "command_lifecycle" if matches!(state, Some("queued" | "started")) => Part::Opening,
        _ => Part::Other,
    }
}

fn lines(path: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(path)
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    let lines = text.split('\n').filter(|line| !line.trim().is_empty());
    Ok(lines.map(str::to_owned).collect())
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
