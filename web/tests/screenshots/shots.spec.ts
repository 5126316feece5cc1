// The pictures of every page, in `docs/screenshots`. Nothing in them is made up: the runs, their changes and costs are real.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test as base, expect, type Page } from "@playwright/test";
import { Watch } from "../browser/rig";
import { Team } from "./team";

const FOLDER = join(fileURLToPath(import.meta.url), "../../../../docs/screenshots");
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 800 };

const test = base.extend<{ team: Team }>({
  // biome-ignore lint/correctness/noEmptyPattern: the test runner reads the names from here.
  team: async ({}, use) => {
    const team = new Team();
    await team.start();
    await use(team);
    await team.stop();
  },
});

/** For whoever changes the style: every page is also pictured there, in the other theme and as on a phone. */
const LOOK = process.env.MUSHER_LOOK;

/** A picture of the page as it is when nothing moves any more. */
async function shot(page: Page, name: string): Promise<void> {
  await expect(page.getByText(/^Loading/)).toHaveCount(0);
  await page.evaluate(() => document.fonts.ready);
  await page.mouse.move(0, 0);
  const take = (path: string) => page.screenshot({ path, animations: "disabled", caret: "hide" });
  await take(join(FOLDER, `${name}.png`));
  if (LOOK === undefined || page.viewportSize()?.width === PHONE.width) return;
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await take(join(LOOK, `${name}-dark.png`));
  await page.setViewportSize(PHONE);
  await take(join(LOOK, `${name}-phone-dark.png`));
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await take(join(LOOK, `${name}-phone.png`));
  await page.setViewportSize(DESK);
}

test("the pictures of every page", async ({ page, context, team }) => {
  mkdirSync(FOLDER, { recursive: true });
  const watch = new Watch();
  await watch.over(context, team.url);
  const go = async (path: string) => {
    await page.goto(team.url + path);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
  };
  const theme = (name: "light" | "dark") => page.emulateMedia({ colorScheme: name, reducedMotion: "reduce" });
  await theme("light");
  await page.goto(team.link);
  await expect(page.getByText("ready").first()).toBeVisible();
  await go("/first");
  await expect(page.getByText("ready").first()).toBeVisible();
  await shot(page, "first-run");

  const found = await team.work();
  const { retry, retention, window } = found;
  await go(`/inbox/${retention.run}/${encodeURIComponent(found.ask)}`);
  await expect(page.getByRole("button", { name: "Approve" })).toBeVisible();
  await expect(page.getByText("closed_at").first()).toBeVisible();
  await shot(page, "inbox");
  await go("/board");
  await expect(page.getByText(/^run for n in/)).toBeVisible({ timeout: 60_000 });
  await shot(page, "board");
  await theme("dark");
  await shot(page, "board-dark");
  await theme("light");
  await go("/board?view=list");
  await expect(page.getByText("Count lookups by carrier")).toBeVisible();
  await shot(page, "list");
  await go(`/stories/${retry.story}`);
  await expect(page.getByText("four times at most")).toBeVisible();
  await shot(page, "story");
  await go(`/runs/${retry.run}`);
  await expect(page.getByText("run completed")).toBeVisible();
  const edited = page.getByRole("button", { name: /edit src\/carrier\.js.*\+1/ });
  await edited.click();
  const change = page.getByRole("region", { name: "Changes of src/carrier.js" });
  await expect(change.locator("ins")).toBeVisible();
  await change.evaluate((box) => box.scrollIntoView({ block: "center" }));
  await shot(page, "transcript");
  await go(`/runs/${retry.run}/changes?file=src%2Fcarrier.js`);
  await expect(page.locator(".diff-code .hljs-keyword").first()).toBeVisible();
  await page.keyboard.press("u");
  await expect(page.locator(".diff-row.split").first()).toBeVisible();
  await shot(page, "changes");
  await go(`/runs/${retry.run}/timeline`);
  await expect(page.getByRole("img", { name: /turn/ })).toBeVisible();
  await shot(page, "timeline");
  await go("/agents");
  await expect(page.getByText("release").first()).toBeVisible();
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(page.getByText(/MiB/).first()).toBeVisible();
  await shot(page, "agents");
  await go("/costs?by=story&days=7");
  await expect(page.locator(".chart canvas")).toBeVisible();
  await shot(page, "costs");
  await go("/settings");
  await expect(page.locator(".badge", { hasText: "in force" })).toBeVisible();
  await shot(page, "settings");
  await page.setViewportSize(PHONE);
  await go("/inbox");
  await expect(page.getByText("npm publish").first()).toBeVisible();
  await shot(page, "phone-inbox");
  await go("/board");
  await expect(page.getByText("Ship 2.4").first()).toBeVisible();
  await shot(page, "phone-board");
  await page.setViewportSize(DESK);
  expect(window.run).not.toBe("");
  watch.check();
});
