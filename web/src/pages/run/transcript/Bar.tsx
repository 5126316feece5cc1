// The bar above a transcript: which turn is seen, and the ways to search, show more and take it away.

import { download } from "../../../api/raw";
import type { Run } from "../../../api/words";
import { useNow } from "../../../live/clock";
import { Badge } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { about, money, span } from "../../../ui/format";
import { Menu } from "../../../ui/Menu";
import { Line } from "../../../ui/Text";
import { attempt } from "../../../ui/toast";
import type { Outline } from "../outline";
import { TURN_TONES } from "./RowView";
import type { Placed } from "./rows";

interface Props {
  run: Run;
  rows: readonly Placed[];
  first: number;
  outline: Outline | null;
  all: boolean;
  setAll(all: boolean): void;
  searching: boolean;
  setSearching(on: boolean): void;
}

export function Bar({ run, rows, first, outline, all, setAll, searching, setSearching }: Props) {
  const save = (as: "markdown" | "jsonl", ending: string) => () =>
    void attempt(() => download(`/runs/${run.id}/export?as=${as}`, `${run.story}-${run.id}.${ending}`));
  return (
    <div className="t-bar">
      <TurnSeen rows={rows} first={first} outline={outline} />
      <Button kind="quiet" hint="/" onPress={() => setSearching(!searching)}>
        Search
      </Button>
      <Menu
        label="More of the transcript"
        face="⋯"
        actions={[
          {
            id: "all",
            words: all ? "Show less" : "Show everything",
            about: all ? "Hides usage, states and frames." : "Also usage, states and the agent's own frames.",
            run: () => setAll(!all),
          },
          { id: "markdown", words: "Export as Markdown", run: save("markdown", "md") },
          {
            id: "jsonl",
            words: "Export as JSONL",
            about: "Every event, one a line.",
            run: save("jsonl", "jsonl"),
          },
        ]}
      />
    </div>
  );
}

/** The turn that is seen at the top. It stays in place however far the turn goes on. */
function TurnSeen({ rows, first, outline }: Pick<Props, "rows" | "first" | "outline">) {
  const now = useNow();
  const number = turnAt(rows, first);
  const counted = outline?.turns.find((turn) => turn.turn === number);
  const row = rows.find(
    ({ row }) => row.kind === "turn" && row.turn === number && row.trigger !== "end",
  )?.row;
  const end = row?.kind === "turn" ? row.end : null;
  if (number === null) return <div className="t-turn-seen quiet">Before the first turn</div>;
  const outcome = end?.outcome ?? counted?.outcome ?? null;
  const began = counted?.at ?? row?.at;
  const until = end?.at ?? counted?.ended_at ?? now;
  const of = outline === null || outline.thinned ? "" : ` of ${Math.max(outline.turns.length, number)}`;
  return (
    <div className="t-turn-seen">
      <h3>
        Turn {number}
        {of}
      </h3>
      {outcome !== null && (
        <Badge tone={TURN_TONES[outcome] ?? "plain"}>{outcome.replaceAll("_", " ")}</Badge>
      )}
      {began !== undefined && <span className="quiet">{span(until - began)}</span>}
      {counted?.cost_usd != null && (
        <span className="quiet">
          {about(counted)}
          {money(counted.cost_usd)}
        </span>
      )}
      {counted?.cost_usd === null && counted.outcome !== null && <span className="quiet">cost unknown</span>}
      {counted?.prompt != null && <Line text={counted.prompt} longest={120} />}
    </div>
  );
}

function turnAt(rows: readonly Placed[], first: number): number | null {
  for (let at = first; at >= 0; at -= 1) {
    const turn = rows[at]?.row.turn;
    if (turn != null) return turn;
  }
  return rows.slice(first, first + 5).find(({ row }) => row.turn !== null)?.row.turn ?? null;
}
