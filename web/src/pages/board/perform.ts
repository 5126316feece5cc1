// Does what a move says, with a confirmation where it cannot be taken back.
import type { Story } from "../../api/words";
import { oneLine } from "../../ui/plain";
import { archive, done, reopen, retry, stop } from "../../ui/story/commands";
import { letResolve } from "../../ui/story/conflict";
import { ask, finishStory, startStory } from "../../ui/story/dialogs";
import { attempt, say } from "../../ui/toast";
import type { Card } from "./cards";
import { columnWords } from "./columns";
import type { Move } from "./moves";

export function perform(card: Card, move: Move, go: (path: string) => void): void {
  const title = oneLine(card.title, 60);
  switch (move.kind) {
    case "start":
    case "restart":
      startStory(card.id);
      return;
    case "finish":
    case "merge":
      finishStory(card.id);
      return;
    case "answer": {
      const [first] = card.asks;
      if (first) go(`/inbox/${first.run}/${encodeURIComponent(first.ask)}`);
      return;
    }
    case "resolve":
      resolveConflict(card.story, go);
      return;
    case "retry": {
      const run = card.story.latest?.run;
      if (run !== undefined) void attempt(() => retry(run));
      return;
    }
    case "stop":
      stopping(card, title);
      return;
    case "done":
      void attempt(async () => {
        await done(card.id);
        say(`Done: ${title}`, { undo: () => void attempt(() => reopen(card.id)) });
      });
      return;
    case "reopen":
      void attempt(async () => {
        await reopen(card.id);
        const where = move.to === null ? "" : `; it stands in ${columnWords(move.to)}`;
        const undo = card.story.merged == null ? () => void attempt(() => done(card.id)) : undefined;
        say(`Reopened${where}: ${title}`, undo === undefined ? {} : { undo });
      });
      return;
    case "archive":
      ask({
        title: "Archive a story",
        about: `“${title}” leaves the board and cannot be worked on any more. Its runs and their logs stay.`,
        yes: "Archive",
        run: () => archive(card.id),
      });
      return;
  }
}

/** Lets the agent that worked on a story last resolve its merge conflict. */
export function resolveConflict(story: Story | undefined, go: (path: string) => void): void {
  const run = story?.latest?.run;
  if (story === undefined || run === undefined) return;
  void attempt(async () => {
    const next = await letResolve(run, story.conflict?.files ?? []);
    say(
      `${story.latest?.agent ?? "The agent"} resolves the conflict: ${oneLine(story.title ?? story.id, 60)}`,
    );
    if (next !== null) go(`/runs/${next}`);
  });
}

function stopping(card: Card, title: string): void {
  const runs = card.live.map((run) => run.id);
  if (runs.length === 0 && card.story.latest != null) runs.push(card.story.latest.run);
  const all = () => Promise.all(runs.map(stop));
  if (card.column === "queued") {
    void attempt(async () => {
      await all();
      say(`Removed from the queue: ${title}`);
    });
    return;
  }
  const what =
    runs.length === 1 ? `${card.agents.join(", ")} ends its work` : `${runs.length} runs end their work`;
  ask({
    title: runs.length === 1 ? "Stop the run" : "Stop the runs",
    about: `${what} on “${title}” step by step. What was changed is kept on its branch, and a run can be resumed.`,
    yes: "Stop",
    run: all,
  });
}
