// Where a person speaks to the agent: what is sent now, and what will come of it, is said before it is sent.
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { api, take } from "../../api/client";
import { asProblem, type Problem } from "../../api/problem";
import type { Run, Story } from "../../api/words";
import { useActions } from "../../keys/registry";
import { useLink } from "../../live/hooks";
import { Button } from "../../ui/Button";
import { Menu } from "../../ui/Menu";
import { plain } from "../../ui/plain";
import { capital } from "../../ui/states";
import { prompt } from "../../ui/story/commands";
import { say } from "../../ui/toast";
import { unsent } from "../../ui/unsent";
import { useDraft } from "./draft";
import { QueuedList } from "./QueuedList";

type How = "queue" | "steer" | "interrupt";

interface Props {
  run: Run;
  story: Story | undefined;
}

export function Composer({ run, story }: Props) {
  const [text, setText] = useDraft(run.id);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [, go] = useLocation();
  const live = useLink((link) => link.state === "live");
  const box = useRef<HTMLTextAreaElement>(null);
  useGrow(box, text);
  const able = abilities(run, story);

  const send = async (how: How) => {
    const words = text.trim();
    if (words === "" || busy || able.why !== null || (how !== "queue" && !able.now)) return;
    setBusy(true);
    setProblem(null);
    try {
      const next = await deliver(run, words, how);
      setText(unsent(box.current?.value ?? text, text));
      if (next !== null) go(`/runs/${next}`);
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      box.current?.blur();
      return;
    }
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send((event.ctrlKey || event.metaKey) && able.now ? "steer" : "queue");
  };
  useActions("Run", [
    { id: "run.say", words: `Send a message to ${run.agent}`, keys: ["m"], run: () => box.current?.focus() },
  ]);
  const empty = text.trim() === "";
  return (
    <section className="composer" aria-label={`Say something to ${run.agent}`}>
      <QueuedList run={run} back={(words) => text.trim() === "" && setText(words)} />
      <div className="composer-row">
        <textarea
          ref={box}
          rows={1}
          aria-label={`Message to ${run.agent}`}
          aria-describedby="composer-what"
          placeholder={able.why ?? `Say something to ${run.agent}`}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={press}
        />
        <Button
          kind="primary"
          hint="Enter"
          isDisabled={busy || empty || able.why !== null}
          onPress={() => void send("queue")}
        >
          {able.verb}
        </Button>
        {able.now && (
          <Button hint="Ctrl+Enter" isDisabled={busy || empty} onPress={() => void send("steer")}>
            Steer
          </Button>
        )}
        {able.now && (
          <Menu
            label="More ways to send"
            face="⋯"
            actions={[
              {
                id: "interrupt",
                words: "Interrupt and send",
                about: "Ends this turn and starts the next one with your message. The session is kept.",
                disabled: busy || empty,
                run: () => void send("interrupt"),
              },
            ]}
          />
        )}
      </div>
      <p
        id="composer-what"
        className={problem === null ? "quiet" : "t-bad"}
        role={problem ? "alert" : undefined}
      >
        {problem !== null
          ? `${capital(plain(problem.detail))}. ${capital(plain(problem.hint))}. Your text is kept.`
          : `${able.about}${live ? "" : " The server is away: what you send goes out when it is back."}`}
      </p>
    </section>
  );
}

interface Able {
  /** Why nothing can be said. */
  why: string | null;
  verb: string;
  about: string;
  /** There is a turn to speak into. */
  now: boolean;
}

function abilities(run: Run, story: Story | undefined): Able {
  const able = { why: null, verb: "Queue", now: false };
  if (story?.state === "archived") {
    const why = "The story is archived";
    return { ...able, why, about: `${why}: add a new story for more work.` };
  }
  if ((run.wish != null && run.phase !== "over") || run.phase === "closing" || run.phase === "finishing") {
    // What is typed meanwhile stays, and can be sent as soon as the run is over.
    return {
      ...able,
      why: "The run is ending",
      about: "Once it has ended, Enter resumes it with your message.",
    };
  }
  switch (run.phase) {
    case "live":
      return {
        ...able,
        now: true,
        about: "Enter queues it for the next turn. Ctrl+Enter sends it into this turn, at the next step.",
      };
    case "over":
      if (story?.state === "done") {
        const why = "The story is done";
        return { ...able, why, about: `${why}: reopen it to continue.` };
      }
      return {
        ...able,
        verb: "Resume",
        about: `The run has ${run.outcome === "stopped" ? "been stopped" : "ended"}: Enter resumes it in a new run that begins with your message.`,
      };
    default:
      return { ...able, about: "The run has not started yet: Enter queues it for after the first turn." };
  }
}

/** Sends the words; gives the run that goes on with them, if it is another one. */
async function deliver({ id: run, phase }: Run, text: string, how: How): Promise<string | null> {
  const path = { run };
  // One that has no agent yet may have none for hours.
  const begun = phase === "live" || phase === "over";
  if (how === "steer") {
    try {
      await take(api.POST("/api/v1/runs/{run}/steer", { params: { path }, body: { text } }));
      say("Sent into the turn.");
      return null;
    } catch (error) {
      // Its runtime cannot be spoken to within a turn, so the turn is ended first.
      if (!/cannot be steered/.test(asProblem(error).detail)) throw error;
      how = "interrupt";
    }
  }
  if (how === "interrupt") {
    // The words are queued first, so that they are there when the turn ends.
    await prompt(run, text, "Your message");
    await take(api.POST("/api/v1/runs/{run}/interrupt", { params: { path }, body: {} }));
    say("Interrupted; your message starts the next turn.");
    return null;
  }
  const receipt = await prompt(run, text, "Your message", begun ? "wait" : "leave");
  if (receipt.status === "queued") return receipt.run;
  if (!begun) say("Queued for after the first turn.");
  else say(receipt.status === "pending" ? "On its way to the agent." : "Queued for the next turn.");
  return null;
}

/** The box is as high as its text, up to a third of the window. */
function useGrow(box: { current: HTMLTextAreaElement | null }, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text has another height.
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, window.innerHeight / 3)}px`;
  }, [text, box]);
}
