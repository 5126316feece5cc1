// Text from agents and people made harmless to look at: no escape codes, no hidden marks, no endless lines.

/** Colours, cursor moves and titles of a terminal, and what is left when one was cut off. */
const ANSI = new RegExp(
  [
    "\\u001b\\[[0-?]*[ -/]*[@-~]",
    "\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\|$)",
    "\\u001b[PX^_][^\\u001b]*(?:\\u001b\\\\|$)",
    "\\u001b[ -/]*[0-~]",
    "[\\u009b\\u001b]",
  ].join("|"),
  "g",
);
/** Characters that turn the direction of what follows. */
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Characters that are there and cannot be seen. */
const HIDDEN = new RegExp(
  "[\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200d\\u2060-\\u2065\\u206a-\\u206f\\u3164" +
    "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]",
  "gu",
);
/** Controls other than tab and line end. */
const CONTROLS = /(?![\n\t])\p{Cc}/gu;
/** An emoji is joined by marks that cannot be seen, and must stay whole. */
const EMOJI = /\p{Extended_Pictographic}(?:\ufe0f|\u200d\p{Extended_Pictographic})+/gu;

/** The longest line that is shown without being asked for. */
export const LONGEST_LINE = 2_000;

/** The text with nothing in it that acts or hides: what cannot be seen is written as its number. */
export function plain(text: string): string {
  const safe = text.replace(/\r\n?/g, "\n").replace(ANSI, "");
  if (!/[^\n\t\x20-\x7e\u00a0-\u02ff]/.test(safe)) return safe;
  let out = "";
  let from = 0;
  for (const found of safe.matchAll(EMOJI)) {
    out += shown(safe.slice(from, found.index)) + found[0];
    from = found.index + found[0].length;
  }
  return out + shown(safe.slice(from));
}

function shown(text: string): string {
  return text.replace(BIDI, mark).replace(HIDDEN, mark).replace(CONTROLS, mark);
}

function mark(char: string): string {
  return `⟨${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text in one line, for a list. */
export function oneLine(text: string, longest = 300): string {
  const line = plain(text.slice(0, longest * 4))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > longest || text.length > longest * 4 ? `${line.slice(0, longest)}…` : line;
}

export interface Cut {
  text: string;
  /** How many characters are left out. */
  left: number;
}

/** As much of a text as is shown at first. */
export function cut(text: string, lines: number, longest = LONGEST_LINE): Cut {
  const all = text.split("\n");
  const kept = all
    .slice(0, lines)
    .map((line) => (line.length > longest ? `${line.slice(0, longest)}…` : line));
  const short = kept.join("\n");
  return { text: short, left: Math.max(0, text.length - short.length) };
}
