// A story beside the board: its text, what happens on it, and what can be done, without leaving the board.
import { Link } from "wouter";
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import { Badge, Phase } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Markdown } from "../../ui/Markdown";
import { Age, Elapsed, Money, PlusMinus } from "../../ui/Numbers";
import { oneLine } from "../../ui/plain";
import { metWords } from "../../ui/story/criteria";
import { StoryCost } from "../../ui/story/Marks";
import { Line } from "../../ui/Text";
import { CardMarks } from "./CardView";
import type { Card } from "./cards";
import { columnWords } from "./columns";
import { type Move, movesOf } from "./moves";

interface Props {
  card: Card;
  pick(card: Card, move: Move): void;
  onClose(): void;
}

export function Preview({ card, pick, onClose }: Props) {
  // The text may have been edited since.
  const key = `story ${card.id} ${card.story.updated_at}`;
  const whole = useQuery(key, () =>
    take(api.GET("/api/v1/stories/{story}", { params: { path: { story: card.id } } })),
  );
  const met = metWords(whole.data?.text ?? "");
  return (
    <aside className="preview" aria-labelledby="preview-title">
      <header className="preview-head">
        <Badge tone={card.tone === "plain" ? "plain" : card.tone}>{columnWords(card.column)}</Badge>
        <span className="quiet grow">{card.id}</span>
        <Button kind="icon" label="Close the preview" onPress={onClose}>
          ✕
        </Button>
      </header>
      <h2 id="preview-title">
        <Link href={`/stories/${card.id}`}>
          <bdi>{oneLine(card.title, 300)}</bdi>
        </Link>
      </h2>
      {card.now !== "" && (
        <p className={`preview-now ${card.tone}`}>
          <Line text={card.now} longest={400} />
        </p>
      )}
      <CardMarks card={card} chosen />
      <Runs card={card} />
      {met !== null && <p className="quiet">{met} acceptance criteria met</p>}
      <div className="preview-text">
        {whole.data?.text ? (
          <Markdown text={whole.data.text} />
        ) : (
          <p className="quiet">
            {whole.loading
              ? "Loading its text…"
              : whole.problem
                ? "Its text cannot be read now."
                : "It has no more text."}
          </p>
        )}
      </div>
      <div className="story-buttons">
        {movesOf(card).map((move, at) => (
          <Button
            key={move.kind}
            kind={at === 0 ? "primary" : "normal"}
            onPress={() => pick(card, move)}
            {...(move.hint === undefined ? {} : { hint: move.hint })}
          >
            {oneLine(move.words, 40)}
          </Button>
        ))}
      </div>
    </aside>
  );
}

function Runs({ card }: { card: Card }) {
  if (card.live.length === 0) {
    const latest = card.story.latest;
    if (latest == null) return null;
    return (
      <p className="preview-run">
        <Link href={`/runs/${latest.run}`}>
          <Line text={latest.agent} longest={40} />
        </Link>
        <Phase run={latest} />
        {latest.ended_at != null && <Age at={latest.ended_at} sentence />}
        {card.lines !== null && <PlusMinus lines={card.lines} />}
        <StoryCost story={card.story} />
      </p>
    );
  }
  return card.live.map((run) => (
    <p key={run.id} className="preview-run">
      <Link href={`/runs/${run.id}`}>
        <Line text={run.agent} longest={40} />
      </Link>
      <Phase run={run} />
      <Elapsed from={run.started_at ?? run.queued_at} />
      <Money spent={run.spent} />
    </p>
  ));
}
