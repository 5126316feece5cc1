// Folds events into rows: upserts of one call become one row, an ask and its answer too, a turn and its end too.
import type { Delta, RunEvent } from "../../../api/words";
import { costInWords } from "../../../ui/format";
import { note } from "./notes";
import type { AskRow, Base, Edit, Failure, Placed, RawPlace, Row, TextRow, ToolRow, TurnRow } from "./rows";
import { userRow, withdraw } from "./rows";

export interface Folded {
  /** The agent's own rows, in their order. */
  rows: Row[];
  /** Rows of helpers, by the call that they hang on. */
  inner: ReadonlyMap<string, Row[]>;
  /** The row that tells of an event. */
  keyOf: ReadonlyMap<number, string>;
}

interface Draft {
  rows: Row[];
  inner: Map<string, Row[]>;
  keyOf: Map<number, string>;
  tools: Map<string, ToolRow>;
  asks: Map<string, AskRow>;
  items: Map<string, TextRow>;
  turns: Map<number, TurnRow>;
}

/** The rows of a stretch of a log. */
export function fold(events: readonly RunEvent[]): Folded {
  const draft: Draft = {
    rows: [],
    inner: new Map(),
    keyOf: new Map(),
    tools: new Map(),
    asks: new Map(),
    items: new Map(),
    turns: new Map(),
  };
  for (const event of events) take(draft, event);
  return draft;
}

function take(draft: Draft, event: RunEvent): void {
  switch (event.type) {
    case "user_message":
      add(draft, event, userRow(base(event), event));
      return;
    case "prompt_withdrawn":
      withdraw(draft.rows, event);
      return;
    case "turn_started":
      turnStarted(draft, event);
      return;
    case "turn_ended":
      turnEnded(draft, event);
      return;
    case "item_done":
      itemDone(draft, event);
      return;
    case "items_retracted":
      for (const item of list(event.items)) {
        const row = draft.items.get(String(item));
        if (row) row.mark = "retracted";
      }
      return;
    case "tool":
      tool(draft, event);
      return;
    case "ask_opened":
      askOpened(draft, event);
      return;
    case "ask_closed":
      askClosed(draft, event);
      return;
    case "plan":
      add(draft, event, {
        ...base(event),
        kind: "plan",
        entries: list(event.entries) as { text: string; status: string }[],
      });
      return;
    case "session_ended":
      add(draft, event, {
        ...base(event),
        kind: "end",
        outcome: text(event.outcome),
        error: failure(event.error),
        turns: Number(event.turns ?? 0),
        ms: Number(event.duration_ms ?? 0),
        cost: costInWords(event),
        stderr: typeof event.stderr_tail === "string" ? event.stderr_tail : null,
      });
      return;
    default: {
      const told = note(event);
      if (told !== null) add(draft, event, { ...base(event), kind: "note", ...told });
    }
  }
}

function base(event: RunEvent): Base {
  const scope = event.scope && event.scope.kind !== "main" ? event.scope : null;
  return { key: `e${event.seq}`, seq: event.seq, at: event.at, turn: event.turn ?? null, scope };
}

/** Puts a row where it belongs: under the call that a helper works for, if that call is here. */
function add(draft: Draft, event: RunEvent, row: Row): void {
  draft.keyOf.set(event.seq, row.key);
  const parent = row.scope?.parent_call;
  if (parent === undefined || !draft.tools.has(parent)) {
    draft.rows.push(row);
    return;
  }
  const inner = draft.inner.get(parent) ?? [];
  inner.push(row);
  draft.inner.set(parent, inner);
}

function turnStarted(draft: Draft, event: RunEvent): void {
  const row: TurnRow = { ...base(event), kind: "turn", trigger: text(event.trigger), end: null };
  if (row.turn !== null) draft.turns.set(row.turn, row);
  add(draft, event, row);
}

function turnEnded(draft: Draft, event: RunEvent): void {
  const end = {
    seq: event.seq,
    at: event.at,
    outcome: text(event.outcome),
    calls: Number(event.model_calls ?? 0),
    ms: typeof event.duration_ms === "number" ? event.duration_ms : null,
    error: failure(event.error),
    reason: typeof event.native_reason === "string" ? event.native_reason : null,
  };
  const started = draft.turns.get(event.turn ?? -1);
  if (started) started.end = end;
  // The end stands where it happened as well, because its beginning may be far above.
  add(draft, event, { ...base(event), kind: "turn", trigger: "end", end });
}

function itemDone(draft: Draft, event: RunEvent): void {
  const body = (event.body ?? {}) as { kind?: string; text?: string; name?: string; value?: unknown };
  if (body.kind !== "text" && body.kind !== "reasoning") {
    const shown = { tone: "plain" as const, what: body.name ?? "content", hint: null, minor: true };
    add(draft, event, { ...base(event), kind: "note", ...shown, text: written(body.value) });
    return;
  }
  const row: TextRow = {
    ...base(event),
    key: `i${text(event.item)}`,
    kind: body.kind === "text" ? "text" : "thought",
    text: body.text ?? "",
    mark: event.aborted === true ? "aborted" : null,
    live: false,
  };
  // An agent may use an item's name twice.
  if (draft.items.has(text(event.item))) row.key = `e${event.seq}`;
  draft.items.set(text(event.item), row);
  add(draft, event, row);
}

