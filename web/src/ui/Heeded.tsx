// Files that mean something to agents' programs: those that they run, and those that they obey.
import { Badge } from "./Badge";
import { Line } from "./Text";

interface Marked {
  path: string;
  effect?: string | null;
}

/** The mark of one file; nothing for a file like any other. */
export function EffectBadge({ effect }: { effect?: string | null | undefined }) {
  if (effect === "executes") return <Badge tone="warn">run by agents</Badge>;
  if (effect === "obeys") return <Badge tone="info">obeyed by agents</Badge>;
  return null;
}

/** Names the marked ones among changed files, before they are merged. */
export function Heeded({ files }: { files: readonly Marked[] }) {
  const marked = files.filter((file) => file.effect === "executes" || file.effect === "obeys");
  if (marked.length === 0) return null;
  return (
    <div className="heeded" role="note">
      <p>This changes what agents run or obey from now on:</p>
      <ul>
        {marked.map((file) => (
          <li key={file.path}>
            <Line text={file.path} longest={160} /> <EffectBadge effect={file.effect} />
          </li>
        ))}
      </ul>
    </div>
  );
}
