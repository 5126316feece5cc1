// The changes of a few files, line by line, as the server counted them.
import type { FileDiff, Hunk } from "../api/words";
import { CodeLine } from "./CodeLine";
import { usePainter } from "./colours";
import { EffectBadge } from "./Heeded";
import { PlusMinus } from "./Numbers";
import { plain } from "./plain";
import { Line } from "./Text";

/** So many lines are shown of a file. */
const LINES = 400;
/** So much is shown of a line. */
const LONGEST = 1_000;

export function DiffLines({ files }: { files: readonly FileDiff[] }) {
  return (
    <div className="diff-files">
      {files.map((file) => (
        <section key={file.path} className="diff-file" aria-label={`Changes of ${plain(file.path)}`}>
          <header>
            <Line text={file.path} /> <span className="quiet">{file.status}</span>{" "}
            <EffectBadge effect={file.effect} /> <PlusMinus lines={file} />
          </header>
          {file.binary ? <p className="quiet">Not text.</p> : <Hunks hunks={file.hunks} path={file.path} />}
        </section>
      ))}
    </div>
  );
}

function Hunks({ hunks, path }: { hunks: readonly Hunk[]; path: string }) {
  const painter = usePainter(path);
  const rows = hunks.flatMap(numbered);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls to the side.
    <div className="diff-box" tabIndex={0} role="group" aria-label="Lines">
      <table className="diff">
        <tbody>
          {rows.slice(0, LINES).map((row) => (
            <tr key={row.key} className={row.kind}>
              <td className="diff-number">{row.old}</td>
              <td className="diff-number">{row.now}</td>
              <td className="diff-sign">{row.sign}</td>
              <td className="diff-text">
                <CodeLine text={row.text} kind={row.kind} marks={row.marks} painter={painter} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > LINES && <p className="quiet">{rows.length - LINES} more lines</p>}
    </div>
  );
}

interface Row {
  key: string;
  kind: string;
  old: number | "";
  now: number | "";
  sign: string;
  text: string;
  marks: Hunk["lines"][number]["marks"];
}

const SIGNS: Record<string, string> = { added: "+", removed: "−", context: " " };

function numbered(hunk: Hunk): Row[] {
  let [old, now] = [hunk.old_start, hunk.new_start];
  return hunk.lines.map((line, at) => {
    const row: Row = {
      key: `${hunk.old_start}.${hunk.new_start}.${at}`,
      kind: line.kind,
      old: line.kind === "added" ? "" : old,
      now: line.kind === "removed" ? "" : now,
      sign: SIGNS[line.kind] ?? "",
      text: line.text.length > LONGEST ? `${line.text.slice(0, LONGEST)}…` : line.text,
      marks: line.marks,
    };
    if (line.kind !== "added") old += 1;
    if (line.kind !== "removed") now += 1;
    return row;
  });
}
