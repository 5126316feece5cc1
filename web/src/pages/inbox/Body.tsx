// What an agent wants to do: the exact command, or the change that the server worked out, and why it asks.
import type { Ask } from "../../api/words";
import { DiffLines } from "../../ui/DiffLines";
import { Markdown } from "../../ui/Markdown";
import { plain } from "../../ui/plain";
import { Lines } from "../../ui/Text";

export function Body({ ask }: { ask: Ask }) {
  const body = ask.body;
  if (body?.kind === "plan") return <Markdown text={body.plan} />;
  if (body?.kind !== "approval") {
    return <p className="quiet">The request is no longer in the log. It can still be answered.</p>;
  }
  // The change of a single file names it already.
  const named = ask.change?.length === 1 && ask.change[0]?.path === body.subject;
  const rest = without(body.input, body.subject_field);
  return (
    <div className="ask-body">
      <h3>
        {plain(body.tool)} {body.tool !== body.tool_kind && <span className="quiet">({body.tool_kind})</span>}
      </h3>
      {body.subject !== undefined && !named && <Lines text={body.subject} lines={60} />}
      {ask.change != null && ask.change.length > 0 && <DiffLines files={ask.change} />}
      {ask.change_note != null && <p className="quiet">{plain(ask.change_note)}</p>}
      {body.shortened != null && (
        <p>
          This is shortened. All {body.shortened.len.toLocaleString("en")} bytes of it stand at{" "}
          {body.shortened.offset.toLocaleString("en")} of the run’s raw output.
        </p>
      )}
      {body.human_only && <p>Only a person can approve this; rules and defaults do not apply.</p>}
      {(body.reason ?? "").trim() !== "" && (
        <p>
          <span className="quiet">Why it asks:</span> {plain(body.reason ?? "")}
        </p>
      )}
      {rest !== null && (
        <details open={ask.change == null && body.tool_kind !== "execute"}>
          <summary>Full input</summary>
          <Lines text={rest} lines={40} />
        </details>
      )}
    </div>
  );
}

/** The input as text, without what is shown already; null if nothing is left. */
function without(input: unknown, field: string | undefined): string | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return input == null ? null : JSON.stringify(input, null, 2);
  }
  const rest = Object.entries(input).filter(([name]) => name !== field);
  return rest.length === 0 ? null : rest.map(([name, value]) => `${name}: ${written(value)}`).join("\n");
}

function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
