//! How a line of an agent that speaks JSON-RPC is read: what all of them have in common.

use serde_json::Value as Json;

use super::{AgentFrame, LineText, Translation, line_text};
use crate::peer::json_rpc::{self, Message, RpcError, RpcParams};
use crate::peer::line as wire_line;
use crate::process::OutputLine;

/// What a vendor's messages mean. `None` says that a message was not understood; it is told as native then.
pub(crate) trait RpcHandler {
    fn notified(
        &mut self,
        frame: &mut AgentFrame<'_>,
        method: &str,
        params: &RpcParams<'_>,
    ) -> Option<()>;

    /// A request of the agent. One that is not understood is refused.
    fn asked(
        &mut self,
        frame: &mut AgentFrame<'_>,
        id: &Json,
        method: &str,
        params: &RpcParams<'_>,
    ) -> Option<()>;

    /// The answer to the request with this id, if it is one of ours.
    fn answered(
        &mut self,
        frame: &mut AgentFrame<'_>,
        id: &Json,
        result: Result<RpcParams<'_>, RpcError>,
    ) -> Option<()>;

    /// Whether a line of which only the edges are known ends the open turn. If so, it is no longer open.
    fn takes_as_end(&mut self, edges: &str) -> bool;
}

/// Takes in one line, and adds what it leads to.
pub(crate) fn read_message(
    handler: &mut impl RpcHandler,
    line: &OutputLine,
    step: Translation,
) -> Translation {
    let (raw, text) = match line_text(line) {
        LineText::Text(raw, text) => (raw, text),
        LineText::NoText(raw, bytes) => return step.unparsed_bytes(raw, bytes),
        LineText::Edges(raw, text) if handler.takes_as_end(&text) => {
            return step.unreadable_end(raw, text);
        }
        LineText::Edges(raw, text) => return step.unparsed(raw, text, true),
    };
    let Some(message) = Message::read(&text) else {
        return step.unparsed_bytes(raw, text.as_bytes());
    };
    let mut frame = AgentFrame::new(raw, &text, step);
    let (understood, method) = match message {
        Message::Notification { method, params } => {
            (handler.notified(&mut frame, &method, &params), Some(method))
        }
        Message::Request { id, method, params } => {
            let understood = handler.asked(&mut frame, &id, &method, &params);
            if understood.is_none() {
                // A request without a reply would block the agent for ever.
                frame.reply(Some(wire_line(&json_rpc::unknown_method(&id, &method))));
            }
            (understood, Some(method))
        }
        Message::Response { id, result } => (handler.answered(&mut frame, &id, result), None),
    };
    frame.finish(understood, || {
        method.map_or_else(|| "response".to_owned(), |method| method.to_string())
    })
}
