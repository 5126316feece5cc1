// The sheet of all keys, by where they work.
import { Dialog } from "../ui/Dialog";
import { type Action, keyLabel, useGroups } from "./registry";

export function Sheet({ open, onClose }: { open: boolean; onClose(): void }) {
  const groups = useGroups();
  const named = new Map<string, Action[]>();
  for (const group of groups) {
    const keyed = group.actions.filter((action) => action.keys !== undefined);
    if (keyed.length > 0) named.set(group.name, [...(named.get(group.name) ?? []), ...keyed]);
  }
  return (
    <Dialog title="Keys" open={open} onClose={onClose} wide>
      <div className="sheet">
        {[...named].map(([name, actions]) => (
          <section key={name}>
            <h3>{name}</h3>
            <dl>
              {actions.map((action) => (
                <div key={action.id}>
                  <dt>
                    <kbd>{keyLabel(action)}</kbd>
                  </dt>
                  <dd>{action.words}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
