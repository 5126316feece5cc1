// Markdown that somebody else wrote: made into elements that cannot act, load nothing and leave the page only on a click.
import { useEffect, useRef, useState } from "react";
import { plain } from "./plain";
import { Lines } from "./Text";

/** Longer texts are shown as they are written. */
const LONGEST = 100_000;

export function Markdown({ text }: { text: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const long = text.length > LONGEST;
  useEffect(() => {
    if (long) return;
    let wanted = true;
    import("./cleaned").then(
      ({ render }) => {
        if (wanted) box.current?.replaceChildren(render(text));
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
