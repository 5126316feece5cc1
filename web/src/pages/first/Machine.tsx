// What was found on this machine: what can play an agent, and what is amiss, each with what would mend it.
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Fix } from "../../ui/CopyText";
import { Health } from "../../ui/Health";
import { plain } from "../../ui/plain";
import { capital, Loading, ProblemBox } from "../../ui/states";
import { Line } from "../../ui/Text";
import { type Check, type Runtime, useChecks } from "./checks";

export function Machine() {
  const { data, problem, reload } = useChecks();
  if (problem && !data) return <ProblemBox problem={problem} retry={reload} />;
  if (!data) return <Loading what="what is on this machine" />;
  const amiss = data.checks.filter((check) => check.state !== "ok");
  const fine = data.checks.filter((check) => check.state === "ok");
  return (
    <>
      <ul className="found" aria-label="Runtimes">
        {grouped(data.runtimes).map((found) => (
          <RuntimeRow key={found[0]?.runtime} found={found} />
        ))}
      </ul>
      {amiss.length > 0 && (
        <ul className="found" aria-label="Problems">
          {amiss.map((check) => (
            <CheckRow key={check.name + check.detail} check={check} />
          ))}
        </ul>
      )}
      <details className="fine">
        <summary>{fine.length} other checks are fine</summary>
        <ul className="found">
          {fine.map((check) => (
            <CheckRow key={check.name + check.detail} check={check} />
          ))}
        </ul>
      </details>
      <Button kind="quiet" onPress={reload}>
        Refresh
      </Button>
    </>
  );
}

const BEST = ["ok", "untested", "missing"];

/** What was found of each runtime, the best of all first: its usual program, and those that the team names. */
function grouped(runtimes: readonly Runtime[]): Runtime[][] {
  const groups = new Map<string, Runtime[]>();
  for (const one of runtimes) groups.set(one.runtime, [...(groups.get(one.runtime) ?? []), one]);
  const rank = (one: Runtime | undefined) => BEST.indexOf(one?.state ?? "missing");
  return [...groups.values()]
    .map((group) => group.sort((a, b) => rank(a) - rank(b)))
    .sort(([a], [b]) => rank(a) - rank(b));
}

/** So many programs of a runtime are named. */
const NAMED = 4;

function RuntimeRow({ found }: { found: readonly Runtime[] }) {
  const [best] = found;
  if (best === undefined) return null;
  // Beside the best one, only what is amiss needs words.
  const told = found.filter((one) => one === best || one.state !== "ok");
  return (
    <li>
      <Health health={best} />
      <span className="found-what">
        <strong>
          <Line text={[best.runtime, best.version].filter(Boolean).join(" ")} longest={80} />
        </strong>
        {told.slice(0, NAMED).map((one) => (
          <span key={one.detail} className="quiet">
            {plain(one.detail)}
          </span>
        ))}
        {told.length > NAMED && <span className="quiet">and {told.length - NAMED} more</span>}
        {best.fix != null && <Fix text={best.fix} />}
      </span>
    </li>
  );
}

function CheckRow({ check }: { check: Check }) {
  const [tone, words] =
    check.state === "ok"
      ? (["good", "fine"] as const)
      : check.state === "degraded"
        ? (["warn", "weaker"] as const)
        : (["bad", "missing"] as const);
  return (
    <li>
      <Badge tone={tone}>{words}</Badge>
      <span className="found-what">
        <strong>{capital(plain(check.name))}</strong>
        <span className="quiet">{plain(check.detail)}</span>
        {check.fix != null && <Fix text={check.fix} />}
      </span>
    </li>
  );
}
