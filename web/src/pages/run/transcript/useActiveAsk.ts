// The ask that the keys mean: the first open one in view, which stays so until the person moves, also when it is settled.
import { useEffect, useState } from "react";
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
  const first = asks.find((row) => row.closed === null && !mine(row))?.key ?? null;
  const stays = asks.some((row) => row.key === pinned && !mine(row));
  const active = stays ? pinned : first;
  useEffect(() => pin(active), [active]);
  useEffect(() => onMoved(".t-ask", () => pin(null)), []);
  return active;
}
