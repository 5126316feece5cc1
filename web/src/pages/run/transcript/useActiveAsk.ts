// The ask that the keys mean: the one that a person has turned to, or else the first open one in view. It stays so until the
// person moves, also when it is settled.
import { useEffect, useRef, useState } from "react";
import { askKey } from "../../../api/words";
import { onMoved } from "../../../keys/hand";
import { isMine, useAnsweredHere } from "../../inbox/answers";
import type { View } from "./List";
import type { AskRow, Placed } from "./rows";

/** The key of its row, or null. */
export function useActiveAsk(run: string, rows: readonly Placed[], view: View): string | null {
  const [pinned, pin] = useState<string | null>(null);
  const answered = useAnsweredHere();
  const asks = rows
    .slice(view.first, view.last + 1)
    .map(({ row }) => row)
    .filter((row): row is AskRow => row.kind === "ask");
  const mine = (row: AskRow) => {
    const key = askKey({ run, ask: row.ask });
    return answered.has(key) || isMine(key);
  };
  const open = asks.filter((row) => row.closed === null && !mine(row)).map((row) => row.key);
  const stays = asks.some((row) => row.key === pinned && !mine(row));
  const active = stays ? pinned : (open[0] ?? null);
  useEffect(() => pin(active), [active]);
  // Who moves leaves what was settled, and stays with what is open and still in view.
  const waiting = useRef<readonly string[]>([]);
  waiting.current = open;
  useEffect(
    () => onMoved(".t-ask", () => pin((old) => (old !== null && waiting.current.includes(old) ? old : null))),
    [],
  );
  useEffect(() => onTurnedTo((key) => waiting.current.includes(key) && pin(key)), []);
  return active;
}

/** Calls back with the row of an ask to which somebody goes by keys, or in which they have pressed. */
function onTurnedTo(call: (key: string) => void): () => void {
  let pressing = false;
  const tell = ({ target }: Event) => {
    const row = target instanceof Element ? target.closest<HTMLElement>(".t-row.k-ask") : null;
    if (row?.dataset.key !== undefined) call(row.dataset.key);
  };
  const down = () => {
    pressing = true;
  };
  const up = () => {
    pressing = false;
  };
  // A press gives the focus before it counts, and must count for what stood there; so it turns the keys only afterwards.
  const focus = (event: Event) => {
    if (!pressing) tell(event);
  };
  window.addEventListener("pointerdown", down, true);
  window.addEventListener("pointerup", up, true);
  window.addEventListener("pointercancel", up, true);
  window.addEventListener("focusin", focus);
  window.addEventListener("click", tell);
  return () => {
    window.removeEventListener("pointerdown", down, true);
    window.removeEventListener("pointerup", up, true);
    window.removeEventListener("pointercancel", up, true);
    window.removeEventListener("focusin", focus);
    window.removeEventListener("click", tell);
  };
}
