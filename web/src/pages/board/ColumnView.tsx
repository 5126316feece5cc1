// One column of the board: its name, how many are in it, its cards, and what a card that is dragged over it would do.
import { type DragEvent, type Ref, useState } from "react";
import { useLive } from "../../live/hooks";
import { oneLine } from "../../ui/plain";
import { type ListHandle, VirtualList } from "../../ui/VirtualList";
import { type CardEvents, CardView } from "./CardView";
import type { Card } from "./cards";
import { COLUMNS, type Column } from "./columns";
import { dropOn, type Move } from "./moves";

interface Props {
  column: Column;
  cards: readonly Card[];
  chosen: string | null;
  events: CardEvents;
  handle: Ref<ListHandle>;
  /** The card that is being dragged. */
  dragged: Card | null;
  drop(card: Card, move: Move): void;
}

export function ColumnView({ column, cards, chosen, events, handle, dragged, drop }: Props) {
  const [over, setOver] = useState(false);
  const about = COLUMNS.find((one) => one.id === column);
  const words = about?.words ?? column;
  const what = dragged === null ? null : dropOn(dragged, column);
  const own = dragged !== null && dragged.column === column;
  const can = what !== null && typeof what !== "string";
  const hover = (event: DragEvent) => {
    if (!can) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "move";
    setOver(true);
  };
  const fall = (event: DragEvent) => {
    setOver(false);
    if (dragged === null || what === null || typeof what === "string") return;
    event.preventDefault();
    drop(dragged, what);
  };
  const state = dragged === null || own ? "" : can ? (over ? " can over" : " can") : " cannot";
  return (
    <section
      className={`column${cards.length === 0 ? " none" : ""}${state}`}
      aria-labelledby={`column-${column}`}
      data-column={column}
      onDragOver={hover}
      onDragLeave={() => setOver(false)}
      onDrop={fall}
    >
      <header className="column-head">
        <h2 id={`column-${column}`}>{words}</h2>
        <span className="column-count">{cards.length}</span>
        {column === "running" && <Places />}
      </header>
      {what !== null && !own && (
        <p className="column-drop" role="status">
          {typeof what === "string" ? (
            what
          ) : (
            <>
              <strong>{oneLine(what.words, 60)}</strong> {oneLine(what.about, 120)}
            </>
          )}
        </p>
      )}
      {cards.length === 0 ? (
        <p className="column-empty">{about?.empty}</p>
      ) : (
        <VirtualList
          items={cards}
          id={(card) => card.id}
          estimate={96}
          label={words}
          handle={handle}
          row={(card) => <CardView card={card} chosen={card.id === chosen} events={events} />}
        />
      )}
    </section>
  );
}

/** How many places are taken, also by runs that wait for a person, and how many there are. */
function Places() {
  const { taken, limit } = useLive((world) => ({
    taken: [...world.runs.values()].filter((run) => run.phase !== "over" && run.phase !== "queued").length,
    limit: world.project?.limits.runs ?? null,
  }));
  if (limit === null) return null;
  return (
    <span className="column-count column-places">
      {taken} of {limit} places
    </span>
  );
}
