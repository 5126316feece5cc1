// "Always": the exact rule is shown before it is granted, and where it will be kept.
import type { Ask } from "../../api/words";
import { useSteady } from "../../keys/hand";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { plain } from "../../ui/plain";
import { Lines } from "../../ui/Text";
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
  // What is granted for good is read first.
  const steady = useSteady(`${ask.rule}`);
  const offered = ask.body?.kind === "approval" ? (ask.body.always ?? []) : [];
  const rule = ask.rule ?? null;
  const possible = rule !== null || offered.length > 0;
  const grant = () => {
    if (!steady.check()) return;
    const verb =
      rule === null ? `Granted to ${ask.agent} for its session` : `Granted ${rule} to ${ask.agent}`;
    if (give(rule === null ? { decision: "allow_always" } : { decision: "allow_always", rule }, verb))
      onClose();
  };
  useActions(
    "Always",
    [
      {
        id: "always.grant",
        words: "Grant the rule",
        keys: ["Enter"],
        off: !possible,
        stays: true,
        run: grant,
      },
    ],
    { modal: true },
  );
  return (
    <>
      {rule !== null ? (
        <>
          <p>
            From now on <b>{ask.agent}</b> may do by itself whatever fits this rule, in every run:
          </p>
          <Lines text={rule} />
          <p className="quiet">
            It is kept in <code>local.toml</code> in the state directory, never in the repository, and can be
            taken back in the settings. What the project file denies stays denied.
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
        <p>
          No rule would be narrow enough for this. Approve it this once, or write a rule into the project
          file.
        </p>
      )}
      <div className="ask-buttons" data-steady={steady.ready}>
        <Button kind="primary" hint="Enter" isDisabled={!possible} onPress={grant} autoFocus={possible}>
          Grant and approve
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose} autoFocus={!possible}>
          Back
        </Button>
      </div>
    </>
  );
}
