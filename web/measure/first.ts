// How long it takes from the navigation to the first rows of the long run, in a browser with an empty cache.
import { type Bench, type Found, median } from "./page";

const BAR = 1_000;
const TIMES = 5;

export async function firstRows(bench: Bench): Promise<Found[]> {
  const all: number[] = [];
  for (let turn = 0; turn < TIMES; turn += 1) {
    const { page, close } = await bench.page();
    await page.addInitScript(() => {
      const look = () => {
        // The frame after the one in which the rows are there has shown them.
        if (document.querySelector(".t-row") === null) requestAnimationFrame(look);
        else
          requestAnimationFrame(() => {
            document.documentElement.dataset.first = String(performance.now());
          });
      };
      requestAnimationFrame(look);
    });
    await page.goto(`${bench.server.url}/runs/${bench.run}`);
    await page.locator("html[data-first]").waitFor();
    all.push(Number(await page.locator("html").getAttribute("data-first")));
    await close();
  }
  const found = median(all);
  return [
    {
      measure: `first rows of a run of ${bench.events.toLocaleString("en")} events, after the navigation`,
      found: `${Math.round(found)} ms (${all.map(Math.round).join(", ")})`,
      bar: `≤ ${BAR} ms`,
      pass: found <= BAR,
    },
  ];
}
