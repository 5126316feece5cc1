// The frame rate while somebody turns the wheel through the long run, back and forth, past what is in memory.
import { type Bench, counts, type Found, median } from "./page";

const BAR = 50;
const ROWS = 300;
const SECONDS = 12;

export async function scrolling(bench: Bench): Promise<Found[]> {
  const { page, close } = await bench.atEnd();
  await page.getByRole("list", { name: "Transcript" }).hover();
  await page.evaluate(() => {
    const frames: number[] = [];
    const note = (at: number) => {
      frames.push(at);
      requestAnimationFrame(note);
    };
    Object.assign(window, { frames });
    requestAnimationFrame(note);
  });
  let most = { rows: 0, all: 0 };
  const until = Date.now() + SECONDS * 1_000;
  for (let turn = 0; Date.now() < until; turn += 1) {
    // Most of the way back, now and then a little forth.
    await page.mouse.wheel(0, turn % 50 < 40 ? -240 : 240);
    if (turn % 50 === 0) {
      const now = await counts(page);
      most = { rows: Math.max(most.rows, now.rows), all: Math.max(most.all, now.all) };
    }
  }
  const frames = await page.evaluate(() => (window as unknown as { frames: number[] }).frames);
  const reached = await page.locator(".t-row").first().getAttribute("data-seq");
  await close();
  const rates = perSecond(frames);
  const middle = median(rates);
  return [
    {
      measure: `frames a second while scrolling back to event ${Number(reached).toLocaleString("en")}`,
      found: `${middle} (worst second ${Math.min(...rates)})`,
      bar: `≥ ${BAR}`,
      pass: middle >= BAR,
    },
    {
      measure: "rows in the page meanwhile, at most",
      found: `${most.rows} (${most.all} elements)`,
      bar: `≤ ${ROWS}`,
      pass: most.rows <= ROWS,
    },
  ];
}

/** How many frames each whole second had. */
function perSecond(frames: readonly number[]): number[] {
  const first = frames[0] ?? 0;
  const seconds = Math.floor(((frames.at(-1) ?? 0) - first) / 1_000);
  const rates = Array.from({ length: seconds }, () => 0);
  for (const at of frames) {
    const second = Math.floor((at - first) / 1_000);
    if (second < seconds) rates[second] = (rates[second] ?? 0) + 1;
  }
  return rates;
}
