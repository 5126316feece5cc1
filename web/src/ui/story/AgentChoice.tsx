// Which agent: each with what plays it, whether it can, and what it is at.
import { Badge } from "../Badge";
import { Line } from "../Text";
import type { Member } from "./team";

interface Props {
  team: readonly Member[];
  chosen: string | undefined;
  choose(name: string): void;
  /** Why somebody cannot be chosen. */
  off?(member: Member): string | null;
  focus?: boolean;
}

export function AgentChoice({ team, chosen, choose, off, focus = false }: Props) {
  return (
    <fieldset className="agent-choice">
      <legend className="unseen">Agent</legend>
      {team.map((member) => {
        const why = off?.(member) ?? null;
        const { name } = member;
        return (
          <label key={name} className="agent-option">
            <input
              type="radio"
              name="agent"
              value={name}
              checked={chosen === name}
              disabled={why !== null}
              // biome-ignore lint/a11y/noAutofocus: the dialog was opened to choose.
              autoFocus={focus && chosen === name}
              onChange={() => choose(name)}
            />
            <span className="agent-option-name">
              <Line text={name} longest={60} />
              <span className="quiet">
                <Line text={[member.runtime, member.model].filter(Boolean).join(", ")} longest={80} />
              </span>
            </span>
            <State member={member} why={why} />
          </label>
        );
      })}
    </fieldset>
  );
}

function State({ member, why }: { member: Member; why: string | null }) {
  if (why !== null) return <Badge>{why}</Badge>;
  if (member.health?.state === "missing") return <Badge tone="bad">cannot start</Badge>;
  const busy = member.runs.length;
  if (busy > 0) return <Badge tone="info">{busy === 1 ? "1 run" : `${busy} runs`}</Badge>;
  return <Badge tone="good">free</Badge>;
}
