// One field of a story that is saved as soon as it is changed: what it shows, whether it is on its way, what was refused.
import { useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../../../api/problem";
import type { StoryWhole } from "../../../api/words";
import { change, readStory } from "../../../ui/story/commands";
import type { StoryChange } from "../../../ui/story/spec";

export interface Field<T> {
  /** What the server has, or what it will have once it was told. */
  shown: T;
  busy: boolean;
  problem: Problem | null;
  /** Gives whether it was taken. */
  save(next: T, body: StoryChange): Promise<boolean>;
  /** The same for a list, which is changed as the server has it now: others may have changed it since it was shown. */
  saveList(next: T, body: (now: StoryWhole) => StoryChange): Promise<boolean>;
  refuse(problem: Problem | null): void;
}

export function useField<T>(story: string, live: T): Field<T> {
  const [wanted, want] = useState<{ value: T } | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, refuse] = useState<Problem | null>(null);
  const told = JSON.stringify(live);
  // What the feed tells is newer than what was wanted here.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a value that is told anew is what counts.
  useEffect(() => want(null), [told]);
  /** Changes are sent one after the other, so that the last one counts. */
  const before = useRef<Promise<unknown>>(Promise.resolve());
  const send = (next: T, work: () => Promise<unknown>) => {
    want({ value: next });
    setBusy(true);
    refuse(null);
    const sent = before.current.then(async () => {
      try {
        await work();
        return true;
      } catch (error) {
        want(null);
        refuse(asProblem(error));
        return false;
      } finally {
        if (before.current === sent) setBusy(false);
      }
    });
    before.current = sent;
    return sent;
  };
  const save: Field<T>["save"] = (next, body) => send(next, () => change(story, body));
  const saveList: Field<T>["saveList"] = (next, body) =>
    send(next, async () => change(story, body(await readStory(story))));
  return { shown: wanted === null ? live : wanted.value, busy, problem, save, saveList, refuse };
}
