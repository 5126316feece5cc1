// Text that somebody else wrote: shown as text and nothing but text.
import { useMemo, useState } from "react";
import { Button } from "./Button";
import { cut, oneLine, plain } from "./plain";

/** One line, in its own direction. */
export function Line({ text, longest }: { text: string; longest?: number }) {
  const line = useMemo(() => oneLine(text, longest), [text, longest]);
  return <bdi className="line">{line}</bdi>;
}

/** Several lines as they are, the first of them at first; "open full" shows the rest. */
export function Lines({ text, lines = 40, mono = true }: { text: string; lines?: number; mono?: boolean }) {
  const [full, setFull] = useState(false);
  // A very long text is not looked through before somebody wants to see it.
  const safe = useMemo(() => plain(full ? text : text.slice(0, 200_000)), [text, full]);
  const part = useMemo(() => (full ? { text: safe, left: 0 } : cut(safe, lines)), [safe, full, lines]);
  const left = full ? 0 : part.left + Math.max(0, text.length - 200_000);
  return (
    <div className="lines">
      <pre className={mono ? "mono" : "prose"} dir="auto">
        {part.text}
      </pre>
      {left > 0 && (
        <Button kind="quiet" onPress={() => setFull(true)}>
          Open full ({left.toLocaleString("en")} more characters)
        </Button>
      )}
    </div>
  );
}
