// A card of the board: what is wanted, what happens, who is at it, for how long, at what cost.
import { type DragEvent, type KeyboardEvent, memo } from "react";
import { Link } from "wouter";
import { AnswerLink } from "../../ui/AnswerLink";
import { Button } from "../../ui/Button";
import { Age, Elapsed, PlusMinus, Quiet } from "../../ui/Numbers";
import { oneLine } from "../../ui/plain";
import { AfterMark, LabelMarks, PriorityMark, StoryCost } from "../../ui/story/Marks";
import { USUAL_PRIORITY } from "../../ui/story/spec";
import { Line } from "../../ui/Text";
import type { Card } from "./cards";

/** What cards tell the board. These stay the same, so that a card is drawn only when it changes. */
export interface CardEvents {
  choose(id: string): void;
  preview(id: string): void;
  menu(id: string): void;
  /** Lets the agent resolve the merge conflict. */
  resolve(id: string): void;
  dragging(id: string | null): void;
}

interface Props {
  card: Card;
  chosen: boolean;
  events: CardEvents;
}

export const CardView = memo(function CardView({ card, chosen, events }: Props) {
  const start = (event: DragEvent) => {
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", card.id);
    events.dragging(card.id);
  };
  return (
    <div className="card-place">
      <article
        className={`card ${card.tone}${chosen ? " chosen" : ""}`}
        data-story={card.id}
        draggable
        onDragStart={start}
        onDragEnd={() => events.dragging(null)}
      >
        <CardLink card={card} chosen={chosen} events={events} />
        <CardMenu card={card} chosen={chosen} events={events} />
        {card.now !== "" && (
          <p className="card-now">
            <Line text={card.now} longest={200} />
          </p>
        )}
        {card.asks[0] !== undefined && <AnswerLink ask={card.asks[0]} focusable={chosen} />}
        {card.conflict !== null && (
          <div className="card-conflict">
            <Button kind="primary" excludeFromTabOrder={!chosen} onPress={() => events.resolve(card.id)}>
              Let the agent resolve it
            </Button>
            <p>
              <Line text={card.conflict} longest={200} />
            </p>
          </div>
        )}
        <CardMarks card={card} chosen={chosen} />
        <CardFacts card={card} />
      </article>
    </div>
  );
});

/** The title, which opens the story; the whole card is its face. */
export function CardLink({ card, chosen, events }: Props) {
  const press = (event: KeyboardEvent) => {
    if (event.key !== " " || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    events.preview(card.id);
  };
  return (
    <Link
      href={`/stories/${card.id}`}
      className="card-link"
      tabIndex={chosen ? 0 : -1}
      draggable={false}
      onFocus={() => events.choose(card.id)}
      onKeyDown={press}
    >
      <bdi>{oneLine(card.title, 200)}</bdi>
    </Link>
  );
}

export function CardMenu({ card, chosen, events }: Props) {
  return (
    <Button
      kind="icon"
      label={`Move or act on ${oneLine(card.title, 60)}`}
      excludeFromTabOrder={!chosen}
      onPress={() => events.menu(card.id)}
    >
      ⋯
    </Button>
  );
}

/** How urgent it is, what it is about and what it waits for. */
export function CardMarks({ card, chosen }: { card: Card; chosen: boolean }) {
  const { priority, labels = [] } = card.story;
  if (priority === USUAL_PRIORITY && labels.length === 0 && card.after.length === 0) return null;
  return (
    <p className="card-marks">
      <PriorityMark priority={priority} />
      <AfterMark after={card.after} focusable={chosen} />
      <LabelMarks labels={labels} />
    </p>
  );
}

/** A budget is always shown. While a run goes on, its cost is shown as soon as something of it is known. */
export function CardCost({ card }: { card: Card }) {
  const { spent, runs, budget_usd } = card.story;
  if (budget_usd != null) return <StoryCost story={card.story} />;
  const nothing = spent.known_cost_usd === 0 && spent.cost_usd != null;
  if (runs.all === 0 || (card.since !== null && nothing)) return null;
  return <StoryCost story={card.story} />;
}

export function CardFacts({ card }: { card: Card }) {
  const [first, ...others] = card.agents;
  const begun = first !== undefined || card.since !== null || card.ended !== null || card.lines !== null;
  const known = begun || card.story.budget_usd != null;
  if (!known) return null;
  return (
    <p className="card-facts">
      {first !== undefined && (
        <span className="card-agent">
          <Line text={others.length === 0 ? first : `${first} +${others.length}`} longest={40} />
        </span>
      )}
      {card.since !== null && <Elapsed from={card.since} />}
      <Quiet since={card.quiet} />
      {card.ended !== null && card.column !== "done" && <Age at={card.ended} sentence />}
      {card.lines !== null && <PlusMinus lines={card.lines} />}
      <CardCost card={card} />
    </p>
  );
}
