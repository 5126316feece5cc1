// The card that the keys are about: it moves by h, j, k and l, keeps the focus when it wanders, and is remembered.
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import type { ListHandle } from "../../ui/VirtualList";
import type { Card } from "./cards";

/** What can stand before the board. */
const COVERS = ".overlay, .popover";
/** A dialog that closes is gone after this long. */
const LEAVING = 150;

/** Who comes back to the board finds it as it was left. */
let remembered: string | null = null;

export interface Choice {
  card: Card | null;
  choose(id: string): void;
  /** Goes by so many columns and rows, and takes the focus along. */
  move(columns: number, rows: number): void;
  /** Gives the focus to the chosen card. */
  focus(): void;
  /** Where a list of the board tells how it is scrolled. */
  list(at: number): (handle: ListHandle | null) => void;
}

/** `lists` are the columns as they are shown, `box` is what holds them, `covered` whether a dialog stands before it. */
export function useChoice(
  lists: readonly (readonly Card[])[],
  box: RefObject<HTMLElement | null>,
  covered: boolean,
): Choice {
  const [chosen, set] = useState<string | null>(remembered);
  const handles = useRef<(ListHandle | null)[]>([]);
  const setters = useRef<((handle: ListHandle | null) => void)[]>([]);
  const place = useRef({ column: 0, row: 0 });
  const focused = useRef(false);
  const found = find(lists, chosen);
  // A card that was filtered away or is gone leaves its place to the next one.
  const at = found ?? near(lists, place.current);
  const card = at === null ? null : (lists[at.column]?.[at.row] ?? null);
  if (found !== null) place.current = found;

  const choose = useCallback((id: string) => {
    remembered = id;
    set(id);
  }, []);

  const focusOn = (id: string) => {
    focused.current = true;
    const linkOf = () =>
      box.current?.querySelector<HTMLElement>(`[data-story="${CSS.escape(id)}"] .card-link`);
    const where = find(lists, id);
    // A row that is far away comes into the page only after the scroll.
    if (where !== null && !linkOf())
      handles.current[where.column]?.scrollToIndex(where.row, { align: "auto" });
    let tries = 20;
    const take = () => {
      const link = linkOf();
      if (link) {
        link.focus({ preventScroll: true });
        link.closest(".virtual-row")?.scrollIntoView({ inline: "nearest", block: "nearest" });
        link.closest(".column")?.scrollIntoView({ inline: "nearest", block: "nearest" });
      } else if (tries > 0) {
        tries -= 1;
        requestAnimationFrame(take);
      }
    };
    take();
  };

  const move = (columns: number, rows: number) => {
    if (at === null) return;
    let next = { column: at.column, row: at.row + rows };
    if (found === null) next = at;
    else if (columns !== 0) {
      let column = at.column + columns;
      while (lists[column]?.length === 0) column += columns;
      const list = lists[column];
      if (list === undefined) return;
      next = { column, row: Math.min(at.row, list.length - 1) };
    }
    const target = lists[next.column]?.[next.row];
    if (target === undefined) return;
    choose(target.id);
    focusOn(target.id);
  };

  // A card that wanders to another column is drawn anew, and the focus would be lost with the old one.
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const within = (event: FocusEvent) => {
      const target = event.target as Element;
      // What stands before the board gives the focus back.
      if (target.closest(COVERS) === null) focused.current = element.contains(target);
    };
    document.addEventListener("focusin", within);
    return () => document.removeEventListener("focusin", within);
  });
  const id = card?.id ?? null;
  const column = at?.column ?? null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the place is what may have changed.
  useEffect(() => {
    if (id === null || covered) return;
    const look = () => {
      if (!focused.current || document.activeElement !== document.body) return;
      if (document.querySelector(COVERS) === null) focusOn(id);
    };
    look();
    const later = setTimeout(look, LEAVING);
    return () => clearTimeout(later);
  }, [id, column, covered]);

  const list = (index: number) => {
    setters.current[index] ??= (handle) => {
      handles.current[index] = handle;
    };
    return setters.current[index];
  };
  const focus = () => {
    if (card) focusOn(card.id);
  };
  return { card, choose, move, focus, list };
}

interface Place {
  column: number;
  row: number;
}

function find(lists: readonly (readonly Card[])[], id: string | null): Place | null {
  if (id === null) return null;
  for (const [column, list] of lists.entries()) {
    const row = list.findIndex((card) => card.id === id);
    if (row >= 0) return { column, row };
  }
  return null;
}

/** The card nearest to a place, in its own column if there is one. */
function near(lists: readonly (readonly Card[])[], { column, row }: Place): Place | null {
  const own = lists[column]?.length ?? 0;
  if (own > 0) return { column, row: Math.min(row, own - 1) };
  const first = lists.findIndex((list) => list.length > 0);
  return first < 0 ? null : { column: first, row: 0 };
}
