// What a story asks for beside its words: how urgent it is, what it comes after, and what it may cost.
import type { components } from "../../api/schema";
import type { Story } from "../../api/words";
import { money } from "../format";

/** What can be changed about a story; `null` takes it away. */
export type StoryChange = components["schemas"]["EditRequest"];

/** The priority of a story that names none. */
export const USUAL_PRIORITY = 2;

export interface PriorityWords {
  id: number;
  words: string;
  /** A sign for it, so that the words are found at a glance. */
  sign: string;
}

/** The most urgent first. */
export const PRIORITIES: readonly PriorityWords[] = [
  { id: 4, words: "Urgent", sign: "⇈" },
  { id: 3, words: "High", sign: "↑" },
  { id: 2, words: "Normal", sign: "" },
  { id: 1, words: "Low", sign: "↓" },
  { id: 0, words: "Lowest", sign: "⇊" },
];

export function priorityWords(priority: number): PriorityWords {
  const known = PRIORITIES.find(({ id }) => id === priority);
  return known ?? { id: priority, words: `Priority ${priority}`, sign: "" };
}

/** A budget, without cents where there are none. */
export function budgetWords(usd: number): string {
  return money(usd).replace(/\.00$/, "");
}

/** Whether what is known to be spent reaches the budget of a story. */
export function usedUp(story: Pick<Story, "budget_usd" | "spent">): boolean {
  return story.budget_usd != null && story.spent.known_cost_usd >= story.budget_usd;
}

/** The stories that this one comes after and that are known to be open still. */
export function openBefore(
  story: Pick<Story, "after">,
  stories: ReadonlyMap<string, Pick<Story, "state">>,
): string[] {
  return (story.after ?? []).filter((id) => stories.get(id)?.state === "open");
}

/** A label as the server takes it: people write capitals and spaces. */
export function labelOf(typed: string): string {
  return typed.trim().toLowerCase().replace(/\s+/g, "-");
}

/** The story that somebody means by its id or its whole title. */
export function storyMeant(typed: string, stories: Iterable<Pick<Story, "id" | "title">>): string {
  const wanted = typed.trim();
  const titled: string[] = [];
  for (const { id, title } of stories) {
    if (id === wanted) return id;
    if (title?.toLowerCase() === wanted.toLowerCase()) titled.push(id);
  }
  const [only] = titled;
  return titled.length === 1 && only !== undefined ? only : wanted;
}

/** Dollars as somebody types them; nothing typed is no budget. */
export function readBudget(typed: string): number | null | "bad" {
  const words = typed.trim().replace(/^\$/, "").replaceAll(",", "").trim();
  if (words === "") return null;
  const usd = /^\d*\.?\d+$|^\d+\.$/.test(words) ? Number(words) : Number.NaN;
  return Number.isFinite(usd) && usd > 0 ? usd : "bad";
}

/** Every label that a story has, in the order of the alphabet. */
export function labelsOf(stories: Iterable<Pick<Story, "labels">>): string[] {
  const all = new Set<string>();
  for (const { labels } of stories) for (const label of labels ?? []) all.add(label);
  return [...all].sort();
}
