//! Turns an event into its line, and keeps the line within bounds.

use musher_core::{Answer, Ask, Event, EventKind, ItemBody};
use serde_json::Value as Json;

use super::cut::cut;

/// A field of more bytes than this is cut to head and tail; the whole of it is in the raw files.
pub const MAX_FIELD_BYTES: usize = 32 * 1024;
/// No line is longer than this.
pub const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// Appends the event's line to the buffer. A line that is short enough is written once and never looked at again.
pub(super) fn encode(event: &Event, buffer: &mut Vec<u8>) -> sonic_rs::Result<()> {
    if !fits(event, buffer)? && !fits(&without_free_form(event), buffer)? {
        let name = "too_long".to_owned();
        let native = EventKind::Native { name, frame: None };
        sonic_rs::to_writer(&mut *buffer, &Event { kind: native, ..event.clone() })?;
    }
    buffer.push(b'\n');
    Ok(())
}

/// Writes the event unless it is too long even with its fields cut.
fn fits(event: &Event, buffer: &mut Vec<u8>) -> sonic_rs::Result<bool> {
    let start = buffer.len();
    let written = sonic_rs::to_writer(&mut *buffer, event);
    if written.is_ok() && buffer.len() - start > MAX_FIELD_BYTES {
        cut(buffer, start, MAX_FIELD_BYTES);
    }
    let fits = buffer.len() - start < MAX_LINE_BYTES;
    if !fits || written.is_err() {
        buffer.truncate(start);
    }
    written.map(|()| fits)
}

/// The event without the JSON that is not ours, which alone can be endless in small pieces.
fn without_free_form(event: &Event) -> Event {
    let mut event = event.clone();
    match &mut event.kind {
        EventKind::Tool(update) => {
            update.input.as_mut().map(leave_out);
            update.edits.clear();
            update.output.as_mut().and_then(|output| output.structured.as_mut()).map(leave_out);
        }
        EventKind::AskOpened { body, .. } => match body {
            Ask::Approval(approval) => {
                leave_out(&mut approval.input);
                approval.edits.clear();
            }
            Ask::Form { schema, .. } => *schema = None,
            Ask::Question { .. } | Ask::Plan { .. } => {}
        },
        EventKind::AskClosed { answer, .. } => match answer {
            Some(Answer::Allow { input }) => *input = None,
            Some(Answer::Form { content }) => content.values_mut().for_each(leave_out),
            Some(
                Answer::AllowAlways { .. }
                | Answer::Deny { .. }
                | Answer::DenyAndInterrupt { .. }
                | Answer::Replies { .. },
            )
            | None => {}
        },
        EventKind::ItemDone { body, .. } => match body {
            ItemBody::Reasoning { opaque, .. } => *opaque = None,
            ItemBody::Other { value, .. } => leave_out(value),
            ItemBody::Text { .. } => {}
        },
        EventKind::TurnEnded(ended) => ended.structured = None,
        EventKind::Native { frame, .. } => *frame = None,
        EventKind::SessionInfo(_)
        | EventKind::SessionState { .. }
        | EventKind::ModelChanged { .. }
        | EventKind::TurnStarted { .. }
        | EventKind::UserMessage { .. }
        | EventKind::ItemsRetracted { .. }
        | EventKind::PromptWithdrawn { .. }
        | EventKind::Plan { .. }
        | EventKind::Usage(_)
        | EventKind::RateLimit(_)
        | EventKind::Retry { .. }
        | EventKind::Compaction { .. }
        | EventKind::Task(_)
        | EventKind::Notice { .. }
        | EventKind::Network(_)
        | EventKind::GateEnded(_)
        | EventKind::Error { .. }
        | EventKind::Unparsed { .. }
        | EventKind::SessionEnded(_) => {}
    }
    event
}

fn leave_out(value: &mut Json) {
    *value = Json::String("[left out: too long for the log]".to_owned());
}

#[cfg(test)]
mod tests {
    use musher_core::{EventScope, PlanEntry, RawRef, ToolOutput, ToolPhase, ToolUpdate};
    use serde_json::json;

    use super::super::line::{line_kind, line_seq};
    use super::*;

    fn event(kind: EventKind) -> Event {
        let raw = Some(RawRef::new(7, 9));
        Event { seq: 3, at: 5, kind, turn: Some(1), scope: EventScope::Main, raw }
    }

    fn tool(text: String, structured: Option<Json>) -> Event {
        let mut update = ToolUpdate::phase("c".into(), ToolPhase::Completed);
        update.output = Some(ToolOutput { text, structured, exit_code: Some(0) });
        event(EventKind::Tool(Box::new(update)))
    }

    fn line(event: &Event) -> Vec<u8> {
        let mut buffer = b"earlier\n".to_vec();
        encode(event, &mut buffer).unwrap();
        assert_eq!(buffer.pop(), Some(b'\n'));
        buffer.split_off(8)
    }

    #[test]
    fn a_line_that_fits_is_exactly_what_the_event_is() {
        let event = tool("x".repeat(20_000), None);
        assert_eq!(line(&event), serde_json::to_vec(&event).unwrap());
    }

    #[test]
    fn a_long_field_is_cut_and_the_event_keeps_its_place_in_the_raw_output() {
        let line = line(&tool("x".repeat(4 << 20), None));
        assert!(line.len() < MAX_FIELD_BYTES);
        let back: Event = serde_json::from_slice(&line).unwrap();
        assert_eq!(back.raw, Some(RawRef::new(7, 9)));
        assert!(matches!(back.kind, EventKind::Tool(_)));
    }

    #[test]
    fn a_line_of_endless_small_pieces_stays_below_eight_mebibytes_and_keeps_its_kind() {
        let many: Vec<u64> = (0..2_000_000).collect();
        let line = line(&tool("text".into(), Some(json!(many))));
        assert!(line.len() < MAX_FIELD_BYTES);
        assert_eq!((line_seq(&line), line_kind(&line)), (Some(3), Some("tool")));
        let back: Event = serde_json::from_slice(&line).unwrap();
        assert_eq!(back.turn, Some(1));
    }

    #[test]
    fn what_cannot_be_made_short_is_a_native_event_with_its_number_and_its_place() {
        let entry = || PlanEntry { text: "t".repeat(30_000), status: "s".into() };
        let plan = event(EventKind::Plan { entries: (0..300).map(|_| entry()).collect() });
        let line = line(&plan);
        assert_eq!((line_seq(&line), line_kind(&line)), (Some(3), Some("native")));
        let back: Event = serde_json::from_slice(&line).unwrap();
        assert_eq!(back.raw, plan.raw);
    }
}
