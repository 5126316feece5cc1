// One ask in full: what is wanted, why, what happened before, and the ways to answer.
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Ask } from "../../api/words";
import { useActions } from "../../keys/registry";
import { useStory } from "../../live/hooks";
import { askKind } from "../../ui/asked";
import { Button } from "../../ui/Button";
import { Age, Countdown } from "../../ui/Numbers";
import { capital } from "../../ui/states";
import { Line } from "../../ui/Text";
import { Always } from "./Always";
import { give, watchElsewhere } from "./answers";
import { Body } from "./Body";
import { Deny } from "./Deny";
import { FormAsk } from "./FormAsk";
import { QuestionForm } from "./QuestionForm";
import { Recent } from "./Recent";

export function AskDetail({ ask }: { ask: Ask }) {
  const [, go] = useLocation();
  const [open, setOpen] = useState<"deny" | "always" | null>(null);
  const body = ask.body;
  const yesOrNo = body?.kind === "approval" || body?.kind === "plan" || body == null;
  const approve = () => give(ask, { decision: "allow" }, `Approved for ${ask.agent}.`);
  useEffect(() => watchElsewhere(ask), [ask]);
  useActions("Inbox", [
    { id: "inbox.approve", words: "Approve", keys: ["a"], off: !yesOrNo, run: approve },
    { id: "inbox.deny", words: "Deny, with a reason", keys: ["d"], run: () => setOpen("deny") },
    {
      id: "inbox.always",
      words: "Always allow the like of it",
      keys: ["A"],
      off: body?.kind !== "approval",
      run: () => setOpen("always"),
    },
    { id: "inbox.open", words: "Open the run", keys: ["o"], run: () => go(`/runs/${ask.run}`) },
  ]);
  return (
    <article className="ask">
      <Head ask={ask} />
      {body?.kind === "question" ? (
        <QuestionForm ask={ask} questions={body.questions} />
      ) : body?.kind === "form" ? (
        <FormAsk ask={ask} form={body} />
      ) : (
        <Body ask={ask} />
      )}
      {open === "deny" ? (
        <Deny ask={ask} onClose={() => setOpen(null)} />
      ) : (
        <div className="ask-buttons">
          {yesOrNo && (
            <Button kind="primary" hint="a" onPress={approve}>
              Approve
            </Button>
          )}
          <Button kind="danger" hint="d" onPress={() => setOpen("deny")}>
            Deny…
          </Button>
          {body?.kind === "approval" && (
            <Button hint="A" onPress={() => setOpen("always")}>
              Always…
            </Button>
          )}
          <Button kind="quiet" hint="o" onPress={() => go(`/runs/${ask.run}`)}>
            Open run
          </Button>
        </div>
      )}
      <Recent run={ask.run} before={ask.seq ?? null} />
      <Always ask={ask} open={open === "always"} onClose={() => setOpen(null)} />
    </article>
  );
}

const TITLES: Record<string, string> = {
  approval: "wants to do something",
  question: "has a question",
  plan: "wants a yes before it goes on",
  form: "needs something filled in",
};

function Head({ ask }: { ask: Ask }) {
  const story = useStory(ask.story);
  return (
    <header className="ask-head">
      <Link href="/inbox" className="ask-back">
        ‹ Inbox
      </Link>
      <h2 id="inbox-title">
        {ask.agent} {TITLES[askKind(ask)] ?? "waits"}
      </h2>
      <p className="quiet">
        <Link href={`/stories/${ask.story}`}>
          <Line text={capital(story?.title ?? ask.story)} />
        </Link>
        <span>
          asked <Age at={ask.opened_at} sentence />
        </span>
        {ask.deadline != null && (
          <span>
            answered by default in <Countdown to={ask.deadline} />
          </span>
        )}
      </p>
    </header>
  );
}
