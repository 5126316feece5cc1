// Whether something can be started: a word with a sign.
import { Badge } from "./Badge";
import type { Fitness } from "./story/team";

export function Health({ health }: { health: Pick<Fitness, "state"> | undefined }) {
  switch (health?.state) {
    case "ok":
      return <Badge tone="good">ready</Badge>;
    case "untested":
      return <Badge tone="warn">untested</Badge>;
    case "missing":
      return <Badge tone="bad">missing</Badge>;
    case undefined:
      return <Badge>unknown</Badge>;
  }
}
