// Ticks the acceptance criteria of a story in its text, and never in a text that nobody has seen.
import { useEffect, useRef, useState } from "react";
import { asProblem } from "../../api/problem";
import type { Tick } from "../../ui/Markdown";
import { plain } from "../../ui/plain";
import { sentence } from "../../ui/states";
import { change, readStory } from "../../ui/story/commands";
import { withCriterion } from "../../ui/story/criteria";

export interface Ticks {
  tick: Tick;
  /** Why the last one was not ticked. */
  said: string | null;
}

/** `text` is what is shown; `reload` reads it again. */
export function useTicks(story: string, text: string, reload: () => void): Ticks {
  const [said, say] = useState<string | null>(null);
  const shown = useRef(text);
  useEffect(() => {
    shown.current = text;
  }, [text]);
  /** Ticks that follow each other quickly are saved one after the other. */
  const before = useRef<Promise<unknown>>(Promise.resolve());
  const one = async (at: number, done: boolean): Promise<boolean> => {
    try {
      const { text: now } = await readStory(story);
      if ((now ?? "") !== shown.current) {
        say("The description was changed meanwhile, so nothing was ticked. Check it and tick again.");
        reload();
        return false;
      }
      const next = withCriterion(shown.current, at, done);
      await change(story, { text: next });
      shown.current = next;
      say(null);
      reload();
      return true;
    } catch (error) {
      const { detail, hint } = asProblem(error);
      say(`${sentence(plain(detail))} ${sentence(plain(hint))}`);
      return false;
    }
  };
  const tick: Tick = (at, done) => {
    const next = before.current.then(() => one(at, done));
    before.current = next;
    return next;
  };
  return { tick, said };
}
