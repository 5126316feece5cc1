// One line of the inbox: who, about which story, what in a few words, and since when.
import { Link } from "wouter";
import { useStory } from "../../live/hooks";
import { asked, askKind } from "../../ui/asked";
import { Age, Countdown } from "../../ui/Numbers";
import { capital } from "../../ui/states";
import { Line } from "../../ui/Text";
import type { Item } from "./items";

const SIGNS: Record<string, string> = {
  approval: "▸",
  question: "?",
  plan: "≡",
  form: "▤",
  finished: "✓",
  failed: "✕",
};

export function Row({ item, path, chosen }: { item: Item; path: string; chosen: boolean }) {
  const story = useStory(item.story);
  const kind = item.kind === "ask" ? askKind(item.ask) : item.failed ? "failed" : "finished";
  const words = item.kind === "ask" ? asked(item.ask) : endedWords(item.outcome, item.why);
  const who = item.kind === "ask" ? item.ask.agent : item.agent;
  const deadline = item.kind === "ask" ? item.ask.deadline : null;
  return (
    <Link href={path} replace className="inbox-row" aria-current={chosen ? "true" : undefined}>
      <span className={`inbox-sign ${kind}`} aria-hidden="true">
        {SIGNS[kind] ?? "·"}
      </span>
      <span className="inbox-what">
        <Line text={words} longest={140} />
        <span className="quiet inbox-about">
          <span className="unseen">{kind}, </span>
          <Line text={`${who} · ${story?.title ?? item.story}`} longest={120} />
        </span>
      </span>
      <span className="inbox-when quiet">
        <Age at={item.at} />
        {deadline != null && <Countdown to={deadline} />}
      </span>
    </Link>
  );
}

function endedWords(outcome: string, why: string | null): string {
  if (outcome === "completed") return "Finished; look at what it did";
  const how = capital(outcome.replaceAll("_", " "));
  return why === null ? how : `${how}: ${why}`;
}
