// The memory of a page that follows a run as it writes a hundred thousand events.
import type { CDPSession, Page } from "@playwright/test";
import { type Bench, counts, type Found } from "./page";

const BAR_MB = 5;
const ROWS = 300;
const MB = 1024 * 1024;
const STEPS = 10;
/** So long the agent may take for each of them. */
const PATIENCE = 300_000;

export async function heap(bench: Bench): Promise<Found[]> {
  const { run } = await bench.server.begin("A long stream", "worker", `[[work lines=${bench.events}]]`);
  const { page, cdp, close } = await bench.page();
  await page.goto(`${bench.server.url}/runs/${run}`);
  await page.locator(".t-row").first().waitFor();
  const sizes: number[] = [];
  let most = { rows: 0, all: 0 };
  for (let step = 1; step <= STEPS; step += 1) {
    await reached(page, Math.floor((bench.events * step) / STEPS));
    sizes.push(await used(cdp));
    const now = await counts(page);
    most = { rows: Math.max(most.rows, now.rows), all: Math.max(most.all, now.all) };
  }
  await close();
  const [first = 0, ...later] = sizes;
  const growth = Math.max(...later) - first;
  return [
    {
      measure: "growth of the heap from the first tenth of the stream on",
      found: `${growth.toFixed(1)} MB (${sizes.map((size) => size.toFixed(1)).join(", ")})`,
      bar: `≤ ${BAR_MB} MB`,
      pass: growth <= BAR_MB,
    },
    {
      measure: "rows in the page that follows, at most",
      found: `${most.rows} (${most.all} elements)`,
      bar: `≤ ${ROWS}`,
      pass: most.rows <= ROWS,
    },
  ];
}

/** Waits until the page has heard of so many events. */
async function reached(page: Page, events: number): Promise<void> {
  const until = Date.now() + PATIENCE;
  for (let head = 0; head < events; ) {
    const told = await page.evaluate(
      () => document.querySelector(".transcript-list")?.getAttribute("data-head") ?? null,
    );
    if (told === null) throw new Error(`the transcript is gone:\n${await page.locator("main").innerText()}`);
    head = Number(told);
    if (Date.now() > until) throw new Error(`the page has heard of ${head} of ${events} events`);
    await page.waitForTimeout(50);
  }
}

/** So often it is looked: what is on its way in one moment is not held. */
const LOOKS = 4;

/** What the page's scripts hold once nothing is kept that nobody needs. */
async function used(cdp: CDPSession): Promise<number> {
  const sizes: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    await cdp.send("HeapProfiler.collectGarbage");
    sizes.push((await cdp.send("Runtime.getHeapUsage")).usedSize);
  }
  return Math.min(...sizes) / MB;
}
