// Marks the words that were searched for wherever they are seen. Only ranges of text are painted; the rows stay as they are.
import { type RefObject, useEffect } from "react";

/** The name by which the style sheet paints them. */
const NAME = "found";
/** So many places are marked, and so much of a row is looked through. */
const MOST = 1_000;
const LONGEST = 50_000;

/** Marks words in everything that matches `where` around an element, as long as the component is there. */
export function useFound(inside: RefObject<HTMLElement | null>, where: string, words: string): void {
  useEffect(() => {
    const root = inside.current?.closest(where);
    const pattern = patternOf(words);
    // A browser that cannot paint ranges shows the words without a mark.
    if (root == null || pattern === null || CSS.highlights === undefined) return;
    let booked = 0;
    const mark = () => {
      booked = 0;
      const ranges: Range[] = [];
      for (const row of root.querySelectorAll(".t-body, .t-match .line")) rangesIn(row, pattern, ranges);
      CSS.highlights.set(NAME, new Highlight(...ranges));
    };
    const observer = new MutationObserver(() => {
      if (booked === 0) booked = requestAnimationFrame(mark);
    });
    observer.observe(root, { childList: true, subtree: true, characterData: true });
    mark();
    return () => {
      observer.disconnect();
      cancelAnimationFrame(booked);
      CSS.highlights.delete(NAME);
    };
  }, [inside, where, words]);
}

/** Words as the server looks for them: whatever their case, and a row may fold their white space. */
export function patternOf(words: string): RegExp | null {
  const parts = words.trim().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return null;
  return new RegExp(parts.map((part) => part.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&")).join("\\s+"), "giu");
}

/** Finds words in an element's text, also where they run through several of its pieces. */
function rangesIn(element: Element, pattern: RegExp, out: Range[]): void {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const pieces: { node: Node; start: number }[] = [];
  let text = "";
  while (walker.nextNode() !== null && text.length < LONGEST) {
    pieces.push({ node: walker.currentNode, start: text.length });
    text += walker.currentNode.nodeValue ?? "";
  }
  const place = (at: number) => pieces.findLast((piece) => piece.start <= at);
  for (const found of text.matchAll(pattern)) {
    const [from, to] = [place(found.index), place(found.index + found[0].length - 1)];
    if (out.length >= MOST || from === undefined || to === undefined) return;
    const range = document.createRange();
    range.setStart(from.node, found.index - from.start);
    range.setEnd(to.node, found.index + found[0].length - to.start);
    out.push(range);
  }
}
