// The bar at the top: the project, the palette, how many run, what the day has cost, and whether all this is live.
import { Link } from "wouter";
import { useNow } from "../live/clock";
import { useLink, useLive } from "../live/hooks";
import { Button } from "../ui/Button";
import { amount, clock, money } from "../ui/format";
import { plain } from "../ui/plain";
import { Icon } from "./Icon";

export function TopBar({ onPalette }: { onPalette(): void }) {
  const name = useLive((world) => world.project?.name ?? "Musher");
  return (
    <header className="top">
      <Link href="/" className="project">
        <bdi>{plain(name)}</bdi>
      </Link>
      <Button kind="quiet" label="Find an action or a story" onPress={onPalette} hint="Ctrl+K">
        <Icon name="search" />
        <span className="top-words">Find</span>
      </Button>
      <span className="grow" />
      <Running />
      <Day />
      <Connection />
    </header>
  );
}

function Running() {
  const { running, queued, limit } = useLive((world) => {
    let [running, queued] = [0, 0];
    for (const run of world.runs.values()) {
      if (run.phase === "queued") queued += 1;
      else if (run.phase !== "over") running += 1;
    }
    return { running, queued, limit: world.project?.limits.runs ?? null };
  });
  if (limit === null) return null;
  const words = `${running}/${limit} running${queued > 0 ? `, ${queued} queued` : ""}`;
  return (
    <span className="meter-box">
      <span
        className="meter"
        role="meter"
        aria-label="Runs"
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(running, limit)}
        aria-valuetext={words}
      >
        <span style={{ inlineSize: `${Math.min(100, (100 * running) / Math.max(1, limit))}%` }} />
      </span>
      <span className="top-words">{words}</span>
    </span>
  );
}

function Day() {
  const day = useLive((world) => world.project?.day);
  if (day === undefined) return null;
  const spent = day.unknown && day.spent_usd === 0 ? "cost unknown" : amount(day.spent_usd, day);
  const cap = day.cap_usd == null ? "" : ` / ${money(day.cap_usd)}`;
  const near = day.cap_usd != null && day.spent_usd + (day.held_usd ?? 0) >= 0.8 * day.cap_usd;
  return (
    <Link href="/costs" className={near ? "day near" : "day"} title="Spent today">
      <span className="unseen">Spent today: </span>
      {spent}
      {cap}
    </Link>
  );
}

/** After so long without a word, what is shown is called stale. */
const STALE = 10_000;

function Connection() {
  const link = useLink((link) => link);
  const now = useNow() - link.skew;
  const stale = link.state !== "live" && now - link.heard > STALE;
  const since = clock(new Date(link.heard));
  const words = link.state === "live" ? "live" : stale ? `stale since ${since}` : link.state;
  return (
    <span className={`connection ${link.state === "live" ? "good" : stale ? "bad" : "warn"}`} role="status">
      <span className="dot" aria-hidden="true" />
      {words}
    </span>
  );
}
