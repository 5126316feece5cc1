// What the work has cost: today against its cap, day by day, and by model, agent or story.
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { useQuery } from "../../api/query";
import { useActions } from "../../keys/registry";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/hooks";
import { Button } from "../../ui/Button";
import { Choice } from "../../ui/Choice";
import { short } from "../../ui/format";
import { Money } from "../../ui/Numbers";
import { oneLine } from "../../ui/plain";
import { Empty, Loading, ProblemBox } from "../../ui/states";
import { type Column, Table } from "../../ui/Table";
import { Line } from "../../ui/Text";
import { Cap } from "./Cap";
import { Chart } from "./Chart";
import {
  asCsv,
  type By,
  cached,
  cost,
  DAY,
  dayName,
  dayOf,
  ordered,
  readCosts,
  sum,
  type UsageRow,
} from "./data";
import { OTHERS, stack } from "./stack";

const UNNAMED = "a model without a name";
/** So many rows are in the page at once. */
const PAGE = 100;
/** New costs are read at most this often. */
const PAUSE = 5_000;

const BYS: readonly { id: By; words: string }[] = [
  { id: "day", words: "By day" },
  { id: "model", words: "By model" },
  { id: "agent", words: "By agent" },
  { id: "story", words: "By story" },
];
const SPANS = [
  { id: "7", words: "7 days" },
  { id: "30", words: "30 days" },
  { id: "90", words: "90 days" },
  { id: "all", words: "All" },
] as const;

export default function Costs() {
  const [query, setQuery] = useSearchParams();
  const by = BYS.find(({ id }) => id === query.get("by"))?.id ?? "day";
  const days = SPANS.find(({ id }) => id === query.get("days"))?.id ?? "30";
  const today = dayOf(serverNow());
  const since = days === "all" ? 0 : today - (Number(days) - 1) * DAY;
  const costs = useQuery(`${by} ${since}`, () => readCosts(by, since));
  useFresh(costs.reload);
  const choose = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    next.set(name, value);
    setQuery(next, { replace: true });
  };
  useActions("Costs", [
    ...BYS.map(({ id, words }, at) => ({
      id: `costs.${id}`,
      words: `Show costs ${words.toLowerCase()}`,
      keys: [String(at + 1)],
      run: () => choose("by", id),
    })),
  ]);
  return (
    <div className="costs">
      <h2>Costs</h2>
      <Cap />
      <div className="costs-bar">
        <Choice label="Costs by" value={by} options={BYS} onChange={(next) => choose("by", next)} />
        <Choice label="Of the last" value={days} options={SPANS} onChange={(next) => choose("days", next)} />
      </div>
      {costs.data ? (
        <Sums by={by} since={since} today={today} rows={costs.data.rows} days={costs.data.days} />
      ) : costs.problem ? (
        <ProblemBox problem={costs.problem} retry={costs.reload} />
      ) : (
        <Loading what="the costs" />
      )}
    </div>
  );
}

/** Reads again when the cost of the day has grown, but not with every token. */
function useFresh(reload: () => void): void {
  const spent = useLive((world) => world.project?.day?.spent_usd);
  const known = useRef(spent);
  const last = useRef(0);
  useEffect(() => {
    if (known.current === spent) return;
    const first = known.current === undefined;
    known.current = spent;
    if (first) return;
    const wait = Math.max(0, last.current + PAUSE - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      reload();
    }, wait);
    return () => clearTimeout(timer);
  }, [spent, reload]);
}

interface SumsProps {
  by: By;
  since: number;
  today: number;
  rows: UsageRow[];
  days: UsageRow[];
}

function Sums({ by, since, today, rows, days }: SumsProps) {
  const titles = useLive((world) => world.stories);
  const [page, setPage] = useState(0);
  const sorted = useMemo(() => ordered(by, rows), [by, rows]);
  const bars = useMemo(() => stack(days, since, today, UNNAMED), [days, since, today]);
  const total = useMemo(() => sum(rows.map((row) => row.spent)), [rows]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another table begins at its first page.
  useEffect(() => setPage(0), [by, since]);
  const title = (row: UsageRow) => titles.get(row.key ?? "")?.title ?? "";
  if (rows.length === 0) {
    return (
      <Empty title="No usage">
        {since === 0
          ? "Costs appear with the first run."
          : "Not in these days. Choose a longer time to see more."}
      </Empty>
    );
  }
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([asCsv(by, sorted, title)], { type: "text/csv" }));
    link.download = `costs-by-${by}-${dayName(today)}.csv`;
    link.click();
    // The browser has begun to read it by then.
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };
  const partName = (part: string) => {
    if (by !== "story" || part === OTHERS) return part;
    const known = titles.get(part)?.title;
    return known == null ? part : oneLine(`${part} ${known}`, 64);
  };
  const pages = Math.ceil(sorted.length / PAGE);
  const shown = sorted.slice(page * PAGE, (page + 1) * PAGE);
  return (
    <>
      <Chart stack={bars} name={partName} />
      <div className="costs-head">
        <h3>
          {BYS.find(({ id }) => id === by)?.words}: <Money spent={total} /> in all
        </h3>
        <span className="grow" />
        <Button onPress={save}>Save as CSV</Button>
      </div>
      <Table
        caption={`Costs ${by === "day" ? "by day, in UTC" : `by ${by}`}`}
        rows={shown}
        id={(row) => row.key ?? UNNAMED}
        columns={columns(by, cost(total), title)}
      />
      {pages > 1 && (
        <div className="costs-pages">
          <Button isDisabled={page === 0} onPress={() => setPage(page - 1)}>
            Before
          </Button>
          <span>
            {page * PAGE + 1}–{Math.min(sorted.length, (page + 1) * PAGE)} of{" "}
            {sorted.length.toLocaleString("en")}
          </span>
          <Button isDisabled={page >= pages - 1} onPress={() => setPage(page + 1)}>
            Next
          </Button>
        </div>
      )}
    </>
  );
}

function columns(by: By, total: number, title: (row: UsageRow) => string): Column<UsageRow>[] {
  const names: Record<By, Column<UsageRow>> = {
    day: { name: "Day", cell: (row) => dayName(Number(row.key)) },
    model: { name: "Model", cell: (row) => <Line text={row.key ?? UNNAMED} /> },
    agent: { name: "Agent", cell: (row) => <Line text={row.key ?? ""} /> },
    story: {
      name: "Story",
      cell: (row) => (
        <Link href={`/stories/${row.key}`} className="costs-story">
          {row.key} <Line text={title(row)} longest={120} />
        </Link>
      ),
    },
  };
  const share = (row: UsageRow) => (total > 0 ? cost(row.spent) / total : 0);
  return [
    names[by],
    { name: "Cost", number: true, cell: (row) => <Money spent={row.spent} /> },
    {
      name: "Share",
      number: true,
      cell: (row) => (
        <span className="share">
          <span className="share-bar" aria-hidden="true">
            <span className="share-fill" style={{ inlineSize: `${share(row) * 100}%` }} />
          </span>
          {Math.round(share(row) * 100)}%
        </span>
      ),
    },
    { name: "Input", number: true, cell: (row) => short(row.spent.input) },
    { name: "Cached", number: true, cell: (row) => short(cached(row.spent)) },
    { name: "Output", number: true, cell: (row) => short(row.spent.output) },
  ];
}
