// What a story asks for beside its words. Each field is saved when it is changed, and says there what was refused.
import type { ReactNode } from "react";
import { made, type Problem } from "../../../api/problem";
import type { Story } from "../../../api/words";
import { useLive } from "../../../live/hooks";
import { store } from "../../../live/store";
import { ProblemLine } from "../../../ui/ProblemLine";
import { oneLine } from "../../../ui/plain";
import { AfterField, LabelField } from "../../../ui/story/fields";
import { StoryCost } from "../../../ui/story/Marks";
import { PRIORITIES, readBudget, storyMeant } from "../../../ui/story/spec";
import { useTeam } from "../../../ui/story/team";
import { TextField } from "./TextField";
import { useField } from "./useField";

interface Props {
  story: Story;
}

export function Details({ story }: Props) {
  const fixed = story.state === "archived";
  return (
    <section className="story-details" aria-labelledby="story-details-title">
      <h3 id="story-details-title">Details</h3>
      <div className="details-grid">
        <PriorityRow story={story} fixed={fixed} />
        <AgentRow story={story} fixed={fixed} />
        <BudgetRow story={story} fixed={fixed} />
        <LabelsRow story={story} fixed={fixed} />
        <AfterRow story={story} fixed={fixed} />
        <BranchRow story={story} fixed={fixed} what="base" />
        <BranchRow story={story} fixed={fixed} what="branch" />
      </div>
    </section>
  );
}

type RowProps = Props & { fixed: boolean };

interface RowFace {
  name: string;
  problem: Problem | null;
  /** Whether it takes a line of its own. */
  wide?: boolean;
  children: ReactNode;
}

/** A name, what it is the name of, and what was refused about it. */
function Row({ name, problem, wide = false, children }: RowFace) {
  return (
    <div className={wide ? "details-row wide" : "details-row"}>
      <span className="details-name">{name}</span>
      <div className="details-value">{children}</div>
      <ProblemLine problem={problem} />
    </div>
  );
}

function PriorityRow({ story, fixed }: RowProps) {
  const field = useField(story.id, story.priority);
  return (
    <Row name="Priority" problem={field.problem}>
      <select
        aria-label="Priority"
        value={field.shown}
        disabled={fixed}
        onChange={(event) => {
          const priority = Number(event.target.value);
          void field.save(priority, { priority });
        }}
      >
        {PRIORITIES.map(({ id, words }) => (
          <option key={id} value={id}>
            {words}
          </option>
        ))}
      </select>
    </Row>
  );
}

function AgentRow({ story, fixed }: RowProps) {
  const field = useField(story.id, story.agent ?? "");
  const team = (useTeam().data ?? []).map(({ name }) => name);
  // One that has left the team is still what the story says.
  const names = field.shown === "" || team.includes(field.shown) ? team : [field.shown, ...team];
  return (
    <Row name="Agent" problem={field.problem}>
      <select
        aria-label="Agent"
        value={field.shown}
        disabled={fixed}
        onChange={(event) => {
          const agent = event.target.value;
          void field.save(agent, { agent: agent === "" ? null : agent });
        }}
      >
        <option value="">Chosen at start</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {oneLine(name, 40)}
          </option>
        ))}
      </select>
    </Row>
  );
}

function BudgetRow({ story, fixed }: RowProps) {
  const field = useField(story.id, story.budget_usd ?? null);
  const save = async (typed: string) => {
    const budget_usd = readBudget(typed);
    if (budget_usd !== "bad") return field.save(budget_usd, { budget_usd });
    const hint = "enter dollars, such as 4 or 2.50, or leave it empty for no budget";
    field.refuse(made("bad_budget", 0, `“${oneLine(typed, 40)}” is not an amount`, hint));
    return false;
  };
  return (
    <Row name="Budget" wide problem={field.problem}>
      <span aria-hidden="true">$</span>
      <TextField
        label="Budget in dollars"
        value={field.shown === null ? "" : String(field.shown)}
        hint="No limit"
        decimal
        fixed={fixed}
        busy={field.busy}
        save={save}
        typed={() => field.refuse(null)}
      />
      {story.budget_usd != null && <StoryCost story={story} />}
    </Row>
  );
}

function LabelsRow({ story, fixed }: RowProps) {
  const field = useField(story.id, story.labels ?? []);
  const { shown } = field;
  const add = (label: string) =>
    shown.includes(label) ||
    field.saveList([...shown, label].sort(), ({ labels = [] }) => ({ labels: [...labels, label] }));
  const remove = (label: string) => {
    const without = (list: readonly string[]) => list.filter((other) => other !== label);
    void field.saveList(without(shown), ({ labels = [] }) => ({ labels: without(labels) }));
  };
  return (
    <Row name="Labels" wide problem={field.problem}>
      <LabelField labels={shown} linked add={add} remove={remove} fixed={fixed} busy={field.busy} />
    </Row>
  );
}

function AfterRow({ story, fixed }: RowProps) {
  const field = useField(story.id, story.after ?? []);
  const { shown } = field;
  const add = (typed: string) => {
    const id = storyMeant(typed, store.world.stories.values());
    if (shown.includes(id)) return true;
    return field.saveList([...shown, id], ({ after = [] }) => ({ after: [...after, id] }));
  };
  const remove = (id: string) => {
    const without = (list: readonly string[]) => list.filter((other) => other !== id);
    void field.saveList(without(shown), ({ after = [] }) => ({ after: without(after) }));
  };
  return (
    <Row name="After" wide problem={field.problem}>
      <AfterField
        after={shown}
        own={story.id}
        linked
        add={add}
        remove={remove}
        fixed={fixed}
        busy={field.busy}
      />
    </Row>
  );
}

const BRANCHES = {
  base: { name: "Base", label: "Base branch" },
  branch: { name: "Branch", label: "Branch name" },
} as const;

/** A branch is made by the first run, and keeps its name and its base from then on. */
function BranchRow({ story, fixed, what }: RowProps & { what: "base" | "branch" }) {
  const field = useField(story.id, story[what] ?? "");
  const base = useLive((world) => world.project?.base_branch ?? "");
  const { name, label } = BRANCHES[what];
  const usual = what === "base" ? base : `musher/${story.id}/1`;
  if (fixed || story.runs.all > 0) {
    return (
      <Row name={name} problem={null}>
        <code>{oneLine(field.shown === "" ? usual : field.shown, 120)}</code>
      </Row>
    );
  }
  return (
    <Row name={name} problem={field.problem}>
      <TextField
        label={label}
        value={field.shown}
        hint={usual}
        busy={field.busy}
        save={(typed) => field.save(typed.trim(), { [what]: typed.trim() === "" ? null : typed.trim() })}
        typed={() => field.refuse(null)}
      />
    </Row>
  );
}
