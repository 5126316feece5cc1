// On a narrow screen one column is shown at a time, chosen here.
import type { Card } from "./cards";
import { COLUMNS, type Column } from "./columns";

/** What a phone shows first: what waits for a person, then what goes on. */
const FIRST: Column[] = ["needs", "review", "running", "queued", "backlog", "done"];

export function firstColumn(cards: readonly Card[]): Column {
  return FIRST.find((column) => cards.some((card) => card.column === column)) ?? "backlog";
}

interface Props {
  cards: readonly Card[];
  columns: readonly Column[];
  chosen: Column;
  choose(column: Column): void;
}

/** The chosen one may stand beyond the edge. */
function intoView(tab: HTMLElement | null): void {
  tab?.scrollIntoView({ inline: "center", block: "nearest" });
}

export function PhoneTabs({ cards, columns, chosen, choose }: Props) {
  return (
    <nav className="phone-tabs" aria-label="Columns">
      {COLUMNS.filter(({ id }) => columns.includes(id)).map(({ id, words }) => (
        <button
          key={id}
          type="button"
          aria-current={id === chosen ? "true" : undefined}
          ref={id === chosen ? intoView : undefined}
          onClick={() => choose(id)}
        >
          {words} <span className="column-count">{cards.filter((card) => card.column === id).length}</span>
        </button>
      ))}
    </nav>
  );
}
