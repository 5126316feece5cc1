// The inbox: what waits for a person, one after the other, each answered with one key.
import { useEffect, useRef } from "react";
import { useLocation, useParams } from "wouter";
import { useActions } from "../../keys/registry";
import { useLive } from "../../live/hooks";
import { Empty, Loading } from "../../ui/states";
import { type ListHandle, VirtualList } from "../../ui/VirtualList";
import { AskDetail } from "./AskDetail";
import { EndedDetail } from "./EndedDetail";
import { type Item, useInbox } from "./items";
import { useKept } from "./kept";
import { Missing } from "./Missing";
import { Row } from "./Row";
import { useSelection } from "./selection";
import { Together } from "./Together";

export default function Inbox() {
  const ready = useLive((world) => world.ready);
  const { items, gone, tidy } = useKept(useInbox());
  const { run, ask } = useParams();
  const wanted = run === undefined ? null : ask === undefined ? run : `${run}/${decodeURIComponent(ask)}`;
  const [, go] = useLocation();
  const [item, at] = useChosen(items, wanted);
  const selection = useSelection();
  const list = useRef<ListHandle>(null);
  const detail = useRef<HTMLElement>(null);
  const key = item?.key ?? null;
  const move = (by: number) => {
    const next = items[Math.min(items.length - 1, Math.max(0, at + by))];
    if (next === undefined || next.key === key) return;
    go(pathOf(next), { replace: true });
  };
  useActions("Inbox", [
    { id: "inbox.next", words: "Next item", keys: ["j", "ArrowDown"], repeat: true, run: () => move(1) },
    { id: "inbox.previous", words: "Item before", keys: ["k", "ArrowUp"], repeat: true, run: () => move(-1) },
  ]);
  useEffect(() => {
    if (at >= 0) list.current?.scrollToIndex(at, { align: "auto" });
  }, [at]);
  const before = useRef<string | null>(null);
  useEffect(() => {
    const left = before.current;
    before.current = key;
    if (left === null || key === null || left === key) return;
    // Who has moved needs no item any more that was settled elsewhere.
    tidy(key);
    // The item that follows one that was answered here takes the focus, so that hands can stay on the keys.
    if (!items.some((other) => other.key === left) && !isTyping()) detail.current?.focus();
  }, [key, items, tidy]);
  if (!ready) return <Loading what="the inbox" />;
  if (items.length === 0) {
    return <Empty title="Inbox is empty">Agents that need you, and runs that have ended, appear here.</Empty>;
  }
  const onward = at < items.length - 1 ? () => move(1) : at > 0 ? () => move(-1) : () => tidy(null);
  return (
    <div className={wanted === null ? "inbox" : "inbox chosen"}>
      <div className="inbox-side">
        <VirtualList
          className="inbox-list"
          label="Open items"
          items={items}
          id={(one) => one.key}
          estimate={61}
          handle={list}
          row={(one) => (
            <Row
              item={one}
              path={pathOf(one)}
              chosen={one.key === key}
              selected={selection.has(one.key)}
              gone={gone.has(one.key)}
            />
          )}
        />
        <Together selection={selection} />
      </div>
      <section className="inbox-detail" ref={detail} tabIndex={-1} aria-labelledby="inbox-title">
        {item === null ? (
          <Missing named={wanted ?? ""} onward={() => move(1)} />
        ) : item.kind === "ask" ? (
          <AskDetail key={item.key} ask={item.ask} onward={onward} selection={selection} />
        ) : (
          <EndedDetail key={item.key} item={item} gone={gone.has(item.key)} onward={onward} />
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

/**
 * The item that the address names; none if it names one that no longer waits, because nobody who follows a link expects
 * another. When an item that was shown has gone, or the address names none, it is the one in its place, which then stays
 * chosen whatever comes before or after it.
 */
function useChosen(items: readonly Item[], wanted: string | null): [Item | null, number] {
  const place = useRef<{ wanted: string | null; key: string | null; at: number }>({
    wanted: null,
    key: null,
    at: 0,
  });
  const named = place.current.wanted === wanted ? place.current.key : wanted;
  const find = (key: string | null) => (key === null ? -1 : items.findIndex((item) => item.key === key));
  const found = find(named);
  const last = find(place.current.key);
  const missing = found < 0 && wanted !== null && place.current.wanted !== wanted;
  const near = last >= 0 ? last : Math.min(place.current.at, items.length - 1);
  const at = found >= 0 ? found : missing ? -1 : near;
  const item = items[at] ?? null;
  useEffect(() => {
    // An address may name an item that is not heard of yet.
    if (item !== null) place.current = { wanted, key: item.key, at };
  }, [item, wanted, at]);
  return [item, at];
}