function tool(draft: Draft, event: RunEvent): void {
  const call = text(event.call);
  let row = draft.tools.get(call);
  if (row === undefined) {
    row = fresh(event, call);
    // It must be known before it is put, so that a helper's own calls find their parent.
    add(draft, event, row);
    draft.tools.set(call, row);
  }
  draft.keyOf.set(event.seq, row.key);
  row.phase = text(event.phase);
  if (typeof event.name === "string") row.name = event.name;
  if (typeof event.kind === "string") row.tool = event.kind;
  if (typeof event.subject === "string") row.subject = event.subject;
  if (event.input !== undefined) {
    row.input = event.input;
    row.inputSeq = event.seq;
  }
  if (Array.isArray(event.edits)) {
    row.edits = event.edits as Edit[];
    row.inputSeq = event.seq;
  }
  if (event.output !== undefined && event.output !== null) {
    row.output = event.output as ToolRow["output"];
    row.outputSeq = event.seq;
    row.outputRaw = (event.raw as RawPlace | undefined) ?? null;
  }
  if (typeof event.elapsed_ms === "number") row.ms = event.elapsed_ms;
  if (typeof event.reason === "string") row.reason = event.reason;
}

function fresh(event: RunEvent, call: string): ToolRow {
  return {
    ...base(event),
    key: `t${call}`,
    kind: "tool",
    call,
    phase: "",
    name: null,
    tool: null,
    subject: null,
    input: undefined,
    output: null,
    ms: null,
    reason: null,
    edits: [],
    inputSeq: event.seq,
    outputSeq: null,
    outputRaw: null,
  };
}

function askOpened(draft: Draft, event: RunEvent): void {
  const row: AskRow = {
    ...base(event),
    key: `a${text(event.ask)}`,
    kind: "ask",
    ask: text(event.ask),
    body: event.body as AskRow["body"],
    deadline: typeof event.deadline === "number" ? event.deadline : null,
    settled: event.settled === true,
    closed: null,
  };
  draft.asks.set(row.ask, row);
  add(draft, event, row);
}

function askClosed(draft: Draft, event: RunEvent): void {
  const row = draft.asks.get(text(event.ask));
  const answer = (event.answer ?? null) as NonNullable<AskRow["closed"]>["answer"];
  if (row) {
    const who = (event.who ?? null) as NonNullable<AskRow["closed"]>["who"];
    row.closed = { seq: event.seq, at: event.at, by: text(event.by), who, answer };
    draft.keyOf.set(event.seq, row.key);
    return;
  }
  const what = `answered: ${answer?.decision.replaceAll("_", " ") ?? "nothing"}`;
  const words = { tone: "plain" as const, what, text: answer?.reason ?? "", hint: null, minor: false };
  add(draft, event, { ...base(event), kind: "note", ...words });
}

/** Text in flight as rows behind the last event, as far as the events before it were seen. */
export function inFlight(deltas: ReadonlyMap<string, Delta>, last: number, at: number): TextRow[] {
  const rows: TextRow[] = [];
  for (const [item, delta] of deltas) {
    if (delta.channel !== "text" && delta.channel !== "reasoning") continue;
    if ((delta.after ?? 0) > last || delta.text === "") continue;
    rows.push({
      key: `i${item}`,
      seq: last + 1,
      at,
      turn: null,
      scope: delta.scope && delta.scope.kind !== "main" ? delta.scope : null,
      kind: delta.channel === "text" ? "text" : "thought",
      text: delta.text,
      mark: null,
      live: true,
    });
  }
  return rows;
}

/** The rows one under the other; those of helpers only under calls that were opened. */
export function placed(folded: Folded, opened: ReadonlySet<string>, all: boolean): Placed[] {
  const out: Placed[] = [];
  const put = (rows: Row[], depth: number) => {
    for (const row of rows) {
      if (!all && row.kind === "note" && row.minor) continue;
      const inner = row.kind === "tool" ? folded.inner.get(row.call) : undefined;
      out.push({ row, depth: row.scope === null ? depth : Math.max(depth, 1), inner: inner?.length ?? 0 });
      if (inner && opened.has(innerKey(row.key)) && depth < 6) put(inner, depth + 1);
    }
  };
  put(folded.rows, 0);
  return out;
}

/** The name under which the rows of a helper are opened. */
export function innerKey(key: string): string {
  return `${key}/inner`;
}

export function failure(value: unknown): Failure | null {
  if (typeof value !== "object" || value === null) return null;
  const { class: kind, message, hint } = value as { class?: string; message?: string; hint?: string };
  return { class: kind ?? "unknown", message: message ?? "", hint: hint ?? null };
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function written(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
