// An event of a run's log in one line, for lists that have no room for more.
import type { RunEvent } from "../api/words";

export interface EventLine {
  /** Who or what it is about, such as `You` or the name of a tool. */
  what: string;
  text: string;
  failed: boolean;
}

/** The line of an event, or null for one that says nothing to people. */
export function eventLine(event: RunEvent): EventLine | null {
  const text = (name: string) => (typeof event[name] === "string" ? (event[name] as string) : "");
  switch (event.type) {
    case "user_message":
      return { what: text("origin") === "steer" ? "You (steer)" : "You", text: text("text"), failed: false };
    case "item_done": {
      const body = event.body as { kind: string; text?: string; name?: string };
      const what = { text: "Agent", reasoning: "Thinking" }[body.kind] ?? body.name ?? body.kind;
      return { what, text: body.text ?? "", failed: false };
    }
    case "tool": {
      const name = text("name") || text("kind");
      if (event.phase === "proposed") return { what: name, text: text("subject"), failed: false };
      if (event.phase === "failed" || event.phase === "denied") {
        const output = event.output as { text?: string } | undefined;
        return { what: String(event.phase), text: text("reason") || output?.text || "", failed: true };
      }
      return null;
    }
    case "turn_ended":
      return {
        what: `turn ${text("outcome")}`,
        text: text("final_text"),
        failed: event.outcome === "failed",
      };
    case "session_ended":
      return { what: "ended", text: text("outcome"), failed: event.outcome !== "completed" };
    case "error":
      return { what: "error", text: (event.error as { message?: string }).message ?? "", failed: true };
    case "notice":
      return { what: text("level") || "notice", text: text("text"), failed: event.level === "error" };
    case "ask_closed": {
      const answer = event.answer as { decision?: string; reason?: string } | undefined;
      return {
        what: "answered",
        text: [answer?.decision, answer?.reason].filter(Boolean).join(": "),
        failed: false,
      };
    }
    default:
      return null;
  }
}
