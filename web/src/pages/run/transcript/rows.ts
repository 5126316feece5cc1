// What a transcript is made of: one row for each thing that people look at, however many events told of it.
import type { Who } from "../../../api/holders";
import type { AskBody, RunEvent, Scope } from "../../../api/words";
import type { Answered } from "../../inbox/settled";

export interface Base {
  /** A name that stays as the log grows, so that rows keep their place and their height. */
  key: string;
  /** The event that it began with. */
  seq: number;
  at: number;
  turn: number | null;
  /** The helper of the agent that did it; none when it was the agent itself. */
  scope: Scope | null;
}

export interface UserRow extends Base {
  kind: "user";
  text: string;
  /** How it reached the agent; `withdrawn` if it was taken back before. */
  origin: string;
  /** Its id. */
  prompt: string;
}

export interface TurnRow extends Base {
  kind: "turn";
  trigger: string;
  end: TurnEnd | null;
}

export interface TurnEnd {
  seq: number;
  at: number;
  outcome: string;
  calls: number;
  ms: number | null;
  error: Failure | null;
  reason: string | null;
}

export interface Failure {
  class: string;
  message: string;
  hint: string | null;
}

export interface TextRow extends Base {
  kind: "text" | "thought";
  text: string;
  /** It was broken off, or taken back. */
  mark: "aborted" | "retracted" | null;
  /** Still in flight. */
  live: boolean;
}

export interface ToolRow extends Base {
  kind: "tool";
  call: string;
  phase: string;
  name: string | null;
  tool: string | null;
  subject: string | null;
  input: unknown;
  output: { text: string; exit_code?: number; structured?: unknown } | null;
  ms: number | null;
  reason: string | null;
  edits: Edit[];
  /** The event that holds the input, and the one that holds the output. */
  inputSeq: number;
  outputSeq: number | null;
  outputRaw: RawPlace | null;
}

export interface Edit {
  path: string;
  old?: string | null;
  new: string;
}

export interface RawPlace {
  offset: number;
  len: number;
}

export interface AskRow extends Base {
  kind: "ask";
  ask: string;
  body: AskBody;
  deadline: number | null;
  /** Nobody needed to look. */
  settled: boolean;
  closed: { seq: number; at: number; by: string; who: Who | null; answer: Answered | null } | null;
}

export interface PlanRow extends Base {
  kind: "plan";
  entries: { text: string; status: string }[];
}

export interface NoteRow extends Base {
  kind: "note";
  tone: "plain" | "warn" | "bad";
  what: string;
  text: string;
  hint: string | null;
  /** Seldom of use; shown when everything is wanted. */
  minor: boolean;
}

export interface EndRow extends Base {
  kind: "end";
  outcome: string;
  error: Failure | null;
  turns: number;
  ms: number;
  /** In words, because a part of it may be unknown or worked out. */
  cost: string;
  stderr: string | null;
}

export type Row = UserRow | TurnRow | TextRow | ToolRow | AskRow | PlanRow | NoteRow | EndRow;

/** A row as it is listed: how deep it stands, and what stands under it. */
export interface Placed {
  row: Row;
  depth: number;
  /** How many rows of a helper hang on this call. */
  inner: number;
}

/** A call is over when nothing more will be heard of it. */
export function isOver(row: ToolRow): boolean {
  return ["completed", "failed", "denied", "cancelled"].includes(row.phase);
}

/** Whether people are led to a row that looks for what went wrong. */
export function isBad(row: Row): boolean {
  switch (row.kind) {
    case "tool":
      return row.phase === "failed" || row.phase === "denied";
    case "note":
      return row.tone === "bad";
    case "turn":
      return row.end !== null && row.end.outcome === "failed";
    case "end":
      return row.error !== null;
    default:
      return false;
  }
}

/** What somebody said to the agent. */
export function userRow(base: Base, event: RunEvent): UserRow {
  const text = (name: string) => (typeof event[name] === "string" ? event[name] : "");
  return { ...base, kind: "user", text: text("text"), origin: text("origin"), prompt: text("prompt") };
}

/** A message that was taken back stays where it was queued, and says that the agent never heard it. */
export function withdraw(rows: readonly Row[], event: RunEvent): void {
  const row = rows.findLast((one) => one.kind === "user" && one.prompt === event.prompt);
  if (row?.kind === "user") row.origin = "withdrawn";
}
