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
        {data.runtimes.map((runtime) => (
          <RuntimeRow key={`${runtime.runtime} ${runtime.program} ${runtime.detail}`} runtime={runtime} />
        ))}
      </ul>
      {amiss.length > 0 && (
        <ul className="found" aria-label="What is amiss">
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
        Look again
      </Button>
    </>
  );
}

function RuntimeRow({ runtime }: { runtime: Runtime }) {
  return (
    <li>
      <Health health={runtime} />
      <span className="found-what">
        <strong>
          <Line text={[runtime.runtime, runtime.version].filter(Boolean).join(" ")} longest={80} />
        </strong>
        <span className="quiet">{plain(capital(runtime.detail))}</span>
        {runtime.fix != null && <Fix text={capital(runtime.fix)} />}
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
        <span className="quiet">{plain(capital(check.detail))}</span>
        {check.fix != null && <Fix text={check.fix} />}
      </span>
    </li>
  );
}
