// The nouns of the API under short names, and the shapes that its document leaves open.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Story = Schemas["StoryView"];
export type StoryWhole = Schemas["StoryWhole"];
export type Run = Schemas["RunNow"];
export type Ask = Omit<Schemas["AskNow"], "body"> & { body?: AskBody | null };
export type Project = Schemas["ProjectReply"];
export type Agent = Schemas["AgentNow"];
export type FileDiff = Schemas["FileDiff"];
export type Hunk = Schemas["Hunk"];
export type Receipt = Schemas["Receipt"];
export type Answer = Schemas["AnswerBody"];
export type Spent = Schemas["Spent"];

/** What is asked, as in the event `ask_opened`. */
export type AskBody =
  | {
      kind: "approval";
      tool: string;
      tool_kind: string;
      call?: string;
      subject?: string;
      subject_field?: string;
      input: unknown;
      reason?: string;
      always?: { label: string; scope?: string }[];
      human_only?: boolean;
      /** What is shown was cut; all of it stands there in the run's raw output. */
      shortened?: { offset: number; len: number };
    }
  | { kind: "question"; questions: Question[] }
  | { kind: "plan"; plan: string }
  | { kind: "form"; server: string; message: string; schema?: unknown; url?: string };

export interface Question {
  text: string;
  header?: string;
  options?: { label: string; description?: string }[];
  multi?: boolean;
}

export interface Scope {
  kind: string;
  agent?: string;
  parent_call?: string;
  name?: string;
}

/** An event of a run's log. Types and fields are only ever added, so readers skip what they do not know. */
export interface RunEvent {
  seq: number;
  at: number;
  type: string;
  turn?: number;
  scope?: Scope;
  [field: string]: unknown;
}

/** Text in flight. */
export interface Delta {
  item: string;
  channel: "text" | "reasoning" | "tool_input" | "tool_output";
  text: string;
  scope?: Scope;
  /** How many bytes of the item came before this piece. */
  from?: number;
  /** The last event before it: the text is shown once that was seen. */
  after?: number;
  /** How many bytes have come, kept by whoever joins the pieces. */
  bytes?: number;
}

/** The last action of a live run in one line. */
export interface Activity {
  run: string;
  at: number;
  text: string;
  lines?: { added: number; removed: number } | null;
}

/** The key of an ask, which has its number only within its run. */
export function askKey(ask: Pick<Ask, "run" | "ask">): string {
  return `${ask.run}/${ask.ask}`;
}

/** Whether an ask still waits for a person. */
export function isOpen(ask: Ask): boolean {
  return ask.state === "open";
}

export function isLive(run: Run): boolean {
  return run.phase !== "over";
}
