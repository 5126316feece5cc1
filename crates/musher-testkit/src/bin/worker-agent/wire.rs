//! The frames that it prints, in the shapes and the order of the real agent, as far as anybody reads them.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};

use serde_json::{Value as Json, json};

use crate::options::Options;

/// A piece of text in flight, in bytes.
const PIECE: usize = 12;

/// Makes ids that no other process makes.
#[derive(Debug)]
pub(crate) struct Mint {
    seed: u64,
    count: u64,
}

impl Mint {
    pub(crate) fn new() -> Self {
        Self { seed: RandomState::new().hash_one(std::process::id()), count: 0 }
    }

    pub(crate) fn uuid(&mut self) -> String {
        self.count += 1;
        let (seed, count) = (self.seed, self.count);
        let (high, middle, low) = (seed >> 32, (seed >> 16) & 0xffff, seed & 0xfff);
        format!("{high:08x}-{middle:04x}-4{low:03x}-8000-{count:012x}")
    }

    /// An id with a word for what it names.
    pub(crate) fn id(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{what}_{:016x}_{}", self.seed, self.count)
    }
}

/// A use of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: &'static str,
    pub(crate) input: Json,
}

impl Call {
    pub(crate) fn block(&self) -> Json {
        json!({ "type": "tool_use", "id": self.id, "name": self.tool, "input": self.input })
    }
}

/// Whether a text is also told in pieces before it is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Whole,
    Pieces,
}

#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) session: String,
    pub(crate) model: String,
    pub(crate) mode: String,
    pub(crate) mint: Mint,
    cwd: String,
    replays: bool,
    states: bool,
}

impl Wire {
    pub(crate) fn new(options: Options) -> io::Result<Self> {
        Ok(Self {
            session: options.session,
            model: options.model,
            mode: options.mode,
            mint: Mint::new(),
            cwd: std::env::current_dir()?.display().to_string(),
            replays: options.replays,
            states: options.states,
        })
    }

    /// Prints bytes as they are, in one go.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Prints a frame as it is.
    pub(crate) fn bare(&mut self, frame: &Json) -> io::Result<()> {
        self.bytes(format!("{frame}\n").as_bytes())
    }

    /// Prints a frame with the session and an id.
    pub(crate) fn frame(&mut self, mut frame: Json) -> io::Result<()> {
        frame["session_id"] = self.session.clone().into();
        frame["uuid"] = self.mint.uuid().into();
        self.bare(&frame)
    }

    pub(crate) fn init(&mut self) -> io::Result<()> {
        self.frame(json!({
            "type": "system",
            "subtype": "init",
            "cwd": self.cwd,
            "tools": ["AskUserQuestion", "Bash", "Write"],
            "mcp_servers": [],
            "model": self.model,
            "permissionMode": self.mode,
            "apiKeySource": "none",
            "claude_code_version": "2.1.325",
        }))
    }

    pub(crate) fn state(&mut self, state: &str) -> io::Result<()> {
        if !self.states {
            return Ok(());
        }
        self.frame(json!({ "type": "system", "subtype": "session_state_changed", "state": state }))
    }

    /// The model takes nothing before this time.
    pub(crate) fn rate_limit(&mut self, resets_at: u64) -> io::Result<()> {
        let info = json!({
            "status": "rejected", "resetsAt": resets_at, "rateLimitType": "five_hour",
            "isUsingOverage": false,
        });
        self.frame(json!({ "type": "rate_limit_event", "rate_limit_info": info }))
    }

    /// Repeats what it was told, if that is wanted.
    pub(crate) fn replay(&mut self, mut told: Json) -> io::Result<()> {
        if !self.replays {
            return Ok(());
        }
        if told["type"] == "user" {
            told["isReplay"] = true.into();
            told["session_id"] = self.session.clone().into();
        }
        self.bare(&told)
    }

