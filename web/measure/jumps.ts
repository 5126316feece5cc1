// How long a jump takes, from the key or the new address to the frame that shows the place.
import type { Page } from "@playwright/test";
import { type Bench, type Found, median } from "./page";

const BAR = 150;
const TIMES = 15;

export async function jumps(bench: Bench): Promise<Found[]> {
  const { page, close } = await bench.atEnd();
  // The marks of the whole log are read once, in the background.
  await page.locator(".minimap .error").first().waitFor({ timeout: 120_000 });
  await page.getByRole("list", { name: "Transcript" }).focus();
  const errors: number[] = [];
  for (let turn = 0; turn < TIMES; turn += 1) errors.push(await keyed(page, "E", ".t-row.target"));
  const ends: number[] = [];
  const links: number[] = [];
  for (let turn = 0; turn < TIMES; turn += 1) {
    const seq = 1 + ((turn * 7_919 * 13) % (bench.events - 1_000));
    links.push(await linked(page, seq));
    ends.push(await keyed(page, "f", `.t-row[data-seq="${bench.events}"]`));
  }
  await close();
  return [
    found("jump to the error before", errors),
    found("jump to an event by its address", links),
    found("jump to the end", ends),
  ];
}

function found(measure: string, all: readonly number[]): Found {
  const middle = median(all);
  const most = Math.round(Math.max(...all));
  return {
    measure,
    found: `${Math.round(middle)} ms, ${most} ms at most`,
    bar: `< ${BAR} ms`,
    pass: middle < BAR,
  };
}

/** Presses a key; gives the milliseconds from then until another row that fits is seen. */
async function keyed(page: Page, key: string, row: string): Promise<number> {
  const took = page.evaluate(watch, { row, event: "keydown", hash: null });
  await page.locator("html[data-watched]").waitFor({ state: "attached" });
  await page.keyboard.press(key);
  return took;
}

/** Changes the address to that of an event. */
function linked(page: Page, seq: number): Promise<number> {
  return page.evaluate(watch, { row: ".t-row.target", event: null, hash: `e=${seq}` });
}

interface Wanted {
  row: string;
  event: string | null;
  hash: string | null;
}

/** In the page: from the event, or from a new address, to the frame that shows the row. */
function watch({ row, event, hash }: Wanted): Promise<number> {
  const root = document.documentElement;
  const box = document.querySelector(".transcript-list");
  const keyOf = () => {
    const found = document.querySelector(row);
    const place = found?.getBoundingClientRect();
    const frame = box?.getBoundingClientRect();
    if (found == null || place === undefined || frame === undefined) return null;
    return place.top < frame.bottom && place.bottom > frame.top ? found.getAttribute("data-key") : null;
  };
  const before = keyOf();
  return new Promise((done) => {
    const from = () => {
      const began = performance.now();
      delete root.dataset.watched;
      const look = () => {
        const now = keyOf();
        // It is drawn in this frame and seen with the next.
        if (now !== null && now !== before) requestAnimationFrame(() => done(performance.now() - began));
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    };
    if (event !== null) {
      addEventListener(event, from, { once: true, capture: true });
      root.dataset.watched = "";
    } else {
      from();
      location.hash = hash ?? "";
    }
  });
}
