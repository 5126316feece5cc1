// A run with 200,000 events: any of them is found and shown, and the page holds only what is looked at.
import type { Page } from "@playwright/test";
import { accessible, eventsHeld, expect, rows, test } from "./rig";

const EVENTS = 200_000;
const list = (page: Page) => page.getByRole("list", { name: "Transcript" });

/** That the page holds little, whatever was looked at. */
async function small(page: Page): Promise<void> {
  expect(await rows(page)).toBeLessThanOrEqual(300);
  // While one stretch takes the place of another, the browser has not yet let go of the first.
  await expect.poll(() => eventsHeld(page)).toBeLessThanOrEqual(5_000);
}

test.slow();

test.beforeEach(async ({ page, server }) => {
  const { run } = await server.begin("Long", "quick");
  expect(run).toBe("r1");
  await server.lengthen(run, EVENTS);
  await expect(page.getByText("live", { exact: true })).toBeVisible();
});

test("a link leads to any of 200,000 events", async ({ page, server }) => {
  for (const seq of [123_459, 3, 77_509, EVENTS]) {
    await page.goto(`${server.url}/runs/r1?${seq}#e=${seq}`);
    const target = page.locator(".t-row.target");
    await expect(target).toBeInViewport();
    const first = Number(await target.getAttribute("data-seq"));
    expect(first).toBeLessThanOrEqual(seq);
    expect(first).toBeGreaterThan(seq - 12);
    await small(page);
  }
  await page.goto(`${server.url}/runs/r1?none#e=999999`);
  await expect(page.getByText("There is no event 999999")).toBeVisible();
});

test("scrolling far and jumping about keeps at most 5,000 events and 300 rows", async ({ page, server }) => {
  await page.goto(`${server.url}/runs/r1`);
  await expect(list(page)).toHaveAttribute("data-head", String(EVENTS));
  await expect(page.locator('.t-row[data-seq="200000"]')).toBeVisible();
  const first = () => list(page).locator(".t-row").first().getAttribute("data-seq").then(Number);
  await list(page).focus();
  // Back through more events than are kept, a page at a time.
  for (let turn = 0; turn < 60 && (await first()) > EVENTS - 6_000; turn += 1) {
    const before = await first();
    await list(page).evaluate((box) => box.scrollTo(0, 0));
    await expect.poll(first).toBeLessThan(before);
  }
  expect(await first()).toBeLessThan(EVENTS - 5_500);
  await small(page);
  // The far side was dropped; it comes again.
  await page.keyboard.press("f");
  await expect(page.locator('.t-row[data-seq="200000"]')).toBeInViewport();
  await small(page);
  await expect(page.locator(".minimap .error").first()).toBeAttached({ timeout: 60_000 });
  for (const key of ["E", "E", "[", "[", "]", "e"]) {
    const before = page.url();
    // A key that is pressed before the last jump has settled counts from where the list still is, and may lead to the same place.
    await expect(async () => {
      await page.keyboard.press(key);
      await expect.poll(() => page.url(), { timeout: 3_000 }).not.toBe(before);
    }).toPass();
    await expect(page.locator(".t-row.target")).toBeInViewport();
    await small(page);
  }
  await accessible(page);
});

test("a search finds what stands anywhere in the log, and goes from place to place", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/runs/r1`);
  await expect(page.locator('.t-row[data-seq="200000"]')).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("overloaded in turn 7");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("search")).toContainText("1 of 11");
  await expect(page.locator(".t-row.target")).toContainText("overloaded in turn 7");
  await page.getByRole("searchbox").focus();
  await page.keyboard.press("Enter");
  await expect(page.locator(".t-row.target")).toContainText("overloaded in turn 70");
  await page.locator(".t-row.target").focus();
  await page.keyboard.press("N");
  await expect(page.locator(".t-row.target")).toContainText("overloaded in turn 7");
  await page.getByRole("combobox", { name: "Search in" }).selectOption("tool");
  await page.getByRole("searchbox").fill("part_1234");
  await page.getByRole("searchbox").press("Enter");
  await expect(page.getByRole("list", { name: "Places that were found" })).toContainText("part_1234");
  await small(page);
  await accessible(page);
  await page.getByRole("searchbox").fill("no such words anywhere");
  await expect(page.getByRole("search")).toContainText("nothing found");
  await page.getByRole("searchbox").press("Escape");
  await expect(page.getByRole("search")).toHaveCount(0);
});

test("helpers of an agent are folded under their call", async ({ page, server }) => {
  await page.goto(`${server.url}/runs/r1#e=50031`);
  const target = page.locator(".t-row.target");
  await expect(target).toContainText("look around in turn 51");
  await expect(page.getByText("Helper step 3 of turn 51.")).toHaveCount(0);
  await target.getByRole("button", { name: "Show 8 steps of its helper" }).click();
  await expect(page.getByText("Helper step 3 of turn 51.")).toBeVisible();
  // A link into it opens it by itself.
  await page.goto(`${server.url}/runs/r1?inside#e=60035`);
  await expect(page.locator(".t-row.target")).toContainText("Helper step 4 of turn 61.");
});

test("the timeline shows where the time went and leads back into the transcript", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/runs/r1/timeline`);
  await expect(page.getByRole("img", { name: /200 turns/ })).toBeVisible({ timeout: 60_000 });
  expect(await rows(page)).toBeLessThanOrEqual(300);
  await accessible(page);
  await page.getByRole("link", { name: /Turn 2\b/ }).click();
  await expect(page).toHaveURL(/\/runs\/r1#e=1001$/);
  await expect(page.locator(".t-row.target")).toContainText("Turn 2");
});

test("a run is taken away as Markdown and as JSONL", async ({ page, server }) => {
  await page.goto(`${server.url}/runs/r1`);
  for (const [words, name] of [
    ["Export as Markdown", "s1-r1.md"],
    ["Export as JSONL", "s1-r1.jsonl"],
  ] as const) {
    await page.getByRole("button", { name: "More of the transcript" }).click();
    const begun = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: words }).click();
    expect((await begun).suggestedFilename()).toBe(name);
  }
});
