//! Several commands that are asked about at the same time, so that more than one ask of a run waits.

use serde_json::json;

use crate::agent::{Agent, Answer, News};
use crate::turn::{Cut, Turn};
use crate::wire::Call;

/// An ask that waits.
struct Open {
    request: String,
    call: Call,
}

impl Agent {
    /// Asks about `: ask-0.`, `: ask-1.` and so on; as soon as one is answered the next is put.
    pub(crate) fn asks(&mut self, turn: &mut Turn, count: u64, at_once: usize) -> Result<(), Cut> {
        let mut open: Vec<Open> = Vec::new();
        let mut put = 0;
        self.wire.state("requires_action")?;
        while put < count || !open.is_empty() {
            while put < count && open.len() < at_once.max(1) {
                open.push(self.put(turn, put)?);
                put += 1;
            }
            match self.listen(None)? {
                News::Handled | News::Quiet => {}
                News::Answer(answer) => {
                    match open.iter().position(|open| open.request == answer.request) {
                        Some(at) => self.settle(open.remove(at), answer)?,
                        None => self.stray(&answer)?,
                    }
                }
                News::End => return Err(Cut::Aborted("aborted_tools")),
                News::Interrupt(interrupt) => {
                    for Open { request, .. } in &open {
                        let frame =
                            json!({ "type": "control_cancel_request", "request_id": request });
                        self.wire.bare(&frame)?;
                    }
                    self.interrupted(&interrupt)?;
                    self.wire.noted("[Request interrupted by user for tool use]")?;
                    return Err(Cut::Aborted("aborted_tools"));
                }
            }
        }
        self.wire.state("running")?;
        Ok(())
    }

    fn put(&mut self, turn: &mut Turn, number: u64) -> Result<Open, Cut> {
        let input = json!({ "command": format!(": ask-{number}."), "description": "One of many" });
        let call = Call { id: self.wire.mint.id("toolu"), tool: "Bash", input };
        self.propose(turn, &call)?;
        let request = self.wire.mint.id("ask");
        self.wire.bare(&json!({
            "type": "control_request",
            "request_id": request,
            "request": {
                "subtype": "can_use_tool",
                "tool_name": call.tool,
                "display_name": call.tool,
                "input": call.input,
                "tool_use_id": call.id,
            },
        }))?;
        Ok(Open { request, call })
    }

    fn settle(&mut self, Open { request, call }: Open, answer: Answer) -> Result<(), Cut> {
        self.wire.replay(answer.frame)?;
        let body = answer.body.unwrap_or_default();
        if body["behavior"] == "allow" {
            self.home.append("effects", &format!("answer {request} allow"))?;
            self.wire.tool_done(&call, "done")?;
            return Ok(());
        }
        self.home.append("effects", &format!("answer {request} deny"))?;
        let cause = json!({
            "non_execution_kind": "permission-rule",
            "permission_decision": { "decision": "reject", "source": "user_reject" },
        });
        self.wire.tool_refused(&call, body["message"].as_str().unwrap_or_default(), &cause)?;
        Ok(())
    }
}
