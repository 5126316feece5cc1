// Markdown that somebody else wrote: made into elements that cannot act, load nothing and leave the page only on a click.
import { useEffect, useRef, useState } from "react";
import { oneLine, plain } from "./plain";
import { criteriaOf } from "./story/criteria";
import { Lines } from "./Text";

/** Longer texts are shown as they are written. */
const LONGEST = 100_000;

/** Gives whether a task of the text was ticked, or not ticked any more. */
export type Tick = (at: number, done: boolean) => Promise<boolean>;

export function Markdown({ text, tick }: { text: string; tick?: Tick }) {
  const ticking = useRef(tick);
  ticking.current = tick;
  const box = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const long = text.length > LONGEST;
  useEffect(() => {
    if (long) return;
    let wanted = true;
    import("./cleaned").then(
      ({ render }) => {
        if (!wanted || box.current === null) return;
        const next = render(text);
        if (ticking.current !== undefined) enable(next, text, ticking);
        replace(box.current, next);
      },
      () => setFailed(true),
    );
    return () => {
      wanted = false;
    };
  }, [text, long]);
  if (long || failed) return <Lines text={text} mono={false} />;
  return (
    <div ref={box} className="markdown" dir="auto">
      <p className="as-text">{plain(text)}</p>
    </div>
  );
}

/** Lets people tick the tasks, if each box belongs to one line of the text. */
function enable(shown: DocumentFragment, text: string, tick: { current: Tick | undefined }): void {
  const boxes = [...shown.querySelectorAll("input")];
  if (boxes.length !== criteriaOf(text).length) return;
  for (const [at, box] of boxes.entries()) {
    box.disabled = false;
    box.setAttribute("aria-label", oneLine(box.closest("li")?.textContent ?? "task"));
    box.addEventListener("change", () => {
      const done = box.checked;
      void tick.current?.(at, done).then((worked) => {
        if (!worked) box.checked = !done;
      });
    });
  }
}

/** Shows another text; the box that had the focus keeps it. */
function replace(box: HTMLElement, next: DocumentFragment): void {
  const focused = [...box.querySelectorAll<Element>("input")].indexOf(document.activeElement ?? box);
  box.replaceChildren(next);
  if (focused >= 0) box.querySelectorAll("input")[focused]?.focus({ preventScroll: true });
}
