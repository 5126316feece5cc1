// What a move on the board does. A story stands where its runs have brought it, so each move is a command.
import type { Card } from "./cards";
import { type Column, columnOf, columnWords } from "./columns";

export type MoveKind =
  | "start"
  | "retry"
  | "resolve"
  | "answer"
  | "stop"
  | "finish"
  | "done"
  | "merge"
  | "reopen"
  | "restart"
  | "archive";

export interface Move {
  kind: MoveKind;
  /** What it does, in a few words. */
  words: string;
  /** What comes of it. */
  about: string;
  /** Where the story will stand. */
  to: Column | null;
  hint?: string;
}

/** Whether no run goes on. */
export function isIdle(card: Card): boolean {
  return card.story.runs.live === 0 && card.live.length === 0;
}

/** Where a story stands that is taken up again. */
function landing(card: Card): Column {
  return columnOf({ ...card.story, state: "open" }, [], []);
}

/** Everything that can be done with a story, the likeliest first. */
export function movesOf(card: Card): Move[] {
  const who = card.agents.join(", ");
  if (card.column === "done") {
    const to = landing(card);
    const moves: Move[] = [
      { kind: "reopen", words: "Reopen", about: `It stands in ${columnWords(to)} again.`, to },
      {
        kind: "restart",
        words: "Reopen and start…",
        about: "Choose who works on it.",
        to: "running",
        hint: "s",
      },
    ];
    if (card.story.merged == null && card.story.runs.all > 0)
      moves.push({ kind: "merge", words: "Merge…", about: "Shows its branch first.", to: "done" });
    moves.push({
      kind: "archive",
      words: "Archive…",
      about: "It leaves the board and cannot be reopened.",
      to: null,
    });
    return moves;
  }
  if (!isIdle(card)) {
    const moves: Move[] = [];
    if (card.asks.length > 0)
      moves.push({ kind: "answer", words: "Answer", about: `${who} waits for you.`, to: "running" });
    moves.push({
      kind: "start",
      words: "Start another agent…",
      about: "In addition to the active run.",
      to: "running",
      hint: "s",
    });
    moves.push(stopping(card, who));
    return moves;
  }
  const moves: Move[] = [];
  if (card.conflict !== null)
    moves.push({
      kind: "resolve",
      words: "Let the agent resolve it",
      about: `${card.conflict}.`,
      to: "running",
    });
  if (card.asks.length > 0)
    moves.push({ kind: "answer", words: "Answer", about: "Restart or stop it.", to: "running" });
  if (card.column === "needs" && card.story.latest != null)
    moves.push({
      kind: "retry",
      words: `Retry with ${who}`,
      about: "A new run of the same agent.",
      to: "running",
      hint: "r",
    });
  moves.push({ kind: "start", words: "Start…", about: "Choose who works on it.", to: "running", hint: "s" });
  moves.push(finishing(card));
  if (card.story.runs.all === 0)
    moves.push({
      kind: "archive",
      words: "Archive…",
      about: "It leaves the board and cannot be reopened.",
      to: null,
    });
  return moves;
}

function stopping(card: Card, who: string): Move {
  const queued = card.column === "queued";
  return {
    kind: "stop",
    words: queued ? "Remove from the queue" : "Stop…",
    about: queued ? "It has not begun." : `${who} ends step by step; its work is kept.`,
    to: queued || card.lines === null ? "backlog" : "review",
    hint: "S",
  };
}

function finishing(card: Card): Move {
  if (card.story.runs.all === 0)
    return { kind: "done", words: "Done", about: "No more runs are needed.", to: "done", hint: "x" };
  return { kind: "finish", words: "Merge or done…", about: "Shows its branch first.", to: "done", hint: "x" };
}

/** What it means to put a card into a column: a move, or why there is none. */
export function dropOn(card: Card, to: Column): Move | string {
  if (to === card.column) return "It is here already.";
  const moves = movesOf(card);
  const find = (...kinds: MoveKind[]) => moves.find((move) => kinds.includes(move.kind));
  const work = to === "running" || to === "queued";
  if (card.column === "done") {
    return (work ? find("restart") : find("reopen")) ?? "It cannot be continued.";
  }
  if (!isIdle(card)) {
    if (to === "done") return "Its run must end first.";
    if (to === "backlog" || to === "review") return find("stop") ?? "It cannot be stopped.";
    if (work) return find("answer") ?? "It starts when a slot is free.";
    return "Only an agent that asks brings a story here.";
  }
  if (work) return find("answer", "start") ?? "It cannot be started.";
  if (to === "done") return find("done", "finish") ?? "It cannot be finished.";
  if (to === "backlog") return "A story with runs cannot go back to the backlog.";
  return "Only an agent’s work brings a story here.";
}
