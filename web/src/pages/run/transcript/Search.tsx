// Searches the whole log on the server, and goes from one place to the next.
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { takeRaw } from "../../../api/client";
import { asProblem } from "../../../api/problem";
import { useActions } from "../../../keys/registry";
import { Button } from "../../../ui/Button";
import { Time } from "../../../ui/Numbers";
import { plain } from "../../../ui/plain";
import { Line } from "../../../ui/Text";
import { type ListHandle, VirtualList } from "../../../ui/VirtualList";
import { useFound } from "./found";

interface Match {
  seq: number;
  at: number;
  type: string;
  turn: number | null;
  excerpt: string;
}

interface Page {
  matches: Match[];
  next: number | null;
}

/** What can be looked for besides words. */
const KINDS: { id: string; words: string; query: string }[] = [
  { id: "all", words: "Everything", query: "" },
  { id: "said", words: "Messages", query: "&kinds=item_done,user_message" },
  { id: "tool", words: "Tool calls", query: "&kinds=tool" },
  { id: "errors", words: "Errors", query: "&errors=1" },
  { id: "asks", words: "Asks and answers", query: "&kinds=ask_opened,ask_closed" },
];
/** So many places are kept; more words find others. */
const MOST = 2_000;
const PAUSE = 250;

interface Found {
  matches: Match[];
  /** From where to search on; null when the log was searched to its end. */
  next: number | null;
  problem: string | null;
  state: "idle" | "busy" | "done";
}

const NOTHING: Found = { matches: [], next: null, problem: null, state: "idle" };

export function Search({ run, go, onClose }: { run: string; go(seq: number): void; onClose(): void }) {
  const [words, setWords] = useState("");
  const [kind, setKind] = useState("all");
  const [found, setFound] = useState<Found>(NOTHING);
  const [at, setAt] = useState(-1);
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<ListHandle>(null);
  const turn = useRef(0);
  /** Enter was pressed before anything was found: the first place is gone to when it comes. */
  const hasty = useRef(false);
  useEffect(() => box.current?.focus(), []);
  useFound(box, ".transcript", words);

  const read = async (after: number | null, before: Match[]) => {
    turn.current += 1;
    const mine = turn.current;
    const query = KINDS.find((one) => one.id === kind)?.query ?? "";
    setFound({ matches: before, next: null, problem: null, state: "busy" });
    try {
      const from = after === null ? "" : `&after=${after}`;
      const page = await takeRaw<Page>(
        `/runs/${run}/search?q=${encodeURIComponent(words)}${query}${from}&limit=500`,
      );
      if (mine !== turn.current) return;
      const matches = [...before, ...page.matches].slice(0, MOST);
      setFound({ matches, next: matches.length < MOST ? page.next : null, problem: null, state: "done" });
      const first = matches[0];
      if (hasty.current && first !== undefined) {
        setAt(0);
        go(first.seq);
      }
      hasty.current = false;
    } catch (error) {
      if (mine !== turn.current) return;
      setFound({ matches: before, next: after, problem: asProblem(error).detail, state: "done" });
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: other words are another search.
  useEffect(() => {
    turn.current += 1;
    hasty.current = false;
    setAt(-1);
    setFound(NOTHING);
    if (words.trim() === "" && kind === "all") return;
    const timer = setTimeout(() => void read(null, []), PAUSE);
    return () => clearTimeout(timer);
  }, [words, kind, run]);

  const visit = (index: number) => {
    const match = found.matches[index];
    if (match === undefined) return;
    setAt(index);
    list.current?.scrollToIndex(index, { align: "auto" });
    go(match.seq);
  };
  const step = (by: number) => {
    const count = found.matches.length;
    if (count === 0) {
      hasty.current = found.state !== "done";
      return;
    }
    if (at + by >= count && found.next !== null) void read(found.next, found.matches);
    visit((at + by + count) % count);
  };
  useActions("Search", [
    { id: "search.next", words: "Next place that was found", keys: ["n"], run: () => step(1) },
    { id: "search.back", words: "Place before", keys: ["N"], run: () => step(-1) },
    { id: "search.close", words: "Close the search", keys: ["Escape"], run: onClose },
  ]);
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
  };
  return (
    <search className="t-search">
      <div className="t-search-bar">
        <input
          ref={box}
          type="search"
          aria-label="Search in the run"
          placeholder="Search in the run"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={press}
        />
        <select aria-label="Search in" value={kind} onChange={(event) => setKind(event.target.value)}>
          {KINDS.map((one) => (
            <option key={one.id} value={one.id}>
              {one.words}
            </option>
          ))}
        </select>
        <span className="t-search-count quiet" role="status">
          {counted(found, at, words.trim() !== "" || kind !== "all")}
        </span>
        <Button
          kind="icon"
          label="Place before"
          onPress={() => step(-1)}
          isDisabled={found.matches.length === 0}
        >
          ↑
        </Button>
        <Button
          kind="icon"
          label="Next place"
          onPress={() => step(1)}
          isDisabled={found.matches.length === 0}
        >
          ↓
        </Button>
        <Button kind="icon" label="Close the search" onPress={onClose}>
          ✕
        </Button>
      </div>
      {found.problem !== null && (
        <p className="t-bad" role="alert">
          The search failed: {plain(found.problem)}.
        </p>
      )}
      {found.matches.length > 0 && (
        <div className="t-found">
          <VirtualList
            items={found.matches}
            id={(match) => match.seq}
            estimate={28}
            label="Places that were found"
            handle={list}
            row={(match, index) => (
              <button
                type="button"
                className={index === at ? "t-match current" : "t-match"}
                aria-current={index === at || undefined}
                onClick={() => visit(index)}
              >
                <Time at={match.at} />
                <span className="quiet">{match.type.replaceAll("_", " ")}</span>
                <Line text={match.excerpt} longest={200} />
              </button>
            )}
          />
        </div>
      )}
      {found.next !== null && (
        <Button kind="quiet" onPress={() => void read(found.next, found.matches)}>
          Continue the search
        </Button>
      )}
    </search>
  );
}

function counted(found: Found, at: number, asked: boolean): string {
  if (asked && found.state !== "done") return "searching…";
  if (!asked || found.problem !== null) return "";
  const count = found.matches.length.toLocaleString("en");
  const more = found.next !== null ? "+" : "";
  if (found.matches.length === 0) return found.next === null ? "nothing found" : "nothing so far";
  return at < 0 ? `${count}${more} found` : `${(at + 1).toLocaleString("en")} of ${count}${more}`;
}
