// Events that are told in one line: what happened around the work rather than in it.
import type { RunEvent } from "../../../api/words";
import { short, span } from "../../../ui/format";
import type { NoteRow } from "./rows";

type Told = Pick<NoteRow, "tone" | "what" | "text" | "hint" | "minor">;

function told(what: string, text: string, more: Partial<Told> = {}): Told {
  return { tone: "plain", what, text, hint: null, minor: false, ...more };
}

interface Info {
  message?: string;
  hint?: string;
  class?: string;
}

/** What an event says in one line. Types that are not known are shown by their name: nothing is lost. */
export function note(event: RunEvent): Told | null {
  const string = (name: string) => (typeof event[name] === "string" ? (event[name] as string) : "");
  const number = (name: string) => (typeof event[name] === "number" ? (event[name] as number) : null);
  switch (event.type) {
    case "error": {
      const error = (event.error ?? {}) as Info;
      const what = (error.class ?? "error").replaceAll("_", " ");
      return told(what, error.message ?? "", { tone: "bad", hint: error.hint ?? null });
    }
    case "notice": {
      const tone = { error: "bad", warning: "warn" }[string("level")] as Told["tone"] | undefined;
      return told(string("level") || "notice", string("text"), { tone: tone ?? "plain" });
    }
    case "retry": {
      const cause = (event.cause ?? {}) as Info;
      const max = number("max");
      const wait = number("delay_ms");
      const of = `attempt ${number("attempt")}${max === null ? "" : ` of ${max}`}`;
      const when = wait === null ? "" : `, waits ${span(wait)}`;
      return told("retry", `${of}${when}: ${cause.message ?? ""}`, { tone: "warn" });
    }
    case "compaction": {
      if (event.done !== true) return told("compaction", "compacting the conversation…");
      const [before, after] = [number("before"), number("after")];
      const sizes = before === null || after === null ? "" : `${short(before)} → ${short(after)} tokens`;
      return told("compacted", sizes || "the conversation was compacted");
    }
    case "rate_limit":
      return event.exhausted === true
        ? told("rate limit", string("status"), { tone: "warn" })
        : told("rate limit", string("status"), { minor: true });
    case "model_changed":
      return told("model", `${string("from") || "?"} → ${string("to")} (${string("why")})`);
    case "task": {
      const tone = event.phase === "failed" ? "bad" : "plain";
      const words = string("title") || string("name") || string("summary");
      return told(`task ${string("phase")}`, words, { tone, minor: event.phase === "progress" });
    }
    case "session_info":
      // What comes with the mode alone is a change of it.
      if (typeof event.permission_mode === "string" && event.runtime === undefined)
        return told("mode", event.permission_mode);
      return told("session", info(event), { minor: true });
    case "session_state":
      return told("state", string("state"), { minor: true });
    case "usage": {
      const tokens = `${short(number("input") ?? 0)} in, ${short(number("output") ?? 0)} out`;
      return told("usage", `${string("model")} ${tokens}`, { minor: true });
    }
    case "network": {
      // The figures are on a page of their own.
      const hosts = Array.isArray(event.hosts) ? (event.hosts as { host?: string }[]) : [];
      return told("network", hosts.map((one) => one.host ?? "").join(", "), { minor: true });
    }
    case "gate_ended": {
      const result = string("result");
      const tone = { green: "plain", red: "bad", timed_out: "bad" }[result] as Told["tone"] | undefined;
      const [code, signal] = [number("exit_code"), number("signal")];
      const how = signal !== null ? `signal ${signal}` : code !== null && code !== 0 ? `exit ${code}` : "";
      const parts = [result, string("fault"), how, span(number("ms") ?? 0)];
      const words = parts.filter((part) => part !== "").map((part) => part.replaceAll("_", " "));
      const advisory = event.required === false ? " (advisory)" : "";
      return told(`gate ${string("gate")}${advisory}`, words.join(", "), { tone: tone ?? "warn" });
    }
    case "unparsed":
      return told(string("stream") || "output", string("text"), { minor: string("text").trim() === "" });
    case "native":
      return told(string("name"), JSON.stringify(event.frame ?? null), { minor: true });
    default:
      return told(event.type.replaceAll("_", " "), JSON.stringify(event), { minor: true });
  }
}

function info(event: RunEvent): string {
  const parts = [event.runtime, event.model, event.agent_version, event.permission_mode];
  return parts.filter((part) => typeof part === "string").join(" · ");
}
