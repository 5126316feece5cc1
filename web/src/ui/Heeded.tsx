// Files to look at before they are merged: those that agents' programs run or obey, and those that other programs run later.
import { Badge } from "./Badge";
import { Line } from "./Text";

interface Marked {
  path: string;
  effect?: string | null;
}

const MARKS: Record<string, { tone: "warn" | "info"; text: string }> = {
  executes: { tone: "warn", text: "run by agents" },
  obeys: { tone: "info", text: "obeyed by agents" },
  runs_later: { tone: "warn", text: "run by other programs" },
  executable: { tone: "warn", text: "now executable" },
  link: { tone: "info", text: "link" },
  repository: { tone: "info", text: "other repository" },
};

function mark(effect: string | null | undefined) {
  return effect === undefined || effect === null ? undefined : MARKS[effect];
}

/** The mark of one file; nothing for a file like any other. */
export function EffectBadge({ effect }: { effect?: string | null | undefined }) {
  const known = mark(effect);
  return known === undefined ? null : <Badge tone={known.tone}>{known.text}</Badge>;
}

/** Names the marked ones among changed files, before they are merged. */
export function Heeded({ files }: { files: readonly Marked[] }) {
  const marked = files.filter((file) => mark(file.effect) !== undefined);
  if (marked.length === 0) return null;
  return (
    <div className="heeded" role="note">
      <p>This changes what agents or other programs run or obey from now on:</p>
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
