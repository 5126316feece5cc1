// "Always": rules from exact to wide, of which one is chosen and edited before it is granted, and where it will be kept.
import { useState } from "react";
import { type Ask, askKey } from "../../api/words";
import { useSteady } from "../../keys/hand";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { plain } from "../../ui/plain";
import type { Give } from "./Answering";

interface Props {
  ask: Ask;
  give: Give;
  open: boolean;
  onClose(): void;
}

export function Always(props: Props) {
  return (
    <Dialog title="Always allow" open={props.open} onClose={props.onClose}>
      <Inside {...props} />
    </Dialog>
  );
}

function Inside({ ask, give, onClose }: Props) {
  const offered = ask.body?.kind === "approval" ? (ask.body.always ?? []) : [];
  const scopes = scopesOf(ask);
  const [rule, setRule] = useState(scopes[0]?.rule ?? "");
  const [holdsFor, setHoldsFor] = useState<HoldsFor>("agent");
  const ruled = scopes.length > 0;
  const possible = ruled ? rule.trim() !== "" : offered.length > 0;
  // What is granted for good is read first.
  const steady = useSteady(`${askKey(ask)} ${ask.digest}`);
  const grant = () => {
    if (!possible || !steady.check()) return;
    const taken = ruled
      ? give(
          { decision: "allow_always", rule: rule.trim(), for: holdsFor },
          `Granted ${rule.trim()} to ${whom(holdsFor, ask.agent)}`,
        )
      : give({ decision: "allow_always" }, `Granted to ${ask.agent} for its session`);
    if (taken) onClose();
  };
  useActions(
    "Always",
    [
      {
        id: "always.grant",
        words: "Always allow",
        keys: ["Enter"],
        typing: true,
        off: !possible,
        stays: true,
        run: grant,
      },
    ],
    { modal: true },
  );
  return (
    <>
      {ruled ? (
        <>
          <fieldset className="scopes">
            <legend>
              From now on, <b>{whom(holdsFor, ask.agent)}</b> runs without asking:
            </legend>
            {scopes.map((scope) => (
              <label key={scope.rule} className="option">
                <input
                  type="radio"
                  name="scope"
                  checked={rule === scope.rule}
                  onChange={() => setRule(scope.rule)}
                />
                <span>
                  {plain(scope.label)
                    .split("`")
                    // Parts never move: a text is split in the same way each time.
                    .map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
                </span>
              </label>
            ))}
          </fieldset>
          <label className="form-field">
            Rule, which you can edit
            <input
              className="mono"
              value={rule}
              onChange={(event) => setRule(event.target.value)}
              autoComplete="off"
              spellCheck={false}
            />
          </label>
          <label className="form-field">
            For
            <select value={holdsFor} onChange={(event) => setHoldsFor(event.target.value as HoldsFor)}>
              <option value="run">This run</option>
              <option value="agent">This agent: every run of {plain(ask.agent)}</option>
              <option value="project">This project: every run of every agent</option>
            </select>
          </label>
          <p className="quiet">
            {holdsFor === "run" ? (
              "Nothing is saved: a later run asks again."
            ) : (
              <>
                It is saved in <code>local.toml</code> in the state directory, never in the repository, and
                can be revoked in the settings.
              </>
            )}{" "}
            What the project file denies stays denied.
          </p>
        </>
      ) : offered.length > 0 ? (
        <>
          <p>
            <b>{ask.agent}</b> offers this for its own session:
          </p>
          <ul>
            {offered.map((choice) => (
              <li key={choice.label}>
                {plain(choice.label)}{" "}
                {choice.scope !== undefined && <span className="quiet">({plain(choice.scope)})</span>}
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p>No rule is narrow enough for this. Approve it once, or add a rule to the project file.</p>
      )}
      <div className="ask-buttons" data-steady={steady.ready}>
        <Button kind="primary" hint="Enter" isDisabled={!possible} onPress={grant} autoFocus={possible}>
          Always allow and approve
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose} autoFocus={!possible}>
          Back
        </Button>
      </div>
    </>
  );
}

/** For whom a rule holds. */
type HoldsFor = "run" | "agent" | "project";

function whom(holdsFor: HoldsFor, agent: string): string {
  if (holdsFor === "project") return "every agent";
  return holdsFor === "run" ? `${agent} in this run` : agent;
}

/** The rules that can be granted, from the exact one to the widest. */
function scopesOf(ask: Ask): { rule: string; label: string }[] {
  if (ask.scopes != null && ask.scopes.length > 0) return ask.scopes;
  return ask.rule == null ? [] : [{ rule: ask.rule, label: ask.rule }];
}
