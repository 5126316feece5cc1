// The rows of a transcript of which only those in view are drawn; it stays where it is whatever comes before or after.
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type Ref, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Transcript } from "../../../live/hooks";
import { innerKey } from "./fold";
import { RowView } from "./RowView";
import type { Placed } from "./rows";

/** So near to its end the list counts as being at the end. */
const NEAR = 48;
/** So many rows before the edge, more are read. */
const AHEAD = 15;

export interface View {
  first: number;
  last: number;
  /** Whether the end of the log is seen, so that the list goes on with it. */
  bottom: boolean;
}

export interface Handle {
  /** Brings a row into view, and the focus to it. */
  show(index: number, align: "center" | "start" | "end" | "auto"): void;
  /** The row that has the focus, or else the ask that the keys mean, or the first row that is seen. */
  current(): number;
  /** Shows the end, and goes on with it. */
  end(): void;
}

interface Props {
  log: Transcript;
  rows: readonly Placed[];
  opened: ReadonlySet<string>;
  target: string | null;
  active: string | null;
  /** Somebody is on the way to another place, so that nothing is read around this one. */
  leaving: boolean;
  handle: Ref<Handle>;
  onView(view: View): void;
  toggle(key: string): void;
  fork(turn: number): void;
  /** The last turn from which the run can be forked; 0 if from none. */
  forkable: number;
}

/** About how high a row is before it was measured. */
function estimate(placed: Placed | undefined): number {
  const row = placed?.row;
  if (row === undefined) return 28;
  if (row.kind === "text") return 32 + Math.min(20, row.text.length / 90) * 20;
  if (row.kind === "user") return 56 + Math.min(12, row.text.length / 90) * 20;
  if (row.kind === "ask") return row.closed === null ? 220 : 28;
  return row.kind === "turn" ? 40 : 28;
}

