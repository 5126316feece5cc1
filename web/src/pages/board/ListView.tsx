// All stories in one list, for when there are too many for columns.
import { memo, type Ref } from "react";
import { Badge, type Tone } from "../../ui/Badge";
import { Age, Elapsed, PlusMinus } from "../../ui/Numbers";
import { Line } from "../../ui/Text";
import { type ListHandle, VirtualList } from "../../ui/VirtualList";
import { CardCost, type CardEvents, CardLink, CardMarks, CardMenu } from "./CardView";
import type { Card } from "./cards";
import { type Column, columnWords } from "./columns";

const TONES: Record<Column, Tone> = {
  backlog: "plain",
  queued: "plain",
  running: "info",
  needs: "warn",
  review: "good",
  done: "good",
};

/** What needs somebody stands first. */
const ORDER: Column[] = ["needs", "review", "running", "queued", "backlog", "done"];

export function inOrder(cards: readonly Card[]): Card[] {
  // The sort keeps the order of the cards within a state.
  return [...cards].sort((a, b) => ORDER.indexOf(a.column) - ORDER.indexOf(b.column));
}

interface Props {
  cards: readonly Card[];
  chosen: string | null;
  events: CardEvents;
  handle: Ref<ListHandle>;
}

export function ListView({ cards, chosen, events, handle }: Props) {
  return (
    <section className="story-list" aria-labelledby="story-list">
      <h2 className="unseen" id="story-list">
        All stories
      </h2>
      <div className="story-row head" aria-hidden="true">
        <span>State</span>
        <span>Story</span>
        <span>Agent</span>
        <span>Last</span>
        <span className="number">Lines</span>
        <span className="number">Time</span>
        <span className="number">Cost</span>
        <span />
      </div>
      <VirtualList
        items={cards}
        id={(card) => card.id}
        estimate={41}
        label="Stories"
        handle={handle}
        row={(card) => <StoryRow card={card} chosen={card.id === chosen} events={events} />}
      />
    </section>
  );
}

const StoryRow = memo(function StoryRow(props: { card: Card; chosen: boolean; events: CardEvents }) {
  const { card, chosen } = props;
  return (
    <div className={`story-row ${card.tone}${chosen ? " chosen" : ""}`} data-story={card.id}>
      <span>
        <Badge tone={card.tone === "bad" ? "bad" : TONES[card.column]}>{columnWords(card.column)}</Badge>
      </span>
      <span className="story-named">
        <CardLink {...props} />
        <CardMarks card={card} chosen={chosen} />
      </span>
      <span className="story-agent">
        <Line text={card.agents.join(", ")} longest={60} />
      </span>
      <span className="story-now">
        <Line text={card.now} longest={160} />
      </span>
      <span className="number">{card.lines !== null && <PlusMinus lines={card.lines} />}</span>
      <span className="number">
        {card.since !== null ? (
          <Elapsed from={card.since} />
        ) : (
          <Age at={card.ended ?? card.story.created_at} />
        )}
      </span>
      <span className="number">
        <CardCost card={card} />
      </span>
      <CardMenu {...props} />
    </div>
  );
});
