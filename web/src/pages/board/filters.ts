// Which cards are shown. What was chosen stands in the address, so that it can be kept, linked and gone back to.
import { useSearchParams } from "wouter";
import type { Card } from "./cards";
import { COLUMNS, type Column } from "./columns";

export interface Filters {
  text: string;
  agents: readonly string[];
  /** A story with any of them is shown. */
  labels: readonly string[];
  states: readonly Column[];
  /** Only what waits for the person who looks. */
  mine: boolean;
}

export interface Look {
  filters: Filters;
  view: "board" | "list";
  /** The column that a narrow screen shows. */
  column: Column | null;
  set(change: Partial<Filters> & { view?: Look["view"]; column?: Column | null }): void;
  clear(): void;
}

function isColumn(word: string): word is Column {
  return COLUMNS.some((column) => column.id === word);
}

export function useLook(): Look {
  const [params, setParams] = useSearchParams();
  const filters: Filters = {
    text: params.get("q") ?? "",
    agents: params.getAll("agent"),
    labels: params.getAll("label"),
    states: params.getAll("state").filter(isColumn),
    mine: params.get("mine") === "1",
  };
  const column = params.get("column") ?? "";
  const set: Look["set"] = (change) => {
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        const one = (name: string, value: string) =>
          value === "" ? next.delete(name) : next.set(name, value);
        const many = (name: string, values: readonly string[]) => {
          next.delete(name);
          for (const value of values) next.append(name, value);
        };
        if (change.text !== undefined) one("q", change.text);
        if (change.agents !== undefined) many("agent", change.agents);
        if (change.labels !== undefined) many("label", change.labels);
        if (change.states !== undefined) many("state", change.states);
        if (change.mine !== undefined) one("mine", change.mine ? "1" : "");
        if (change.view !== undefined) one("view", change.view === "list" ? "list" : "");
        if (change.column !== undefined) one("column", change.column ?? "");
        return next;
      },
      { replace: true },
    );
  };
  return {
    filters,
    view: params.get("view") === "list" ? "list" : "board",
    column: isColumn(column) ? column : null,
    set,
    clear: () => set({ text: "", agents: [], labels: [], states: [], mine: false }),
  };
}

export function isFiltered({ text, agents, labels, states, mine }: Filters): boolean {
  return text !== "" || agents.length > 0 || labels.length > 0 || states.length > 0 || mine;
}

/** Waits for a person: an ask, a failure, or work to look at. */
export function waits(card: Card): boolean {
  return card.column === "needs" || card.column === "review";
}

export function filtered(cards: readonly Card[], filters: Filters): Card[] {
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  return cards.filter((card) => {
    if (filters.mine && !waits(card)) return false;
    if (filters.states.length > 0 && !filters.states.includes(card.column)) return false;
    if (filters.agents.length > 0 && !card.agents.some((agent) => filters.agents.includes(agent)))
      return false;
    const labels = card.story.labels ?? [];
    if (filters.labels.length > 0 && !labels.some((label) => filters.labels.includes(label))) return false;
    if (words.length === 0) return true;
    const text = `${card.title} ${card.id} ${card.agents.join(" ")} ${labels.join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