export function List({
  log,
  rows,
  opened,
  target,
  active,
  leaving,
  handle,
  onView,
  toggle,
  fork,
  forkable,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  /** Rows that come because somebody scrolls on are no news, and nobody is taken along to their end. */
  const wasAtEnd = useRef(false);
  const waiting = useMemo(() => openAsks(rows), [rows]);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => estimate(rows[at]),
    getItemKey: (at) => rows[at]?.row.key ?? at,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: wasAtEnd.current,
    scrollEndThreshold: NEAR,
    // An open ask stays drawn, so that nothing that is typed into it gets lost while somebody looks elsewhere.
    rangeExtractor: (range) => {
      const seen = defaultRangeExtractor(range);
      const asks = waiting.filter((at) => at < range.startIndex || at > range.endIndex);
      return asks.length === 0 ? seen : [...new Set([...seen, ...asks])].sort((a, b) => a - b);
    },
    useAnimationFrameWithResizeObserver: false,
  });
  useLayoutEffect(() => {
    wasAtEnd.current = log.atEnd;
  }, [log.atEnd]);

  const filled = rows.length > 0;
  const begun = useRef(false);
  useLayoutEffect(() => {
    if (!filled || begun.current) return;
    begun.current = true;
    if (target === null) list.scrollToEnd();
  }, [filled, list, target]);

  const items = list.getVirtualItems();
  const scrolled = list.scrollOffset ?? 0;
  const height = list.scrollRect?.height ?? 0;
  const seen = items.filter((item) => item.end > scrolled && item.start < scrolled + height);
  const first = seen[0]?.index ?? 0;
  const last = seen.at(-1)?.index ?? 0;
  const bottom = useBottom(filled && log.atEnd, scrolled, height, () => list.isAtEnd(NEAR));
  const { scrollToEnd } = list;
  const low = useRef(height);
  useLayoutEffect(() => {
    // A window that becomes lower, as when a keyboard opens, does not take the end away.
    if (height < low.current && bottom) scrollToEnd();
    low.current = height;
  }, [height, bottom, scrollToEnd]);
  useEffect(() => {
    // Once a frame: told at once, each of many events that come in would be drawn twice, until React gives up.
    const frame = requestAnimationFrame(() => onView({ first, last, bottom }));
    return () => cancelAnimationFrame(frame);
  }, [first, last, bottom, onView]);

  const start = log.events[0]?.seq ?? 1;
  const { older, newer } = log;
  const current = useRef(rows);
  current.current = rows;
  /** The row that the list is on its way to. Until it is there nothing is read that would move it. */
  const [heading, setHeading] = useState<string | null>(null);
  const near = useRef<string | null>(null);
  useEffect(() => {
    if (log.loading || log.problem !== null || !filled || heading !== null || leaving) return;
    if (first < AHEAD && start > log.first) older();
    else if (last > rows.length - AHEAD && !log.atEnd) newer();
  }, [first, last, start, filled, rows.length, log, older, newer, heading, leaving]);

  useImperativeHandle(
    handle,
    () => ({
      show(index, align) {
        const key = rows[index]?.row.key;
        if (key === undefined) return;
        setHeading(key);
        near.current = key;
        const scroll = () => {
          const now = current.current.findIndex(({ row }) => row.key === key);
          if (now >= 0) list.scrollToIndex(now, { align });
        };
        scroll();
        arrive(box.current, key, scroll, () => {
          setHeading((old) => (old === key ? null : old));
          if (near.current === key) near.current = null;
        });
      },
      current() {
        // A key that follows a jump means the row that was jumped to, though the focus is not there yet.
        const next = current.current.findIndex(({ row }) => row.key === near.current);
        if (near.current !== null && next >= 0) return next;
        const place = document.activeElement?.closest("[data-index]");
        const index =
          place !== null && box.current?.contains(place ?? null) ? place?.getAttribute("data-index") : null;
        if (index != null) return Number(index);
        const aimed = current.current.findIndex(({ row }) => row.key === active);
        return aimed >= 0 ? aimed : first;
      },
      end() {
        list.scrollToEnd();
        box.current?.focus({ preventScroll: true });
      },
    }),
    [list, rows, first, active],
  );

  return (
    <div
      ref={box}
      className="virtual transcript-list"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
      tabIndex={0}
      role="list"
      aria-label="Transcript"
      data-events={log.events.length}
      data-head={log.head}
    >
      <div className="virtual-inside" style={{ height: list.getTotalSize() }} role="presentation">
        {items.map((item) => {
          const placed = rows[item.index];
          if (placed === undefined) return null;
          const { row } = placed;
          const delta = row.kind === "tool" ? log.deltas.get(row.call) : undefined;
          return (
            <div
              key={item.key}
              ref={list.measureElement}
              data-index={item.index}
              role="listitem"
              className="virtual-row"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <RowView
                placed={placed}
                run={log.run}
                open={opened.has(row.key)}
                innerOpen={opened.has(innerKey(row.key))}
                target={row.key === target}
                same={minute(row.at) === minute(rows[item.index - 1]?.row.at)}
                active={row.key === active}
                output={delta?.channel === "tool_output" ? delta.text : null}
                toggle={toggle}
                fork={row.kind === "turn" && (row.turn ?? 0) <= forkable ? fork : null}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/**
 * Whether the end is seen. It is lost only when somebody scrolls back: what comes in, or a lower window, puts the list off
 * its end for a moment, in which nothing may flicker.
 */
function useBottom(possible: boolean, scrolled: number, height: number, isAtEnd: () => boolean): boolean {
  const last = useRef({ bottom: true, scrolled: 0, height: 0 });
  const back = scrolled < last.current.scrolled - 1 && height === last.current.height;
  const bottom = possible && ((last.current.bottom && !back) || isAtEnd());
  last.current = { bottom, scrolled, height };
  return bottom;
}

/** Rows of asks that wait. There are few, and they stand near the end. */
function openAsks(rows: readonly Placed[]): number[] {
  const found: number[] = [];
  for (let at = rows.length - 1; at >= Math.max(0, rows.length - 500); at -= 1) {
    const row = rows[at]?.row;
    if (row?.kind === "ask" && row.closed === null) found.push(at);
  }
  return found;
}

function minute(at: number | undefined): number {
  return Math.floor((at ?? 0) / 60_000);
}

/** So many frames a row may take until it stands still; rows on the way are measured as they are drawn. */
const FRAMES = 60;
const STILL = 5;

/** Waits until a row is seen and stands still, scrolls on as long as it is not, and gives it the focus. */
function arrive(box: HTMLElement | null, key: string, scroll: () => void, done: () => void): void {
  let [left, still, top] = [FRAMES, 0, Number.NaN];
  const look = () => {
    left -= 1;
    const row = box?.querySelector<HTMLElement>(`.t-row[data-key="${CSS.escape(key)}"]`);
    const place = row?.getBoundingClientRect();
    const frame = box?.getBoundingClientRect();
    const seen = place && frame && place.top < frame.bottom && place.bottom > frame.top;
    still = seen && Math.abs(place.top - top) < 1 ? still + 1 : 0;
    top = place?.top ?? Number.NaN;
    if (still >= STILL || left <= 0 || !box?.isConnected) {
      row?.focus({ preventScroll: true });
      done();
      return;
    }
    if (!seen) scroll();
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
