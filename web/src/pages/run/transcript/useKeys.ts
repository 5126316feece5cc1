// The keys of a transcript.
import { type RefObject, useEffect, useState } from "react";
import { useActions } from "../../../keys/registry";
import { copy } from "../../../ui/copy";
import { say } from "../../../ui/toast";
import { next } from "../outline";
import type { Handle } from "./List";
import type { Placed } from "./rows";

interface Parts {
  list: RefObject<Handle | null>;
  rows: readonly Placed[];
  /** Numbers of events that are worth a jump, in their order. */
  marks: readonly number[];
  turns: readonly number[];
  /** Whether these are all that there are. */
  whole: boolean;
  go(seq: number): void;
  toEnd(): void;
  toggle(key: string): void;
  setOpened(change: (old: ReadonlySet<string>) => ReadonlySet<string>): void;
  search(): void;
  fork(turn: number | null): void;
}

/** A wish to go to the nearest of some events, from an event. */
interface Jump {
  among: "turns" | "marks";
  back: boolean;
  from: number;
}

const NONE = {
  turns: { before: "This is the first turn.", after: "This is the last turn." },
  marks: {
    before: "No error and no ask stands before this.",
    after: "No error and no ask follows.",
  },
};

export function useKeys(parts: Parts): void {
  const { list, rows, marks, turns, whole, go, toEnd, toggle, setOpened, search, fork } = parts;
  const here = () => rows[list.current?.current() ?? 0];
  // What is far away is known only by the outline, which takes a moment to read in a long run.
  const [awaited, setAwaited] = useState<Jump | null>(null);
  const take = ({ among, back, from }: Jump) => {
    const found = next(among === "turns" ? turns : marks, from, back);
    if (found !== null) go(found);
    else if (whole) say(NONE[among][back ? "before" : "after"]);
    return found !== null || whole;
  };
  const jump = (among: Jump["among"], back: boolean) => {
    const wanted = { among, back, from: here()?.row.seq ?? 0 };
    if (take(wanted)) return;
    setAwaited(wanted);
    say("Reading the outline of the run. It goes there as soon as that is known.");
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: it waits for the outline, and for nothing else.
  useEffect(() => {
    if (!whole || awaited === null) return;
    setAwaited(null);
    take(awaited);
  }, [whole, awaited]);
  const step = (by: number) => {
    setAwaited(null);
    list.current?.show((list.current?.current() ?? 0) + by, "auto");
  };
  const end = () => {
    setAwaited(null);
    toEnd();
  };
  useActions("Transcript", [
    { id: "t.next", words: "Next row", keys: ["j"], repeat: true, run: () => step(1) },
    { id: "t.back", words: "Row before", keys: ["k"], repeat: true, run: () => step(-1) },
    {
      id: "t.open",
      words: "Open or fold the row",
      keys: ["Enter", "o"],
      shown: "Enter / o",
      run: () => {
        const row = here()?.row;
        if (row) toggle(row.key);
      },
    },
    {
      id: "t.all",
      words: "Open or fold all tool calls that are here",
      keys: ["O"],
      run: () => setOpened(flip(rows)),
    },
    { id: "t.end", words: "To the end, and follow", keys: ["f", "G"], run: end },
    { id: "t.search", words: "Search in the run", keys: ["/"], run: search },
    {
      id: "t.error",
      words: "Next error or ask",
      keys: ["e"],
      run: () => jump("marks", false),
    },
    {
      id: "t.error-back",
      words: "Error or ask before",
      keys: ["E"],
      run: () => jump("marks", true),
    },
    {
      id: "t.turn",
      words: "Next turn",
      keys: ["]"],
      run: () => jump("turns", false),
    },
    {
      id: "t.turn-back",
      words: "Turn before",
      keys: ["["],
      run: () => jump("turns", true),
    },
    {
      id: "t.fork",
      words: "Fork from the turn of the row…",
      keys: ["F"],
      run: () => fork(turnOf(rows, list.current?.current() ?? 0)),
    },
    {
      id: "t.link",
      words: "Copy the link to the row",
      keys: ["y"],
      run: () => {
        const seq = here()?.row.seq;
        if (seq !== undefined) void copy(`${location.origin}${location.pathname}#e=${seq}`, "the link");
      },
    },
  ]);
}

/** The turn of a row; of what stands between turns, the one that it leads to, or else the last. */
function turnOf(rows: readonly Placed[], at: number): number | null {
  const has = ({ row }: Placed) => row.turn !== null;
  return (rows.slice(at).find(has) ?? rows.findLast(has))?.row.turn ?? null;
}

function flip(rows: readonly Placed[]) {
  const calls = rows.filter(({ row }) => row.kind === "tool").map(({ row }) => row.key);
  return (old: ReadonlySet<string>) => {
    const some = calls.some((key) => old.has(key));
    const next = new Set(old);
    for (const key of calls) {
      if (some) next.delete(key);
      else next.add(key);
    }
    return next;
  };
}
