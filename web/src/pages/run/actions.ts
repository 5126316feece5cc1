// What can be done with a run, each with the sentence that says what it will do.
import { api, take } from "../../api/client";
import type { Receipt, Run, Story } from "../../api/words";
import type { Question } from "../../ui/Confirm";
import { say } from "../../ui/toast";

export interface Deed {
  id: string;
  words: string;
  keys: string;
  danger?: boolean;
  question: Question;
}

const live = (run: Run) => run.phase !== "over";

/** Does something, says so, and goes to the run that came of it. */
export async function works(
  work: () => Promise<Receipt>,
  words: string,
  go: (path: string) => void,
): Promise<void> {
  const receipt = await work();
  if (receipt.status === "queued") {
    say(`Queued ${receipt.run}.`);
    go(`/runs/${receipt.run}`);
  } else say(words);
}

/** What a person can do with this run now. `go` opens another run. */
export function runDeeds(run: Run, story: Story | undefined, go: (path: string) => void): Deed[] {
  const path = { run: run.id };
  const deeds: Deed[] = [];
  if (live(run)) {
    if (run.phase === "live") {
      deeds.push({
        id: "interrupt",
        words: "Interrupt",
        keys: "r i",
        question: {
          title: `Interrupt ${run.agent}`,
          about:
            "Ends the turn that runs now and keeps the session. The run ends too, unless something is queued for it.",
          yes: "Interrupt",
          run: () =>
            works(
              () => take(api.POST("/api/v1/runs/{run}/interrupt", { params: { path }, body: {} })),
              "Interrupted.",
              go,
            ),
        },
      });
    }
    deeds.push({
      id: "stop",
      words: "Stop",
      keys: "r s",
      question: {
        title: `Stop ${run.id}`,
        about:
          "Ends the run gently: the agent may finish its step, then it is asked to leave, step by step. What it changed is kept on its branch, and its session can be gone on with.",
        yes: "Stop",
        run: () =>
          works(
            () => take(api.POST("/api/v1/runs/{run}/stop", { params: { path }, body: {} })),
            "Stopping.",
            go,
          ),
      },
    });
    deeds.push({
      id: "kill",
      words: "Kill",
      keys: "r k",
      danger: true,
      question: {
        title: `Kill ${run.id}`,
        about:
          "Ends the run by force, with every process that it started. What it wrote to its worktree so far is kept on its branch; a file that it is writing just now may be left half written.",
        yes: "Kill",
        danger: true,
        run: () =>
          works(
            () => take(api.POST("/api/v1/runs/{run}/kill", { params: { path }, body: {} })),
            "Killed.",
            go,
          ),
      },
    });
  } else if (story?.state === "open") {
    deeds.push({
      id: "resume",
      words: "Resume",
      keys: "r u",
      question: {
        title: `Resume ${run.id}`,
        about: "Queues a new run of the same agent that goes on with this session, in the same worktree.",
        yes: "Resume",
        words: { label: "What to say to it (it goes on by itself without)" },
        run: (text) =>
          works(
            () =>
              take(
                api.POST("/api/v1/runs/{run}/resume", {
                  params: { path },
                  body: text === "" ? {} : { text },
                }),
              ),
            "Resumed.",
            go,
          ),
      },
    });
    deeds.push({
      id: "retry",
      words: "Retry",
      keys: "r r",
      question: {
        title: `Retry ${run.id}`,
        about:
          "Queues a new run with the same prompt and a fresh session. What this run changed stays on the branch.",
        yes: "Retry",
        run: () =>
          works(
            () => take(api.POST("/api/v1/runs/{run}/retry", { params: { path }, body: {} })),
            "Queued.",
            go,
          ),
      },
    });
  }
  if (story?.state === "open" && run.session != null) {
    deeds.push({
      id: "fork",
      words: "Fork",
      keys: "r f",
      question: {
        title: `Fork ${run.id}`,
        about:
          "Queues a new run beside this one: it begins with a copy of the session and of the branch, in a worktree of its own. This run is not touched.",
        yes: "Fork",
        words: { label: "What the fork is told (it goes on by itself without)" },
        run: (text) =>
          works(
            () =>
              take(
                api.POST("/api/v1/runs/{run}/fork", { params: { path }, body: text === "" ? {} : { text } }),
              ),
            "Forked.",
            go,
          ),
      },
    });
  }
  return deeds;
}
