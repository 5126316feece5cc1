// Goes to an event, wherever in the log it stands: by its number in the address, or because somebody jumps there.
import { type RefObject, useCallback, useEffect, useState } from "react";
import type { Transcript } from "../../../live/hooks";
import { say } from "../../../ui/toast";
import { type Folded, innerKey } from "./fold";
import type { Handle } from "./List";
import type { Placed } from "./rows";

interface Parts {
  log: Transcript;
  folded: Folded;
  rows: readonly Placed[];
  list: RefObject<Handle | null>;
  setOpened(change: (old: ReadonlySet<string>) => ReadonlySet<string>): void;
  setAll(all: boolean): void;
}

/** The event that the address names, as in `#e=123`. */
export function eventInAddress(): number | null {
  const found = /[#&]e=(\d{1,15})/.exec(location.hash)?.[1];
  return found === undefined ? null : Number(found);
}

export function useGo({ log, folded, rows, list, setOpened, setAll }: Parts) {
  const [wanted, setWanted] = useState<number | null>(eventInAddress);
  const [target, setTarget] = useState<string | null>(() => (eventInAddress() === null ? null : ""));
  const { jump } = log;
  const ready = log.head > 0;

  const go = useCallback((seq: number) => {
    history.replaceState(history.state, "", `${location.pathname}${location.search}#e=${seq}`);
    setWanted(seq);
  }, []);

  useEffect(() => {
    const heard = () => {
      const seq = eventInAddress();
      if (seq !== null) setWanted(seq);
    };
    window.addEventListener("hashchange", heard);
    return () => window.removeEventListener("hashchange", heard);
  }, []);

  const first = log.events[0]?.seq ?? 0;
  const last = log.events.at(-1)?.seq ?? 0;
  const here = wanted !== null && wanted >= first && wanted <= last;
  const asked = wanted !== null && ready && !here;
  useEffect(() => {
    if (!asked || wanted === null) return;
    if (wanted > log.head || wanted < log.first) {
      const why = wanted < log.first ? "it was cleaned away" : `the last one is ${log.head}`;
      say(`There is no event ${wanted} in this log: ${why}.`, { tone: "bad" });
      setWanted(null);
      setTarget(null);
      return;
    }
    void jump(wanted);
  }, [asked, wanted, jump, log.head, log.first]);

  useEffect(() => {
    if (wanted === null || !here) return;
    const key = folded.keyOf.get(wanted) ?? nearest(rows, wanted);
    const index = rows.findIndex(({ row }) => row.key === key);
    if (index >= 0 && key !== undefined) {
      setTarget(key);
      setWanted(null);
      list.current?.show(index, "center");
      return;
    }
    const call = [...folded.inner].find(([, inner]) => inner.some((row) => row.key === key))?.[0];
    if (call !== undefined) {
      const parent = innerKey(`t${call}`);
      setOpened((old) => (old.has(parent) ? old : new Set([...old, parent])));
    } else {
      // Something that is seldom looked at.
      setAll(true);
    }
  }, [wanted, here, folded, rows, list, setOpened, setAll]);

  return { target: target === "" && wanted === null ? null : target, leaving: wanted !== null, go };
}

/** The last row that began at or before an event. */
function nearest(rows: readonly Placed[], seq: number): string | undefined {
  return (rows.findLast(({ row }) => row.seq <= seq) ?? rows[0])?.row.key;
}
