// What an agent said and did, as far back as anybody wants to look, and live at its end.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { Run } from "../../../api/words";
import { useActions } from "../../../keys/registry";
import { useNow } from "../../../live/clock";
import { useEvents, useLive } from "../../../live/hooks";
import { Button } from "../../../ui/Button";
import { Confirm, type Question } from "../../../ui/Confirm";
import { Empty, Loading, ProblemBox } from "../../../ui/states";
import { useTeam } from "../../../ui/story/team";
import { say } from "../../../ui/toast";
import { forkQuestion, whyNoTurns } from "../forkTurn";
import { standsOut, useOutline } from "../outline";
import { Bar } from "./Bar";
import { fold, inFlight, placed } from "./fold";
import { type Handle, List, type View } from "./List";
import { Minimap } from "./Minimap";
import { isBad } from "./rows";
import { Search } from "./Search";
import { useActiveAsk } from "./useActiveAsk";
import { useGo } from "./useGo";
import { useKeys } from "./useKeys";

export function Transcript({ run, open }: { run: Run; open: boolean }) {
  const [, visit] = useLocation();
  const team = useTeam();
  const log = useEvents(run.id);
  const outline = useOutline(run.id, log.head).data ?? null;
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [all, setAll] = useState(false);
  const [searching, setSearching] = useState(false);
  const [view, setView] = useState<View>({ first: 0, last: 0, bottom: true });
  const list = useRef<Handle>(null);

  const folded = useMemo(() => fold(log.events), [log.events]);
  const last = log.events.at(-1)?.seq ?? 0;
  const lastAt = log.events.at(-1)?.at ?? 0;
  const flight = useMemo(
    () => (log.atEnd ? inFlight(log.deltas, last, lastAt) : []),
    [log.atEnd, log.deltas, last, lastAt],
  );
  const rows = useMemo(
    () => placed({ ...folded, rows: [...folded.rows, ...flight] }, opened, all),
    [folded, flight, opened, all],
  );

  const toggle = useCallback((key: string) => {
    setOpened((old) => {
      const next = new Set(old);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);
  const { target, leaving, go } = useGo({ log, folded, rows, list, setOpened, setAll });

  // What came since the end was last seen.
  const seen = useRef(0);
  if (view.bottom || seen.current === 0) seen.current = Math.max(seen.current, log.head);
  const below = log.atEnd
    ? rows.reduce((sum, { row }) => sum + (row.seq > seen.current ? 1 : 0), 0)
    : log.head - seen.current;

  const loud = useMemo(() => (outline === null ? [] : standsOut(outline)), [outline]);
  const marks = useMemo(() => {
    const known = new Set<number>();
    for (const { row } of rows) if (row.kind === "ask" || isBad(row)) known.add(row.seq);
    for (const mark of loud) if (mark.kind !== "compaction" && mark.kind !== "notice") known.add(mark.seq);
    return [...known].sort((a, b) => a - b);
  }, [rows, loud]);
  const turns = useMemo(() => {
    const known = new Set<number>(outline?.turns.map((turn) => turn.seq));
    for (const { row } of rows) if (row.kind === "turn" && row.trigger !== "end") known.add(row.seq);
    return [...known].sort((a, b) => a - b);
  }, [rows, outline]);

  // The end may have to be read first.
  const [ending, setEnding] = useState(false);
  const toEnd = useCallback(() => {
    setEnding(true);
    if (!log.atEnd) log.toEnd();
  }, [log]);
  useEffect(() => {
    if (!ending || !log.atEnd) return;
    setEnding(false);
    list.current?.end();
  }, [ending, log.atEnd]);
  // A turn that is not over has no end from which something could go on.
  const [forking, setForking] = useState<Question | null>(null);
  const whyNot = whyNoTurns(run, team.data, open);
  const over = useMemo(() => {
    const counted = (outline?.turns ?? []).map((turn) => (turn.outcome != null ? turn.turn : 0));
    const seen = rows.map(({ row }) => (row.kind === "turn" && row.end !== null ? (row.turn ?? 0) : 0));
    return Math.max(0, ...counted, ...seen);
  }, [outline, rows]);
  const fork = useCallback((turn: number) => setForking(forkQuestion(run, turn, visit)), [run, visit]);
  useKeys({
    list,
    rows,
    marks,
    turns,
    whole: outline !== null,
    go,
    toEnd,
    toggle,
    setOpened,
    search: () => setSearching(true),
    fork: (turn) => {
      if (whyNot !== null) say(whyNot);
      else if (turn === null || turn > over) say("This turn has not ended yet.");
      else fork(turn);
    },
  });

  const active = useActiveAsk(run.id, rows, view);

  // The oldest ask that waits and is not seen.
  const waiting = useLive((world) =>
    [...world.asks.values()].find((ask) => ask.run === run.id && ask.state === "open" && ask.seq != null),
  );
  const hidden = active === null && waiting?.seq != null ? waiting.seq : null;
  useActions("Transcript", [
    {
      id: "t.waiting",
      words: "Go to the open ask",
      keys: ["w"],
      off: waiting?.seq == null,
      run: () => waiting?.seq != null && go(waiting.seq),
    },
  ]);

  if (rows.length === 0) {
    if (log.problem !== null) return <ProblemBox problem={log.problem} retry={log.toEnd} />;
    if (log.loading) return <Loading what="the transcript" />;
    return <Nothing run={run} />;
  }
  return (
    <section className="transcript" aria-label="Transcript">
      <Bar
        run={run}
        rows={rows}
        first={view.first}
        outline={outline}
        all={all}
        setAll={setAll}
        searching={searching}
        setSearching={setSearching}
      />
      {searching && <Search run={run.id} go={go} onClose={() => setSearching(false)} />}
      {log.problem !== null && (
        <div className="t-problem" role="alert">
          <span>More of the transcript cannot be read: {log.problem.detail}.</span>
          <Button onPress={log.newer}>Try again</Button>
        </div>
      )}
      <div className="t-middle">
        <List
          log={log}
          rows={rows}
          opened={opened}
          target={target}
          active={active}
          leaving={leaving || ending}
          handle={list}
          onView={setView}
          toggle={toggle}
          fork={fork}
          forkable={whyNot === null ? over : 0}
        />
        <Minimap
          head={log.head}
          marks={loud}
          from={rows[view.first]?.row.seq ?? 0}
          to={rows[view.last]?.row.seq ?? 0}
          go={go}
        />
        {(!view.bottom || hidden !== null) && (
          <div className="t-below">
            {hidden !== null && (
              <Button kind="primary" hint="w" onPress={() => go(hidden)}>
                {run.agent} waits for you
              </Button>
            )}
            {!view.bottom && (
              <Button kind={below > 0 ? "primary" : "normal"} hint="f" onPress={toEnd}>
                {below > 0 ? `${below.toLocaleString("en")} new below` : "To the end"}
              </Button>
            )}
          </div>
        )}
      </div>
      <Confirm question={forking} onClose={() => setForking(null)} />
    </section>
  );
}

function Nothing({ run }: { run: Run }) {
  const now = useNow();
  const waits = run.phase === "queued" || run.phase === "preparing" || run.phase === "starting";
  if (!waits) return <Empty title="Nothing was said">This run has left no events.</Empty>;
  const seconds = Math.max(0, Math.floor((now - run.queued_at) / 1000));
  return (
    <Empty title={run.phase === "queued" ? "Queued" : "Starting"}>
      {run.note ?? `Waiting for ${run.agent} to start (${seconds} s).`}
    </Empty>
  );
}
