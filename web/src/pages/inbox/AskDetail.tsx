// One ask in full: what is wanted, why, what happened before, and the ways to answer.
import { Link, useLocation } from "wouter";
import { type Ask, askKey } from "../../api/words";
import { useSteady } from "../../keys/hand";
import { useActions } from "../../keys/registry";
import { useStory } from "../../live/hooks";
import { askKind } from "../../ui/asked";
import { Button } from "../../ui/Button";
import { Age, Countdown } from "../../ui/Numbers";
import { capital } from "../../ui/states";
import { Line } from "../../ui/Text";
import { Answering } from "./Answering";
import { Recent } from "./Recent";
import { isYesOrNo, type Selection } from "./selection";

interface Props {
  ask: Ask;
  onward(): void;
  selection: Selection;
}

export function AskDetail({ ask, onward, selection }: Props) {
  const [, go] = useLocation();
  const openRun = () => go(`/runs/${ask.run}`);
  // Only what somebody had the time to look at can be answered together with others.
  const steady = useSteady(`${askKey(ask)} ${ask.digest}`);
  const several = isYesOrNo(ask);
  const selected = selection.has(askKey(ask));
  const select = () => {
    if (steady.check()) selection.toggle(ask);
  };
  useActions("Inbox", [
    { id: "inbox.open", words: "Open the run", keys: ["o"], run: openRun },
    {
      id: "inbox.select",
      words: selected ? "Remove from the selection" : "Select it, to answer several together",
      keys: ["s"],
      off: !several,
      stays: true,
      run: select,
    },
  ]);
  return (
    <article className="ask">
      <Head ask={ask} />
      <Answering ask={ask} group="Inbox" onward={onward}>
        {several && (
          <Button kind="quiet" hint="s" onPress={select}>
            {selected ? "Unselect" : "Select"}
          </Button>
        )}
        <Button kind="quiet" hint="o" onPress={openRun}>
          Open run
        </Button>
      </Answering>
      <Recent run={ask.run} before={ask.seq ?? null} />
    </article>
  );
}

const WISHES: Record<string, string> = {
  execute: "wants to run a command",
  edit: "wants to change a file",
  read: "wants to read something",
  fetch: "wants to fetch something",
};

const TITLES: Record<string, string> = {
  approval: "wants to do something",
  question: "has a question",
  plan: "needs its plan approved",
  form: "needs something filled in",
};

function titleOf(ask: Ask): string {
  const wish = ask.body?.kind === "approval" ? WISHES[ask.body.tool_kind] : undefined;
  return wish ?? TITLES[askKind(ask)] ?? "waits";
}

function Head({ ask }: { ask: Ask }) {
  const story = useStory(ask.story);
  return (
    <header className="ask-head">
      <Link href="/inbox" className="ask-back">
        ‹ Inbox
      </Link>
      <h2 id="inbox-title">
        <Link href={`/stories/${ask.story}`}>
          <Line text={capital(story?.title ?? ask.story)} />
        </Link>
      </h2>
      <p className="quiet">
        <span>
          {ask.agent} {titleOf(ask)}
        </span>
        <span>
          asked <Age at={ask.opened_at} sentence />
        </span>
        {ask.deadline != null && (
          <span>
            auto-answered in <Countdown to={ask.deadline} />
          </span>
        )}
      </p>
    </header>
  );
}
