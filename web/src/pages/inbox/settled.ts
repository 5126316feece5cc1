// How an ask was settled that somebody still looks at: by whom, and with what.
import { api, take } from "../../api/client";
import { useWhoWords, type Who } from "../../api/holders";
import { useQuery } from "../../api/query";
import { type Ask, askKey, type RunEvent } from "../../api/words";
import { useLive } from "../../live/hooks";
import { oneLine } from "../../ui/plain";

/** An answer, as the event `ask_closed` tells it. */
export interface Answered {
  decision: string;
  reason?: string;
  rule?: string;
  replies?: { chosen?: string[]; text?: string }[];
  content?: Record<string, unknown>;
}

export interface Settled {
  /** What was decided, as in `Approved`; null while that is not known. */
  decided: string | null;
  tone: "good" | "bad" | "plain";
  /** Who decided it. */
  by: string;
  /** The reason, the rule or the replies. */
  more: string | null;
}

/** So many of the newest events are looked through for the answer. */
const READ = 200;

const BY: Record<string, string> = {
  person: "you, elsewhere",
  rule: "a rule",
  deadline: "the default, after the deadline",
  unattended: "the default, because the run is unattended",
  agent: "the agent, which withdrew it",
  turn_end: "the end of the turn",
  process_end: "the end of the agent’s process",
};

const DECIDED: Record<string, string> = {
  allow: "Approved",
  allow_always: "Always allowed",
  deny: "Denied",
  deny_and_interrupt: "Denied, turn ended",
  replies: "Answered",
  form: "Filled in",
};

export function byWords(by: string): string {
  return BY[by] ?? by;
}

/** What an answer decided, in a word or two. */
export function decidedWords(answer: Answered | null): string {
  if (answer === null) return "Not answered";
  return DECIDED[answer.decision] ?? answer.decision;
}

export function decidedTone(answer: Answered | null): Settled["tone"] {
  if (answer === null) return "plain";
  return answer.decision.startsWith("deny") ? "bad" : "good";
}

/** Null while the ask is open. */
export function useSettled(ask: Ask): Settled | null {
  const key = askKey(ask);
  const now = useLive((world) => {
    const known = world.asks.get(key) ?? world.settled.get(key);
    const open = world.asks.get(key)?.state === "open" || !world.ready;
    return { open, state: known?.state ?? "closed", won: known?.won ?? null };
  });
  const { open, won } = now;
  // What was closed while the feed was lost is told by the log alone.
  const missing = !open && now.state !== "offered" && won === null;
  const read = useQuery(missing ? key : null, () => closedEvent(ask));
  const answer = (won?.answer ?? read.data?.answer ?? null) as Answered | null;
  const by = read.data?.by ?? "";
  const known = read.data?.who ?? null;
  const person = useWhoWords(known);
  const closed = by === "person" && known !== null ? person : byWords(by);
  const who = won?.who ?? (by === "" ? "someone else" : closed);
  if (open) return null;
  return {
    decided: answer === null ? null : decidedWords(answer),
    tone: decidedTone(answer),
    by: who,
    more: answer === null ? null : moreOf(answer),
  };
}

interface Closed {
  by?: string;
  who?: Who;
  answer?: Answered;
}

async function closedEvent(ask: Ask): Promise<Closed | undefined> {
  const params = { path: { run: ask.run }, query: { last: READ } };
  const page = await take(api.GET("/api/v1/runs/{run}/events", { params }));
  const events = page.events as unknown as RunEvent[];
  const found = events.findLast((event) => event.type === "ask_closed" && event.ask === ask.ask);
  return found as Closed | undefined;
}

/** The reason, the rule or the replies, in one line. */
function moreOf(answer: Answered): string | null {
  const replies = answer.replies?.map((reply) =>
    [...(reply.chosen ?? []), reply.text].filter(Boolean).join(", "),
  );
  const words = answer.reason ?? answer.rule ?? replies?.join(" / ") ?? "";
  return words === "" ? null : oneLine(words, 300);
}
