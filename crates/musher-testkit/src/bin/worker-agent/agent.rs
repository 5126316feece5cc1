//! The agent between its turns, and its ear in them: prompts wait, requests are answered, the rest is news.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use serde_json::{Value as Json, json};

use crate::calls::Charge;
use crate::home::{Home, Memory};
use crate::input::{Heard, Input};
use crate::options::Options;
use crate::wire::Wire;

#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) wire: Wire,
    pub(crate) home: Home,
    pub(crate) memory: Memory,
    input: Input,
    /// Prompts that wait for their turn.
    pub(crate) queue: VecDeque<Message>,
    /// What was said into the running turn and is not acknowledged yet.
    pub(crate) steers: VecDeque<Message>,
    pub(crate) in_turn: bool,
    /// What the other side calls its hook before every tool, if it wants one.
    pub(crate) hook: Option<String>,
    pub(crate) results: u64,
    pub(crate) charge: Charge,
    /// How it leaves, by its last turn.
    pub(crate) exit: u8,
}

/// Something that the user said.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) frame: Json,
}

/// What a turn has to heed.
#[derive(Debug)]
pub(crate) enum News {
    /// Something came that is already taken care of.
    Handled,
    /// Nothing came in time.
    Quiet,
    /// Nothing will ever come again.
    End,
    /// The turn shall end; the request with this id is not answered yet.
    Interrupt(Json),
    Answer(Answer),
}

/// An answer to a request of ours.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) request: String,
    /// The answer itself, or the other side's words for why there is none.
    pub(crate) body: Result<Json, String>,
    pub(crate) frame: Json,
}

impl Agent {
    pub(crate) fn new(options: Options, home: Home, memory: Memory) -> io::Result<Self> {
        let charge = options.charge;
        Ok(Self {
            wire: Wire::new(options)?,
            home,
            memory,
            input: Input::default(),
            queue: VecDeque::new(),
            steers: VecDeque::new(),
            in_turn: false,
            hook: None,
            results: 0,
            charge,
            exit: 0,
        })
    }

    /// Works until its input ends; gives the exit code.
    pub(crate) fn run(mut self) -> io::Result<u8> {
        while let Some(message) = self.next_prompt()? {
            if let Some(code) = self.turn(&message)? {
                return Ok(code);
            }
        }
        Ok(self.exit)
    }

    fn next_prompt(&mut self) -> io::Result<Option<Message>> {
        loop {
            if let Some(message) = self.queue.pop_front() {
                return Ok(Some(message));
            }
            match self.listen(None)? {
                News::Handled | News::Quiet => {}
                News::End => return Ok(None),
                News::Interrupt(request) => {
                    self.wire.success(&request, &json!({ "still_queued": [] }))?;
                }
                News::Answer(answer) => self.stray(&answer)?,
            }
        }
    }

    /// Takes in one line, at the latest at the deadline.
    pub(crate) fn listen(&mut self, until: Option<Instant>) -> io::Result<News> {
        let line = match self.input.next(until)? {
            Heard::Line(line) => line,
            Heard::Quiet => return Ok(News::Quiet),
            Heard::End => return Ok(News::End),
        };
        if line.trim_ascii().is_empty() {
            return Ok(News::Handled);
        }
        let Ok(frame) = serde_json::from_slice::<Json>(&line) else {
            let length = String::from_utf8_lossy(&line).chars().count();
            return Err(io::Error::other(format!(
                "Error parsing streaming input line (type=unknown, {length} chars): SyntaxError"
            )));
        };
        match frame["type"].as_str() {
            Some("user") => self.told(frame),
            Some("control_request") => return self.requested(&frame),
            Some("control_response") => return Ok(News::Answer(answer(frame))),
            Some(_) | None => {}
        }
        Ok(News::Handled)
    }

    /// A message for later waits; any other is heard in the turn that runs.
    fn told(&mut self, frame: Json) {
        let content = &frame["message"]["content"];
        let blocks = content.as_array().into_iter().flatten();
        let texts = blocks.filter_map(|block| block["text"].as_str());
        let text = match content.as_str() {
            Some(text) => text.to_owned(),
            None => texts.collect::<Vec<_>>().join("\n"),
        };
        let later = frame["priority"] == "later";
        let message = Message { text, frame };
        if self.in_turn && !later {
            self.steers.push_back(message);
        } else {
            self.queue.push_back(message);
        }
    }

    fn requested(&mut self, frame: &Json) -> io::Result<News> {
        let (id, request) = (&frame["request_id"], &frame["request"]);
        match request["subtype"].as_str().unwrap_or_default() {
            "initialize" => {
                let hook = &request["hooks"]["PreToolUse"][0]["hookCallbackIds"][0];
                self.hook = hook.as_str().map(str::to_owned);
                let mut response = json!({
                    "commands": [], "agents": [], "models": [], "output_style": "default",
                    "pid": std::process::id(), "claude_code_version": "2.1.325",
                });
                if request.get("hooks").is_some() {
                    response["hooks_applied"] = self.hook.is_some().into();
                }
                self.wire.success(id, &response)?;
            }
            "interrupt" => return Ok(News::Interrupt(id.clone())),
            "set_model" => {
                if let Some(model) = request["model"].as_str() {
                    model.clone_into(&mut self.wire.model);
                }
                let model = self.wire.model.clone();
                self.wire.success(id, &json!({ "model": model }))?;
            }
            "set_permission_mode" => {
                let mode = request["mode"].as_str().unwrap_or("default").to_owned();
                self.wire.mode.clone_from(&mode);
                self.wire.success(id, &json!({ "mode": mode }))?;
                self.wire.frame(json!({
                    "type": "system", "subtype": "status", "status": null, "permissionMode": mode,
                }))?;
            }
            other => {
                let why = format!("Unsupported control request subtype: {other}");
                self.wire.refusal(id, &why)?;
            }
        }
        Ok(News::Handled)
    }

    /// An answer that nobody waits for has no effect, and that must be seen.
    pub(crate) fn stray(&mut self, answer: &Answer) -> io::Result<()> {
        self.home.append("effects", &format!("stray {}", answer.request))?;
        self.wire.replay(answer.frame.clone())
    }
}

fn answer(frame: Json) -> Answer {
    let response = &frame["response"];
    let error = || response["error"].as_str().unwrap_or_default().to_owned();
    Answer {
        request: response["request_id"].as_str().unwrap_or_default().to_owned(),
        body: match response["subtype"].as_str() {
            Some("success") => Ok(response["response"].clone()),
            Some(_) | None => Err(error()),
        },
        frame,
    }
}
