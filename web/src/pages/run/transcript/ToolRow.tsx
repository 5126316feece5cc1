// A tool call in one line; opened, with its input, its output and what it changed.
import { type ReactNode, useState } from "react";
import { takeRaw } from "../../../api/client";
import { useQuery } from "../../../api/query";
import { readText } from "../../../api/raw";
import type { FileDiff } from "../../../api/words";
import { Badge } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { Code } from "../../../ui/Code";
import { DiffLines } from "../../../ui/DiffLines";
import { span } from "../../../ui/format";
import { KindIcon } from "../../../ui/KindIcon";
import { PlusMinus } from "../../../ui/Numbers";
import { oneLine, plain } from "../../../ui/plain";
import { Line, Lines } from "../../../ui/Text";
import { attempt } from "../../../ui/toast";
import { innerKey, written } from "./fold";
import { changedLines } from "./lines";
import { isOver, type RawPlace, type ToolRow } from "./rows";

interface Props {
  run: string;
  row: ToolRow;
  inner: number;
  open: boolean;
  innerOpen: boolean;
  output: string | null;
  toggle(key: string): void;
}

export function ToolRowView({ run, row, inner, open, innerOpen, output, toggle }: Props) {
  const lines = changedLines(row.edits);
  const steps = `${inner} ${inner === 1 ? "step" : "steps"}`;
  return (
    <div className={`t-tool ${row.phase}`}>
      <div className="t-tool-head">
        <button type="button" className="t-fold" aria-expanded={open} onClick={() => toggle(row.key)}>
          <KindIcon kind={row.tool} />
          <b>{oneLine(row.name ?? row.tool ?? "tool", 60)}</b>
          <Line text={row.subject ?? ""} longest={240} />
          {lines !== null && <PlusMinus lines={lines} />}
          <Mark row={row} />
        </button>
        {inner > 0 && (
          <Button
            kind="quiet"
            aria-expanded={innerOpen}
            onPress={() => toggle(innerKey(row.key))}
            label={`${innerOpen ? "Fold" : "Show"} ${steps} of its helper`}
          >
            {innerOpen ? "▾" : "▸"} {steps}
          </Button>
        )}
      </div>
      {!open && output !== null && !isOver(row) && (
        <pre className="t-live mono">{plain(output.slice(-600)).split("\n").slice(-4).join("\n")}</pre>
      )}
      {open && <Inside run={run} row={row} output={output} />}
    </div>
  );
}

const MARKS: Record<string, ["bad" | "warn", string]> = {
  failed: ["bad", "failed"],
  denied: ["bad", "denied"],
  cancelled: ["warn", "cancelled"],
};

function Mark({ row }: { row: ToolRow }) {
  const mark = MARKS[row.phase];
  return (
    <span className="t-mark">
      {mark !== undefined && <Badge tone={mark[0]}>{mark[1]}</Badge>}
      {row.phase === "completed" && <span className="unseen">completed</span>}
      {!isOver(row) && <Badge tone="info">{row.phase === "proposed" ? "proposed" : "running"}</Badge>}
      {row.ms !== null && row.ms >= SHORT && <span className="quiet">{took(row.ms)}</span>}
    </span>
  );
}

/** What is over at once needs no time. */
const SHORT = 100;

function took(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : span(ms);
}

function Inside({ run, row, output }: { run: string; row: ToolRow; output: string | null }) {
  const exit = row.output?.exit_code;
  return (
    <div className="t-inside">
      {row.reason !== null && <p className="t-bad">{plain(row.reason)}</p>}
      <Input row={row} />
      {row.edits.length > 0 && <Change run={run} row={row} />}
      {row.output !== null ? (
        <div className="t-part">
          <h4>Output{exit === undefined || exit === 0 ? "" : `, exit code ${exit}`}</h4>
          {row.output.text === "" ? (
            <p className="quiet">No output.</p>
          ) : (
            <Lines text={row.output.text} lines={30} />
          )}
          <Whole run={run} text={row.output.text} raw={row.outputRaw} />
        </div>
      ) : (
        output !== null && (
          <div className="t-part">
            <h4>Output so far</h4>
            <Lines text={output} lines={200} />
          </div>
        )
      )}
    </div>
  );
}

/** The subject first, as code, then every other field that was given. What the change shows is not said before it. */
function Input({ row }: { row: ToolRow }) {
  const input = row.input;
  if (input === undefined) return null;
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return (
      <Part>
        <Lines text={written(input)} lines={30} />
      </Part>
    );
  }
  const fields = Object.entries(input);
  const subject = fields.find(([, value]) => value === row.subject);
  const edited = new Set(row.edits.flatMap((edit) => [edit.path, edit.old, edit.new]));
  const rest = fields.filter((field) => field !== subject && !edited.has(field[1] as string));
  const words = rest.map(([name, value]) => `${name}: ${written(value)}`).join("\n");
  const shown = subject !== undefined && !edited.has(String(subject[1]));
  if (!shown && words === "") return null;
  return (
    <Part>
      {shown && row.tool === "execute" && <Code text={String(subject[1])} path="a.sh" />}
      {shown && row.tool !== "execute" && <Lines text={String(subject[1])} lines={10} />}
      {words !== "" && <Lines text={words} lines={20} />}
    </Part>
  );
}

function Part({ children }: { children: ReactNode }) {
  return (
    <div className="t-part">
      <h4>Input</h4>
      {children}
    </div>
  );
}

/** What the edits of this call change, as the server counts it. */
function Change({ run, row }: { run: string; row: ToolRow }) {
  const change = useQuery(`${run} ${row.inputSeq}`, () =>
    takeRaw<{ change: FileDiff[] | null; change_note?: string | null }>(
      `/runs/${run}/events/${row.inputSeq}/change`,
    ),
  );
  const { change: files, change_note: note } = change.data ?? {};
  return (
    <div className="t-part">
      <h4>Change</h4>
      {files != null && <DiffLines files={files} />}
      {note != null && <p className="quiet">{plain(note)}</p>}
      {change.loading && <p className="quiet">Loading the change…</p>}
      {change.problem !== undefined && change.data === undefined && (
        <p className="t-bad">
          {plain(change.problem.detail)}{" "}
          <Button kind="quiet" onPress={change.reload}>
            Try again
          </Button>
        </p>
      )}
    </div>
  );
}

/** A log keeps the ends of a very long text; the agent's own frame has all of it. */
function Whole({ run, text, raw }: { run: string; text: string; raw: RawPlace | null }) {
  const [frame, setFrame] = useState<string | null>(null);
  if (raw === null || !/\[\d+ bytes cut here\]/.test(text)) return null;
  if (frame !== null) return <Lines text={frame} lines={200} />;
  const read = () =>
    attempt(async () => setFrame(await readText(`/runs/${run}/raw?offset=${raw.offset}&len=${raw.len}`)));
  return (
    <Button kind="quiet" onPress={read}>
      Open the agent's whole frame ({raw.len.toLocaleString("en")} bytes)
    </Button>
  );
}
