// What can be done with a story, each with the sentence that says what it will do.
import type { Run, Story } from "../../api/words";
import { plain } from "../../ui/plain";
import { archive, branchNumber, done, merge, reopen, type Secrets } from "../../ui/story/commands";
import { say } from "../../ui/toast";
import type { Deed } from "../run/actions";

/** The branches of a story's runs, the newest first. */
function branchesOf(runs: readonly Run[]): string[] {
  return [...new Set(runs.map((run) => run.branch).filter((branch) => branch != null))];
}

/** What a person can do with this story now; `chosen` is the run that is looked at, whose branch is meant. */
export function storyDeeds(story: Story, runs: readonly Run[], chosen: Run | undefined): Deed[] {
  const busy = story.runs.live > 0;
  const branches = branchesOf(runs);
  const branch = chosen?.branch ?? branches[0];
  const deeds: Deed[] = [];
  if (story.state !== "archived" && story.merged == null && !busy && branch !== undefined) {
    const number = branches.length > 1 ? branchNumber(branch) : null;
    const bring = async (secrets: Secrets) => {
      await merge(story.id, number, secrets);
      say(`Merged ${story.id}.`);
    };
    deeds.push({
      id: "merge",
      words: "Merge",
      keys: "s m",
      question: {
        title: `Merge ${story.id}`,
        about: (
          <>
            <p>
              Brings <code>{plain(branch)}</code> into the base branch with a merge commit, and marks the
              story as done. If the two do not fit, nothing is changed and you are told what conflicts.
            </p>
            {branches.length > 1 && (
              <p className="quiet">
                The story has {branches.length} branches. This merges the branch of the open run.
              </p>
            )}
          </>
        ),
        yes: "Merge",
        run: () => bring("refuse"),
        despite: { code: "secrets_found", yes: "Merge with these secrets", run: () => bring("seen") },
      },
    });
  }
  if (story.state === "open" && !busy) {
    deeds.push({
      id: "done",
      words: "Done",
      keys: "s d",
      question: {
        title: `${story.id} is done`,
        about:
          "Marks the story as done without merging anything. It takes no more runs until you reopen it; its branch and worktree stay.",
        yes: "Mark as done",
        run: async () => {
          await done(story.id);
          say(`${story.id} is done.`);
        },
      },
    });
  }
  if (story.state === "done") {
    deeds.push({
      id: "reopen",
      words: "Reopen",
      keys: "s o",
      question: {
        title: `Reopen ${story.id}`,
        about: "The story can have runs again. Merged work stays merged.",
        yes: "Reopen",
        run: async () => {
          await reopen(story.id);
          say(`${story.id} is open again.`);
        },
      },
    });
  }
  if (story.state !== "archived" && !busy) {
    deeds.push({
      id: "archive",
      words: "Archive",
      keys: "s a",
      danger: true,
      question: {
        title: `Archive ${story.id}`,
        about:
          "Archives the story: it leaves the board, and its worktrees are freed. Its branches and run logs are kept. This cannot be undone.",
        yes: "Archive",
        danger: true,
        run: async () => {
          await archive(story.id);
          say(`Archived ${story.id}.`);
        },
      },
    });
  }
  return deeds;
}
