// Forks from the middle of a session: from the end of a turn, where the agent can, and with a word where it cannot.
import type { Page } from "@playwright/test";
import { accessible, test as base, expect, QUICK } from "./rig";

const test = base.extend({
  scripts: { quick: QUICK },
  project: async ({ model }, use) => {
    await use(
      `[[agent]]\nname = "talker"\nruntime = "openai"\nwire = "chat"\nmodel = "test"\nbase_url = "${model.url}/v1"\nprompt = "{{ story.text }}"\n\n`,
    );
  },
  vars: { OPENAI_API_KEY: "dummy-key-for-tests" },
});

const list = (page: Page) => page.getByRole("list", { name: "Transcript" });
const row = (page: Page, text: string | RegExp) => list(page).getByRole("listitem").filter({ hasText: text });

/** Forks from the turn in front by its key, and reads how much of the conversation the fork knows. */
async function fork(page: Page, title: string, knows: number): Promise<void> {
  await page.keyboard.press("F");
  const dialog = page.getByRole("dialog", { name: title });
  await expect(dialog).toContainText("from the end of turn");
  await page.keyboard.type("[[scn:echo]]");
  const before = page.url();
  await page.keyboard.press("Control+Enter");
  await expect(page).not.toHaveURL(before);
  await expect(row(page, `${knows} user text(s)`)).toBeVisible();
}

test("a run is forked from the end of any of its turns, counted through all runs of the session", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Talk", "talker", "[[scn:text say=One.]] go");
  await server.over(run);
  const second = await server.ask<{ run: string }>("POST", `/runs/${run}/prompt`, {
    text: "[[scn:text say=Two.]]",
  });
  await server.over(second.run);
  const third = await server.ask<{ run: string }>("POST", `/runs/${second.run}/prompt`, {
    text: "[[scn:text say=Three.]]",
  });
  await server.over(third.run);

  await page.goto(`${server.url}/runs/${second.run}`);
  await expect(row(page, "Two.").first()).toBeVisible();
  const here = page.getByRole("button", { name: "Fork from here… the end of turn 1" });
  await expect(here).toBeVisible();
  await accessible(page);
  await here.click();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await list(page).focus();
  await fork(page, `Fork ${second.run} from turn 1`, 3);
  // The first turns of a fork are not its own, and it says so.
  await list(page).focus();
  await page.keyboard.press("F");
  await expect(page.getByText("A fork can only be forked as a whole")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Fork from here/ })).toHaveCount(0);

  await page.goto(`${server.url}/runs/${run}`);
  await expect(here).toBeVisible();
  await list(page).focus();
  await fork(page, `Fork ${run} from turn 1`, 2);
  const { runs } = await server.ask<{ runs: { line: string; of?: string }[] }>("GET", "/runs");
  const forks = runs.filter(({ line }) => line === "fork").map(({ of }) => of);
  expect(forks.sort()).toEqual([run, second.run].sort());
});

test("where an agent keeps its session to itself, a fork from a turn is not offered, and the key says why", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Quick", "quick");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "run completed")).toBeVisible();
  await list(page).focus();
  await page.keyboard.press("F");
  await expect(page.getByText("quick can only be forked as a whole")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Fork from here/ })).toHaveCount(0);
});
