// What the pages of a long run cost: measured, set against a bar, printed as a table.
import { chromium } from "@playwright/test";
import { Server } from "../tests/browser/server";
import { firstRows } from "./first";
import { heap } from "./heap";
import { jumps } from "./jumps";
import { Bench, type Found } from "./page";
import { scrolling } from "./scrolling";

const HELP = `npm run measure [-- EVENTS]

Measures the transcript of a run with so many events (100,000) in Chromium against the real server.
  MUSHER_BIN        the musher program; long-log, worker-agent and the like are beside it
  MUSHER_WEB_DIR    the pages, if not those in the program
  MUSHER_CHROMIUM   the browser, /usr/bin/chromium if left out
Use a release build, and let nothing else run. It ends with 1 if a bar is missed.`;

export async function main(args: string[]): Promise<number> {
  const events = Number(args[0] ?? 100_000);
  if (!Number.isInteger(events) || events < 10_000) {
    console.log(HELP);
    return 2;
  }
  const server = new Server({ quick: '[[step]]\nsay = "Done."\n' });
  const browser = await chromium.launch({
    executablePath: process.env.MUSHER_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  try {
    await server.start();
    const { run } = await server.begin("A long run", "quick");
    await server.lengthen(run, events);
    const bench = await Bench.open(browser, server, run, events);
    const found: Found[] = [];
    for (const measure of [firstRows, jumps, scrolling, heap]) {
      console.error(`measuring: ${measure.name}`);
      found.push(...(await measure(bench)));
    }
    print(found);
    return found.every((one) => one.pass) ? 0 : 1;
  } finally {
    await browser.close();
    await server.stop();
  }
}

function print(found: readonly Found[]): void {
  const rows = [["measure", "found", "bar", "pass"], ...found.map(row)];
  const wide = [0, 1, 2].map((at) => Math.max(...rows.map((one) => one[at]?.length ?? 0)));
  for (const one of rows) console.log(one.map((cell, at) => cell.padEnd(wide[at] ?? 0)).join("  "));
}

function row(one: Found): string[] {
  return [one.measure, one.found, one.bar, one.pass ? "yes" : "NO"];
}
