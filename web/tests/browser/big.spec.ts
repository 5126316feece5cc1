// Every page of a large project: 500 stories, a run of 200,000 events, and agents that go on while somebody looks.
import { eventsHeld, expect, rows, test } from "./rig";
import type { Server } from "./server";

const STORIES = 500;
const EVENTS = 200_000;
const ASKS = '[[step]]\nrun = "git push"\nask_first = true\n';

const WRITES =
  '[[step]]\nrun = "for n in $(seq 1 1000); do echo $n > file-$n.txt; done"\n\n[[step]]\nusage = { input = 10, output = 2, cost_usd = 0.25 }\n';

test.use({ scripts: { writer: WRITES, asker: ASKS } });
test.slow();

/** The page, and something on it that is there once all of it was read. */
const PAGES: [path: string, shown: RegExp][] = [
  ["/inbox", /Ready for review/],
  ["/board", /Story number \d+/],
  ["/board?view=list", /Story number \d+/],
  ["/stories/s1", /Description/],
  ["/runs/r1", /run completed/],
  ["/runs/r1/changes", /file-1\.txt/],
  ["/runs/r1/timeline", /Turn 2\b/],
  ["/runs/r2", /line \d+/],
  ["/agents", /memory as of/],
  ["/costs?by=story", /Costs by story/],
  ["/settings", /Quiet hours/],
  ["/first", /Sandbox/],
];
/** What a page may read while the feed is live: single things, and the numbers of the day. */
const SINGLE = [/^\/project$/, /^\/runs\/r\d+$/, /^\/runs\/r\d+\/outline$/, /^\/feed$/];

/** Fills a project: many stories, a long log, and a run that goes on as long as the test does. */
async function fill(server: Server): Promise<void> {
  const { run } = await server.begin("Long", "writer");
  await server.lengthen(run, EVENTS);
  await server.begin("Goes on", "worker", "[[work lines=100000 every_ms=10]]");
  const titles = Array.from({ length: STORIES }, (_, n) => `Story number ${n}`);
  while (titles.length > 0) {
    const some = titles.splice(0, 25).map((title) => server.ask("POST", "/stories", { title }));
    await Promise.all(some);
  }
}

/** The number of the last event of a run. */
async function headOf(server: Server, run: string): Promise<number> {
  const { events } = await server.ask<{ events: { seq: number }[] }>("GET", `/runs/${run}/events?last=1`);
  return events.at(-1)?.seq ?? 0;
}

test("with 500 stories and 200,000 events every page stays small, reads no list again and answers a key", async ({
  page,
  server,
}) => {
  await fill(server);
  await server.begin("Waits", "asker");
  let waits = 1;
  for (const [path, shown] of PAGES) {
    await test.step(path, async () => {
      await page.goto(server.url + path);
      await expect(page.getByText("live", { exact: true })).toBeVisible();
      await expect(page.locator("main").getByText(shown).first()).toBeAttached({ timeout: 30_000 });
      await expect(page.getByText("Loading")).toHaveCount(0);

      const asked: string[] = [];
      page.on("request", (request) => {
        const { pathname } = new URL(request.url());
        if (pathname.startsWith("/api/v1/")) asked.push(pathname.slice("/api/v1".length));
      });
      const before = await headOf(server, "r2");
      await server.ask("POST", "/stories", { title: `Seen on ${path}` });
      await server.begin("Waits too", "asker");
      waits += 1;
      await expect(page).toHaveTitle(new RegExp(`^\\(${waits}\\)`));
      await expect.poll(() => headOf(server, "r2")).toBeGreaterThan(before + 40);
      const again = asked.filter((one) => !SINGLE.some((single) => single.test(one)));
      page.removeAllListeners("request");
      const all = await page.evaluate(() => document.querySelectorAll("*").length);
      const held = await eventsHeld(page);
      const few = await rows(page);
      expect.soft(again, `${path}: lists that were read again`).toEqual([]);
      expect.soft(few, `${path}: rows`).toBeLessThanOrEqual(300);
      expect.soft(all, `${path}: elements`).toBeLessThanOrEqual(3_000);
      expect.soft(held, `${path}: events in memory`).toBeLessThanOrEqual(5_000);
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
    });
  }
});
