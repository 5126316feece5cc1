// The acceptance criteria of a story: the lines `- [ ] …` and `- [x] …` of its text.

export interface Criterion {
  /** The place of its line in the text, from 0. */
  line: number;
  met: boolean;
}

/** A task of Markdown: a mark of a list, a box, and words. */
const TASK = /^(\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s+\[)([ xX])(\]\s+\S.*)$/;
const FENCE = /^\s*(?:>\s*)*(`{3,}|~{3,})/;
const LINE_END = /(\r\n|\r|\n)/;

/** The criteria in the order of the text. Those in code are text like any other. */
export function criteriaOf(text: string): Criterion[] {
  const found: Criterion[] = [];
  let fence: string | null = null;
  for (const [at, line] of text.split(/\r\n|\r|\n/).entries()) {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence)) fence = null;
    } else if (mark !== undefined) fence = mark;
    else {
      const box = TASK.exec(line)?.[2];
      if (box !== undefined) found.push({ line: at, met: box !== " " });
    }
  }
  return found;
}

/** Such as `2 of 5`; nothing when there are no criteria. */
export function metWords(text: string): string | null {
  const all = criteriaOf(text);
  if (all.length === 0) return null;
  return `${all.filter(({ met }) => met).length} of ${all.length}`;
}

/** The text with one criterion met or not; every other character stays. */
export function withCriterion(text: string, at: number, met: boolean): string {
  const criterion = criteriaOf(text)[at];
  if (criterion === undefined) return text;
  // Every second part is the end of a line.
  const parts = text.split(LINE_END);
  const place = criterion.line * 2;
  parts[place] = (parts[place] ?? "").replace(TASK, (_, before, __, after) => {
    return `${before}${met ? "x" : " "}${after}`;
  });
  return parts.join("");
}
