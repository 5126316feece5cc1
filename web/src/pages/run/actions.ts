// What can be done with a run, each with the sentence that says what it will do.
import { api, take } from "../../api/client";
import type { Receipt, Run, Story } from "../../api/words";
import type { Question } from "../../ui/Confirm";
import { say } from "../../ui/toast";

export interface Deed {
  id: string;
  words: string;
  /** The same in the list of all actions, where the words alone do not say of what. */
  full?: string;
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
            "Ends the running turn and keeps the session. The run ends too, unless something is queued for it.",
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
          "Stops the run: the agent finishes its step, then it is asked to exit. Its changes are kept on its branch, and its session can be resumed.",
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
          "Kills the run and every process it started. Its changes so far are kept on its branch; a file that is being written may be incomplete.",
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
    if (run.phase === "live") deeds.push(...changes(run));
  } else if (story?.state === "open") {
    deeds.push({
      id: "resume",
      words: "Resume",
      keys: "r u",
      question: {
        title: `Resume ${run.id}`,
        about: "Queues a new run that continues this session in the same worktree.",
        yes: "Resume",
        words: { label: "Message (optional)" },
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
          "Queues a new run with the same prompt and a new session. The changes of this run stay on the branch.",
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
          "Queues a new run with a copy of the session and the branch, in its own worktree. This run is not changed.",
        yes: "Fork",
        words: { label: "Message to the fork (optional)" },
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

/** What can be changed of a live run. The log says when the agent has taken it. */
function changes(run: Run): Deed[] {
  const params = { path: { run: run.id } };
  const deeds: Deed[] = [];
  if (run.can?.model) {
    deeds.push({
      id: "model",
      words: "Change model",
      full: "Change the model of the run…",
      keys: "r m",
      question: {
        title: `Change the model of ${run.id}`,
        about: "Takes effect at the next model call, for this run only.",
        yes: "Change model",
        words: { label: "Model", needed: true },
        run: async (model) => {
          await take(api.POST("/api/v1/runs/{run}/model", { params, body: { model } }));
          say("Model change sent.");
        },
      },
    });
  }
  if (run.can?.mode) {
    deeds.push({
      id: "mode",
      words: "Change mode",
      full: "Change the permission mode of the run…",
      keys: "r o",
      question: {
        title: `Change the permission mode of ${run.id}`,
        about:
          "Sets the agent's own permission mode, in its own words, for this run only. Tool rules still apply.",
        yes: "Change mode",
        words: { label: "Mode", needed: true },
        run: async (mode) => {
          await take(api.POST("/api/v1/runs/{run}/mode", { params, body: { mode } }));
          say("Mode change sent.");
        },
      },
    });
  }
  return deeds;
}
