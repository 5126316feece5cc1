//! Decides, for each line on stdin, which recorded lines come next.

use std::collections::VecDeque;
use std::io;

use serde_json::{Value, json};

use crate::recording::{Frame, Part, Recording};

#[derive(Debug)]
pub(crate) struct Player {
    frames: VecDeque<Frame>,
    two_way: bool,
    turns_wait: bool,
    initialized: bool,
    started: bool,
    /// A result was played and the next turn has not begun.
    between_turns: bool,
    /// User lines that have begun no turn yet.
    users: usize,
    /// The control request of ours that must be answered before the play goes on.
    waiting_for: Option<String>,
    /// Control requests that are not answered yet.
    asked: VecDeque<Asked>,
    input_ended: bool,
}

#[derive(Debug)]
struct Asked {
    id: String,
    subtype: String,
}

impl Player {
    pub(crate) fn new(recording: Recording) -> Self {
        Self {
            frames: recording.frames,
            two_way: recording.two_way,
            turns_wait: recording.turns_wait,
            initialized: false,
            started: false,
            between_turns: false,
            users: 0,
            waiting_for: None,
            asked: VecDeque::new(),
            input_ended: false,
        }
    }

    /// Takes one line of stdin and gives the lines to print. A line that is no JSON ends the real agent, so it does here.
    pub(crate) fn receive(&mut self, line: &str) -> io::Result<Vec<String>> {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return Err(io::Error::other(format!(
                "Error parsing streaming input line (type=unknown, {} chars): SyntaxError",
                line.chars().count()
            )));
        };
        let mut out = Vec::new();
        match message["type"].as_str().unwrap_or_default() {
            "user" => {
                self.skip_initialize();
                self.users += 1;
            }
            "control_request" => {
                let asked = Asked {
                    id: string(&message["request_id"]),
                    subtype: string(&message["request"]["subtype"]),
                };
                if asked.subtype == "initialize" {
                    out.push(self.initialize(&asked));
                } else {
                    self.asked.push_back(asked);
                }
            }
            "control_response" => {
                let id = message["response"]["request_id"].as_str();
                if self.waiting_for.as_deref() == id {
                    self.waiting_for = None;
                }
            }
            _ => {}
        }
        self.advance(&mut out);
        self.answer_the_rest(&mut out);
        Ok(out)
    }

    /// The real agent finishes its turn without us and takes an open permission as denied.
    pub(crate) fn end_of_input(&mut self) -> Vec<String> {
        self.input_ended = true;
        self.waiting_for = None;
        if !self.two_way {
            self.started = true;
        }
        let mut out = Vec::new();
        self.advance(&mut out);
        out
    }

    fn advance(&mut self, out: &mut Vec<String>) {
        while self.waiting_for.is_none()
            && let Some(frame) = self.frames.pop_front()
        {
            let line = match &frame.part {
                Part::Response { id, subtype } => match self.take_asked(subtype.as_deref()) {
                    Some(asked) => substitute(&frame.line, id, &asked.id),
                    None => return self.frames.push_front(frame),
                },
                Part::Cancel if !self.interrupted() => return self.frames.push_front(frame),
                Part::Opening if !self.may_open() => return self.frames.push_front(frame),
                Part::Other | Part::Result | Part::Request { .. } if !self.may_start() => {
                    return self.frames.push_front(frame);
                }
                Part::Cancel
                | Part::Opening
                | Part::Other
                | Part::Result
                | Part::Request { .. } => frame.line,
            };
            out.push(line);
            match frame.part {
                Part::Result => self.between_turns = true,
                Part::Request { id } if !self.next_is_withdrawal() => {
                    self.waiting_for = (!self.input_ended).then_some(id);
                }
                Part::Request { .. }
                | Part::Response { .. }
                | Part::Cancel
                | Part::Opening
                | Part::Other => {}
            }
        }
    }

    /// No control request may stay without an answer: what the play does not wait for is answered out of turn.
    fn answer_the_rest(&mut self, out: &mut Vec<String>) {
        for asked in std::mem::take(&mut self.asked) {
            let place = self.frames.iter().position(|frame| {
                matches!(&frame.part, Part::Response { subtype: Some(subtype), .. } if *subtype == asked.subtype)
            });
            let frame = place.and_then(|place| self.frames.remove(place));
            out.push(match frame {
                Some(Frame { line, part: Part::Response { id, .. } }) => {
                    substitute(&line, &id, &asked.id)
                }
                Some(_) | None => success(&asked.id),
            });
        }
        self.advance(out);
    }

    fn initialize(&mut self, asked: &Asked) -> String {
        match self.take_initialize() {
            Some((line, id)) => substitute(&line, &id, &asked.id),
            None => success(&asked.id),
        }
    }

    /// A caller that never initializes must not wait for the recorded answer to it.
    fn skip_initialize(&mut self) {
        self.take_initialize();
    }

    fn take_initialize(&mut self) -> Option<(String, String)> {
        if std::mem::replace(&mut self.initialized, true) {
            return None;
        }
        let frame = self.frames.pop_front_if(|frame| answers_initialize(&frame.part))?;
        let Part::Response { id, .. } = frame.part else {
            return None;
        };
        Some((frame.line, id))
    }

    fn take_asked(&mut self, subtype: Option<&str>) -> Option<Asked> {
        let place = self
            .asked
            .iter()
            .position(|asked| subtype.is_none_or(|subtype| subtype == asked.subtype))?;
        self.asked.remove(place)
    }

    fn interrupted(&self) -> bool {
        self.asked.iter().any(|asked| asked.subtype == "interrupt")
    }

    fn may_start(&mut self) -> bool {
        if !self.started && self.users > 0 {
            self.users -= 1;
            self.started = true;
        }
        self.started
    }

    fn may_open(&mut self) -> bool {
        if !self.may_start() {
            return false;
        }
        if self.between_turns {
            if self.turns_wait && self.users == 0 {
                return false;
            }
            self.users = self.users.saturating_sub(1);
            self.between_turns = false;
        }
        true
    }

    /// A permission that the recorded agent withdrew, or talked on about, was never answered.
    fn next_is_withdrawal(&self) -> bool {
        matches!(
            self.frames.front(),
            Some(Frame { part: Part::Cancel | Part::Response { .. }, .. })
        )
    }
}

/// Without a stdin file the subtype is unknown; a recording that begins with an answer then begins with this one.
fn answers_initialize(part: &Part) -> bool {
    matches!(part, Part::Response { subtype, .. } if subtype.as_deref().is_none_or(|subtype| subtype == "initialize"))
}

/// Puts the caller's request id in the place of the recorded one and leaves every other byte alone.
fn substitute(line: &str, recorded: &str, given: &str) -> String {
    line.replacen(&json!(recorded).to_string(), &json!(given).to_string(), 1)
}

fn success(id: &str) -> String {
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": {}}})
        .to_string()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
