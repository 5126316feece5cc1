// A run that has ended: how, with what, and what can be done now.
import { Link, useLocation } from "wouter";
import { api, take } from "../../api/client";
import type { Story } from "../../api/words";
import { useSteady } from "../../keys/hand";
import { useActions } from "../../keys/registry";
import { useRun, useStory } from "../../live/hooks";
import { Badge, Phase } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Age, Elapsed, Money, PlusMinus } from "../../ui/Numbers";
import { oneLine } from "../../ui/plain";
import { capital } from "../../ui/states";
import { done as finish, reopen } from "../../ui/story/commands";
import { ConflictNote } from "../../ui/story/conflict";
import { Line, Lines } from "../../ui/Text";
import { attempt, say } from "../../ui/toast";
import { handledHere, type Item, lookAt } from "./items";
import { Recent } from "./Recent";

type Ended = Extract<Item, { kind: "ended" }>;

interface Props {
  item: Ended;
  /** It no longer waits, because somebody else acted on it. */
  gone: boolean;
  onward(): void;
}

export function EndedDetail({ item, gone, onward }: Props) {
  const [, go] = useLocation();
  const { run } = useRun(item.run);
  const story = useStory(item.story);
  const steady = useSteady(`${item.key} ${gone}`);
  /** Acts on this item, unless it has only just come here or no longer waits. */
  const act = (work: () => void) => () => {
    if (!steady.check()) return;
    if (gone) {
      say("Not done: it is no longer open.", { tag: "steady" });
      return;
    }
    work();
  };
  const looked = act(() => {
    lookAt(item.run);
    say("Dismissed.", { undo: () => lookAt(item.run, false) });
  });
  const open = () => go(`/runs/${item.run}`);
  const changes = () => go(`/runs/${item.run}/changes`);
  const retry = act(() => {
    handledHere(item.key);
    const path = { run: item.run };
    void attempt(() => take(api.POST("/api/v1/runs/{run}/retry", { params: { path }, body: {} })));
  });
  const done = act(() => {
    handledHere(item.key);
    void attempt(async () => {
      await finish(item.story);
      say(`Done: ${oneLine(story?.title ?? item.story, 80)}`, {
        undo: () => void attempt(() => reopen(item.story)),
      });
    });
  });
  useActions("Inbox", [
    { id: "inbox.open", words: "Open the run", keys: ["o", "Enter"], run: open },
    { id: "inbox.changes", words: "See the changes", keys: ["v"], run: changes },
    { id: "inbox.retry", words: "Retry", keys: ["r"], off: !item.failed, run: retry },
    { id: "inbox.done", words: "The story is done", keys: ["x"], run: done },
    { id: "inbox.looked", words: "Dismiss", keys: ["e"], run: looked },
  ]);
  const error = run?.error as { message?: string; hint?: string } | null | undefined;
  return (
    <article className="ask" data-steady={steady.ready}>
      <header className="ask-head">
        <Link href="/inbox" className="ask-back">
          ‹ Inbox
        </Link>
        <h2 id="inbox-title">
          <Link href={`/stories/${item.story}`}>
            <Line text={capital(story?.title ?? item.story)} />
          </Link>
        </h2>
        <p className="quiet">
          <Badge tone={item.failed ? "bad" : "good"}>{item.failed ? "Failed" : "Ready for review"}</Badge>
          <span>
            ended <Age at={item.at} sentence />
          </span>
        </p>
      </header>
      <div role="status" className={gone ? "settled-mark" : undefined}>
        {gone && (
          <>
            <Badge>Closed</Badge>
            <span>{goneWords(story)}</span>
            <Button hint="j" onPress={onward}>
              Next
            </Button>
          </>
        )}
      </div>
      {run && (
        <p className="ended-facts">
          <Phase run={run} /> <span>{run.agent}</span>{" "}
          <Elapsed from={run.started_at ?? run.queued_at} to={run.ended_at} /> <Money spent={run.spent} />{" "}
          {run.lines != null && <PlusMinus lines={run.lines} />}
        </p>
      )}
      {error?.message !== undefined && <Lines text={error.message} lines={20} />}
      {error?.hint !== undefined && <p className="quiet">{error.hint}</p>}
      {story !== undefined && !gone && <ConflictNote story={story} run={item.run} />}
      <div className="ask-buttons">
        <Button kind={story?.conflict == null ? "primary" : "normal"} hint="v" onPress={changes}>
          See changes
        </Button>
        <Button hint="o" onPress={open}>
          Open run
        </Button>
        {item.failed && (
          <Button hint="r" onPress={retry}>
            Retry
          </Button>
        )}
        <Button hint="x" onPress={done}>
          Story is done
        </Button>
        <Button kind="quiet" hint="e" onPress={looked}>
          Dismiss
        </Button>
      </div>
      <Recent run={item.run} before={null} />
    </article>
  );
}

function goneWords(story: Story | undefined): string {
  if (story === undefined) return "Its story was archived.";
  if (story.merged != null) return "Its story was merged elsewhere.";
  if (story.state === "done") return "Its story was marked done elsewhere.";
  if (story.runs.live > 0) return "Another run of its story was started.";
  return "It was dismissed in another window.";
}
