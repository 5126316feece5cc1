// Steps of scripts, so that the stories of the team are written without quoting by hand.
export type Step = Record<string, unknown>;

const word = (value: unknown): string =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? `{ ${Object.entries(value)
        .map(([key, inner]) => `${key} = ${word(inner)}`)
        .join(", ")} }`
    : Array.isArray(value)
      ? `[${value.map(word).join(", ")}]`
      : JSON.stringify(value);

/** A script that an agent plays, at so many milliseconds a word. */
export function script(model: string, pace: number, steps: readonly Step[]): string {
  const all = steps.map(
    (step) =>
      `[[step]]\n${Object.entries(step)
        .map(([key, value]) => `${key} = ${word(value)}`)
        .join("\n")}\n`,
  );
  return `model = ${word(model)}\npace_ms = ${pace}\n\n${all.join("\n")}`;
}

export const think = (text: string): Step => ({ think: text });
export const say = (text: string): Step => ({ say: text });
export const run = (command: string): Step => ({ run: command });
export const write = (path: string, content: string): Step => ({ write: path, content });
export const edit = (path: string, old: string, now: string): Step => ({ edit: path, old, new: now });
export const first = (step: Step): Step => ({ ...step, ask_first: true });
export const ask = (question: string, options: string[]): Step => ({
  ask: question,
  options,
  save: "answer",
});
export const cost = (input: number, output: number, usd: number): Step => ({
  usage: { input, cache_read: input * 6, cache_write: 0, output, cost_usd: usd },
});
