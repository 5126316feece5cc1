// The frame of a story and of its runs: who, what, where it stands, what can be done, and the tabs.
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Run, Story } from "../../api/words";
import { useActions } from "../../keys/registry";
import { useLive, useWaiting } from "../../live/hooks";
import { AnswerLink } from "../../ui/AnswerLink";
import { waitingFor } from "../../ui/asked";
import { Badge, Phase } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Confirm, type Question } from "../../ui/Confirm";
import { Menu } from "../../ui/Menu";
import { Elapsed, heardAt, Money, PlusMinus, Quiet } from "../../ui/Numbers";
import { oneLine } from "../../ui/plain";
import { ConflictNote } from "../../ui/story/conflict";
import { Tabs } from "../../ui/Tabs";
import { type Deed, runDeeds } from "../run/actions";
import { storyDeeds } from "./deeds";
import { Title } from "./Title";

interface Props {
  story: Story;
  runs: readonly Run[];
  /** The run that is looked at. */
  run: Run | undefined;
  children: ReactNode;
  /** What stands at the bottom. */
  foot?: ReactNode;
}

const SHOWN = 3;

export function Frame({ story, runs, run, children, foot }: Props) {
  const [, go] = useLocation();
  const [question, setQuestion] = useState<Question | null>(null);
  const own = run === undefined ? [] : runDeeds(run, story, go);
  const deeds = [...own, ...storyDeeds(story, runs, run)];
  const tabs = [
    { path: `/stories/${story.id}`, words: "Overview", key: "v o" },
    ...(run === undefined
      ? []
      : [
          { path: `/runs/${run.id}`, words: "Transcript", key: "v t" },
          { path: `/runs/${run.id}/changes`, words: "Changes", key: "v c" },
          { path: `/runs/${run.id}/timeline`, words: "Timeline", key: "v l" },
          { path: `/runs/${run.id}/network`, words: "Network", key: "v n" },
        ]),
  ];
  const act = (deed: Deed) => ({
    id: `${own.includes(deed) ? "run" : "story"}.${deed.id}`,
    words: deed.full ?? (own.includes(deed) ? `${deed.words} the run…` : `${deed.words}: the story…`),
    keys: [deed.keys],
    run: () => setQuestion(deed.question),
  });
  useActions("Story", [
    ...tabs.map((tab) => ({
      id: `tab.${tab.words}`,
      words: `Show ${tab.words.toLowerCase()}`,
      keys: [tab.key],
      run: () => go(tab.path),
    })),
    ...deeds.map(act),
  ]);
  const few = deeds.slice(0, SHOWN);
  const many = deeds.slice(SHOWN);
  return (
    <div className="story-page">
      <header className="story-head">
        <div className="story-line">
          <span className="story-id quiet">{story.id}</span>
          <Title key={story.id} story={story} />
          <StoryState story={story} />
          <div className="story-deeds">
            {few.map((deed) => (
              <Button
                key={deed.id}
                kind={deed.danger ? "danger" : "normal"}
                hint={deed.keys}
                onPress={() => setQuestion(deed.question)}
              >
                {deed.words}…
              </Button>
            ))}
            {many.length > 0 && (
              <Menu
                label="More to do with it"
                face="⋯"
                actions={many.map((deed) => ({
                  id: deed.id,
                  words: `${deed.words}…`,
                  hint: deed.keys,
                  danger: deed.danger ?? false,
                  run: () => setQuestion(deed.question),
                }))}
              />
            )}
          </div>
        </div>
        {run !== undefined && <RunLine run={run} runs={runs} />}
        <ConflictNote story={story} run={run?.id} />
        <Tabs label="Views of the story" tabs={tabs} />
      </header>
      <div className="story-pane">{children}</div>
      {foot}
      <Confirm question={question} onClose={() => setQuestion(null)} />
    </div>
  );
}

function StoryState({ story }: { story: Story }) {
  if (story.merged != null) return <Badge tone="good">merged</Badge>;
  if (story.state === "done") return <Badge tone="good">done</Badge>;
  if (story.state === "archived") return <Badge>archived</Badge>;
  return <Badge tone={story.runs.live > 0 ? "info" : "plain"}>open</Badge>;
}

/** The run that is looked at, with its numbers, and the others to choose from. */
function RunLine({ run, runs }: { run: Run; runs: readonly Run[] }) {
  const [here, go] = useLocation();
  const tab = here.startsWith("/runs/") ? (here.split("/")[3] ?? "") : "";
  // There it is answered in place.
  const transcript = here === `/runs/${run.id}`;
  const activity = useLive((world) => world.activity.get(run.id));
  const lines = activity?.lines ?? run.lines;
  const waiting = useWaiting(run.id);
  const others = runs.some((one) => one.id === run.id) ? runs : [run, ...runs];
  return (
    <div className="run-line">
      {others.length > 1 ? (
        <select
          aria-label="Run"
          value={run.id}
          onChange={(event) => go(`/runs/${event.target.value}${tab === "" ? "" : `/${tab}`}`)}
        >
          {others.slice(0, 100).map((one) => (
            <option key={one.id} value={one.id}>
              {one.id} · {one.agent} · {one.phase === "over" ? (one.outcome ?? "over") : one.phase}
              {one.line === "fork" ? " · fork" : ""}
            </option>
          ))}
        </select>
      ) : (
        <Link href={`/runs/${run.id}`}>{run.id}</Link>
      )}
      <span>{run.agent}</span>
      {run.model != null && <span className="quiet">{oneLine(run.model, 60)}</span>}
      <Phase run={run} />
      {run.wish != null && run.phase !== "over" && <Badge tone="warn">will {run.wish}</Badge>}
      {waiting !== undefined && (
        <Link href={`/inbox/${run.id}/${encodeURIComponent(waiting.ask)}`}>
          <Badge tone="warn">{oneLine(waitingFor(waiting), 100)}</Badge>
        </Link>
      )}
      {waiting !== undefined && !transcript && <AnswerLink ask={waiting} />}
      <Quiet since={heardAt(run, activity, waiting !== undefined)} />
      {run.started_at != null && (
        <span className="quiet">
          <Elapsed from={run.started_at} to={run.ended_at ?? null} />
        </span>
      )}
      <span className="quiet">
        <Money spent={run.spent} />
      </span>
      {lines != null && lines.added + lines.removed > 0 && <PlusMinus lines={lines} />}
      {run.note != null && <span className="run-note">{oneLine(run.note, 200)}</span>}
    </div>
  );
}
