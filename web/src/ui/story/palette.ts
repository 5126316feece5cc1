// What the palette offers to do with a story, wherever somebody is.
import type { Story } from "../../api/words";
import { oneLine } from "../plain";
import { attempt } from "../toast";
import { reopen } from "./commands";
import { finishStory, startStory } from "./dialogs";

export interface StoryEntry {
  id: string;
  words: string;
  about: string;
  hint: string;
  run(): void;
}

/** The story itself, and with words typed also what can be done with it. */
export function storyEntries(
  stories: readonly Story[],
  typed: boolean,
  go: (path: string) => void,
): StoryEntry[] {
  const entries = stories.map((story) => entry(story, "story", "", () => go(`/stories/${story.id}`)));
  if (!typed) return entries;
  for (const story of stories) {
    const done = story.state === "done";
    entries.push(entry(story, "start", "Start an agent on", () => startStory(story.id)));
    if (done) entries.push(entry(story, "reopen", "Reopen", () => void attempt(() => reopen(story.id))));
    else if (story.runs.live === 0)
      entries.push(entry(story, "finish", "Merge or done", () => finishStory(story.id)));
  }
  return entries;
}

function entry(story: Story, what: string, verb: string, run: () => void): StoryEntry {
  const title = oneLine(story.title ?? story.id, 120);
  const words = verb === "" ? title : `${verb}: ${title}`;
  return { id: `${what}:${story.id}`, words, about: `Story ${story.id}`, hint: "", run };
}
