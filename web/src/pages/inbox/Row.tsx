// One line of the inbox: the story, what is wanted in a few words, by whom, and since when.
import { Link } from "wouter";
import { useStory } from "../../live/hooks";
import { asked, askKind } from "../../ui/asked";
import { Age, Countdown } from "../../ui/Numbers";
import { capital } from "../../ui/states";
import { Line } from "../../ui/Text";
import type { Item } from "./items";
import { useSettled } from "./settled";

const SIGNS: Record<string, string> = {
  approval: "▸",
  question: "?",
  plan: "≡",
  form: "▤",
  finished: "✓",
  failed: "✕",
};

interface Props {
  item: Item;
  path: string;
  chosen: boolean;
  /** It is to be answered together with others. */
  selected: boolean;
  /** It no longer waits, and stays only until the person moves. */
  gone: boolean;
}

export function Row({ item, path, chosen, selected, gone }: Props) {
  const story = useStory(item.story);
  const kind = item.kind === "ask" ? askKind(item.ask) : item.failed ? "failed" : "finished";
  const words = item.kind === "ask" ? asked(item.ask) : endedWords(item.outcome, item.why);
  const who = item.kind === "ask" ? item.ask.agent : item.agent;
  const deadline = item.kind === "ask" && !gone ? item.ask.deadline : null;
  return (
    <Link
      href={path}
      replace
      className={gone ? "inbox-row gone" : "inbox-row"}
      aria-current={chosen ? "true" : undefined}
    >
      <span className={`inbox-sign ${gone ? "gone" : selected ? "selected" : kind}`} aria-hidden="true">
        {gone ? "–" : selected ? "✓" : (SIGNS[kind] ?? "·")}
      </span>
      <span className="inbox-what">
        <span className="inbox-title">
          <Line text={capital(story?.title ?? item.story)} longest={140} />
        </span>
        <span className="quiet inbox-about">
          {gone ? (
            <Gone item={item} />
          ) : (
            <>
              <span className="unseen">
                {selected ? "selected, " : ""}
                {kind},{" "}
              </span>
              <Line text={`${who} · ${words}`} longest={140} />
            </>
          )}
        </span>
      </span>
      <span className="inbox-when quiet">
        <Age at={item.at} />
        {deadline != null && <Countdown to={deadline} />}
      </span>
    </Link>
  );
}

/** What became of it. */
function Gone({ item }: { item: Item }) {
  if (item.kind === "ended") return <span>Closed</span>;
  return <Settled ask={item.ask} />;
}

function Settled({ ask }: { ask: Extract<Item, { kind: "ask" }>["ask"] }) {
  const settled = useSettled(ask);
  const words = settled === null ? "" : `${settled.decided ?? "Answered"} by ${settled.by}`;
  return <Line text={`${words}: ${asked(ask)}`} longest={140} />;
}

function endedWords(outcome: string, why: string | null): string {
  if (outcome === "completed") return "Ready for review";
  const how = capital(outcome.replaceAll("_", " "));
  return why === null ? how : `${how}: ${why}`;
}
