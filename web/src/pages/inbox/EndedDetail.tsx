// A run that has ended: how, with what, and what can be done now.
import { Link, useLocation } from "wouter";
import { api, take } from "../../api/client";
import { useActions } from "../../keys/registry";
import { useRun, useStory } from "../../live/hooks";
import { Phase } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Age, Elapsed, Money, PlusMinus } from "../../ui/Numbers";
import { capital } from "../../ui/states";
import { Line, Lines } from "../../ui/Text";
import { attempt, say } from "../../ui/toast";
import { type Item, lookAt } from "./items";
import { Recent } from "./Recent";

type Ended = Extract<Item, { kind: "ended" }>;

export function EndedDetail({ item }: { item: Ended }) {
  const [, go] = useLocation();
  const { run } = useRun(item.run);
  const story = useStory(item.story);
  const looked = () => {
    lookAt(item.run);
    say("Taken out of the inbox.", { undo: () => lookAt(item.run, false) });
  };
  const open = () => go(`/runs/${item.run}`);
  const changes = () => go(`/runs/${item.run}/changes`);
  const retry = () =>
    attempt(() =>
      take(api.POST("/api/v1/runs/{run}/retry", { params: { path: { run: item.run } }, body: {} })),
    );
  const done = () =>
    attempt(() =>
      take(api.POST("/api/v1/stories/{story}/done", { params: { path: { story: item.story } }, body: {} })),
    );
  useActions("Inbox", [
    { id: "inbox.open", words: "Open the run", keys: ["o", "Enter"], run: open },
    { id: "inbox.changes", words: "See the changes", keys: ["v"], run: changes },
    { id: "inbox.retry", words: "Begin it again", keys: ["r"], off: !item.failed, run: () => void retry() },
    { id: "inbox.done", words: "The story is done", keys: ["x"], run: () => void done() },
    { id: "inbox.looked", words: "Take it out of the inbox", keys: ["e"], run: looked },
  ]);
  const error = run?.error as { message?: string; hint?: string } | null | undefined;
  return (
    <article className="ask">
      <header className="ask-head">
        <Link href="/inbox" className="ask-back">
          ‹ Inbox
        </Link>
        <h2 id="inbox-title">{item.failed ? "A run ended without finishing" : "A run has finished"}</h2>
        <p className="quiet">
          <Link href={`/stories/${item.story}`}>
            <Line text={capital(story?.title ?? item.story)} />
          </Link>
          <span>
            ended <Age at={item.at} sentence />
          </span>
        </p>
      </header>
      {run && (
        <p className="ended-facts">
          <Phase run={run} /> <span>{run.agent}</span>{" "}
          <Elapsed from={run.started_at ?? run.queued_at} to={run.ended_at} /> <Money spent={run.spent} />{" "}
          {run.lines != null && <PlusMinus lines={run.lines} />}
        </p>
      )}
      {error?.message !== undefined && <Lines text={error.message} lines={20} />}
      {error?.hint !== undefined && <p className="quiet">{error.hint}</p>}
      <div className="ask-buttons">
        <Button kind="primary" hint="v" onPress={changes}>
          See changes
        </Button>
        <Button hint="o" onPress={open}>
          Open run
        </Button>
        {item.failed && (
          <Button hint="r" onPress={() => void retry()}>
            Begin again
          </Button>
        )}
        <Button hint="x" onPress={() => void done()}>
          Story is done
        </Button>
        <Button kind="quiet" hint="e" onPress={looked}>
          Looked at
        </Button>
      </div>
      <Recent run={item.run} before={null} />
    </article>
  );
}