    /// Says a text as a message of its own.
    pub(crate) fn text(&mut self, text: &str, flow: Flow) -> io::Result<()> {
        let message = self.mint.id("msg");
        if flow == Flow::Whole {
            return self.assistant(&message, &json!({ "type": "text", "text": text }));
        }
        let model = &self.model;
        let started = json!({
            "id": message, "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "usage": { "input_tokens": 0, "output_tokens": 0 },
        });
        self.stream(&message, &json!({ "type": "message_start", "message": started }))?;
        let empty = json!({ "type": "text", "text": "" });
        let begun = json!({ "type": "content_block_start", "index": 0, "content_block": empty });
        self.stream(&message, &begun)?;
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE));
            let delta = json!({ "type": "text_delta", "text": piece });
            let part = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
            self.stream(&message, &part)?;
            rest = after;
        }
        self.assistant(&message, &json!({ "type": "text", "text": text }))?;
        self.stream(&message, &json!({ "type": "content_block_stop", "index": 0 }))?;
        let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
        self.stream(&message, &json!({ "type": "message_delta", "delta": delta }))?;
        self.stream(&message, &json!({ "type": "message_stop" }))
    }

    /// Proposes a call as a message of its own.
    pub(crate) fn tool_use(&mut self, call: &Call) -> io::Result<()> {
        let message = self.mint.id("msg");
        self.assistant(&message, &call.block())
    }

    pub(crate) fn tool_done(&mut self, call: &Call, output: &str) -> io::Result<()> {
        let meta = json!({
            "id": call.id,
            "permission_decision": { "decision": "accept", "source": "user_temporary" },
        });
        self.tool_result(call, output, &meta)
    }

    /// A call that was not made, with the real agent's words for the cause.
    pub(crate) fn tool_refused(&mut self, call: &Call, why: &str, cause: &Json) -> io::Result<()> {
        let mut meta = cause.clone();
        meta["id"] = call.id.clone().into();
        self.tool_result(call, why, &meta)
    }

    fn tool_result(&mut self, call: &Call, text: &str, meta: &Json) -> io::Result<()> {
        let failed = meta.get("non_execution_kind").is_some();
        let block = json!({
            "type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": failed,
        });
        self.frame(json!({
            "type": "user",
            "message": { "role": "user", "content": [block] },
            "parent_tool_use_id": null,
            "tool_result_meta": [meta],
        }))
    }

    /// A text that stands in the conversation as if the user had said it.
    pub(crate) fn noted(&mut self, text: &str) -> io::Result<()> {
        let block = json!({ "type": "text", "text": text });
        self.frame(json!({
            "type": "user",
            "message": { "role": "user", "content": [block] },
            "parent_tool_use_id": null,
        }))
    }

    /// Answers a request of the other side.
    pub(crate) fn success(&mut self, request: &Json, response: &Json) -> io::Result<()> {
        self.bare(&json!({
            "type": "control_response",
            "response": { "subtype": "success", "request_id": request, "response": response },
        }))
    }

    pub(crate) fn refusal(&mut self, request: &Json, error: &str) -> io::Result<()> {
        self.bare(&json!({
            "type": "control_response",
            "response": { "subtype": "error", "request_id": request, "error": error },
        }))
    }

    fn assistant(&mut self, message: &str, block: &Json) -> io::Result<()> {
        self.frame(json!({
            "type": "assistant",
            "message": {
                "id": message, "type": "message", "role": "assistant", "model": self.model,
                "content": [block], "stop_reason": null, "stop_sequence": null,
                "usage": { "input_tokens": 0, "output_tokens": 1 },
            },
            "parent_tool_use_id": null,
        }))
    }

    /// The first word on a call: what it was given.
    pub(crate) fn call_begins(&mut self, id: &str, input: u64, output: u64) -> io::Result<()> {
        let started = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model, "content": [],
            "stop_reason": null, "usage": { "input_tokens": input, "output_tokens": output },
        });
        self.stream(id, &json!({ "type": "message_start", "message": started }))
    }

    /// One block of a call that runs.
    pub(crate) fn call_says(
        &mut self,
        id: &str,
        block: &Json,
        input: u64,
        output: u64,
    ) -> io::Result<()> {
        self.frame(json!({
            "type": "assistant",
            "message": {
                "id": id, "type": "message", "role": "assistant", "model": self.model,
                "content": [block], "stop_reason": null, "stop_sequence": null,
                "usage": { "input_tokens": input, "output_tokens": output },
            },
            "parent_tool_use_id": null,
        }))
    }

    /// The last word on a call: all that it took.
    pub(crate) fn call_ends(&mut self, id: &str, input: u64, output: u64) -> io::Result<()> {
        let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
        let usage = json!({ "input_tokens": input, "output_tokens": output });
        self.stream(id, &json!({ "type": "message_delta", "delta": delta, "usage": usage }))?;
        self.stream(id, &json!({ "type": "message_stop" }))
    }

    fn stream(&mut self, message: &str, event: &Json) -> io::Result<()> {
        self.frame(json!({
            "type": "stream_event",
            "event": event,
            "parent_tool_use_id": null,
            "api_message_id": message,
        }))
    }
}
