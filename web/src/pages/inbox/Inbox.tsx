// The inbox: what waits for a person, one after the other, each answered with one key.
import { useEffect, useRef, useState } from "react";
import { useLocation, useParams } from "wouter";
import { useActions } from "../../keys/registry";
import { useLive } from "../../live/hooks";
import { Empty, Loading } from "../../ui/states";
import { type ListHandle, VirtualList } from "../../ui/VirtualList";
import { AskDetail } from "./AskDetail";
import { EndedDetail } from "./EndedDetail";
import { type Item, useInbox } from "./items";
import { Row } from "./Row";

export default function Inbox() {
  const ready = useLive((world) => world.ready);
  const items = useInbox();
  const { run, ask } = useParams();
  const wanted = run === undefined ? null : ask === undefined ? run : `${run}/${decodeURIComponent(ask)}`;
  const [, go] = useLocation();
  const [item, at] = useChosen(items, wanted);
  const list = useRef<ListHandle>(null);
  const detail = useRef<HTMLElement>(null);
  const move = (by: number) => {
    const next = items[Math.min(items.length - 1, Math.max(0, at + by))];
    if (next) go(pathOf(next), { replace: true });
  };
  useActions("Inbox", [
    { id: "inbox.next", words: "Next item", keys: ["j", "ArrowDown"], repeat: true, run: () => move(1) },
    { id: "inbox.previous", words: "Item before", keys: ["k", "ArrowUp"], repeat: true, run: () => move(-1) },
  ]);
  useEffect(() => {
    if (at >= 0) list.current?.scrollToIndex(at, { align: "auto" });
  }, [at]);
  // The item that follows one that was settled takes the focus, so that hands can stay on the keys.
  const before = useRef<string | null>(null);
  const key = item?.key ?? null;
  useEffect(() => {
    const left = before.current;
    before.current = key;
    if (left === null || key === null || left === key || items.some((other) => other.key === left)) return;
    if (!isTyping()) detail.current?.focus();
  }, [key, items]);
  if (!ready) return <Loading what="the inbox" />;
  if (item === null) {
    return (
      <Empty title="Nothing waits for you">
        Agents that need you, and runs that have ended, appear here.
      </Empty>
    );
  }
  return (
    <div className={wanted === null ? "inbox" : "inbox chosen"}>
      <VirtualList
        className="inbox-list"
        label="What waits for you"
        items={items}
        id={(one) => one.key}
        estimate={61}
        handle={list}
        row={(one) => <Row item={one} path={pathOf(one)} chosen={one.key === key} />}
      />
      <section className="inbox-detail" ref={detail} tabIndex={-1} aria-labelledby="inbox-title">
        {item.kind === "ask" ? (
          <AskDetail key={item.key} ask={item.ask} />
        ) : (
          <EndedDetail key={item.key} item={item} />
        )}
      </section>
    </div>
  );
}

function isTyping(): boolean {
  const focused = document.activeElement;
  return focused instanceof HTMLInputElement || focused instanceof HTMLTextAreaElement;
}

function pathOf(item: Item): string {
  const [run, ask] = item.key.split("/");
  return ask === undefined ? `/inbox/${run}` : `/inbox/${run}/${encodeURIComponent(ask)}`;
}

/** The item that the address names; when it is gone, the one that took its place. */
function useChosen(items: Item[], wanted: string | null): [Item | null, number] {
  const [place, setPlace] = useState({ wanted, at: 0 });
  const found = items.findIndex((item) => item.key === wanted);
  const at = found >= 0 ? found : Math.min(wanted === place.wanted ? place.at : 0, items.length - 1);
  useEffect(() => {
    if (found >= 0) setPlace({ wanted, at: found });
  }, [found, wanted]);
  return [items[at] ?? null, at];
}
