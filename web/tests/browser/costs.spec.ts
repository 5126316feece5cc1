// The costs: the numbers of the page are those of the server, and the day has a cap.
import { readFileSync } from "node:fs";
import { accessible, expect, rows, test } from "./rig";

const SPENDER = `
[[step]]
usage = { input = 1840, cache_read = 9200, cache_write = 0, output = 310, cost_usd = 1.25 }

[[step]]
say = "Done."
`;
const OTHER = `
model = "other"

[[step]]
usage = { input = 100, output = 10, cost_usd = 0.5 }

[[step]]
say = "Done."
`;
const UNKNOWN = `
model = "unknown"

[[step]]
usage = { input = 100, output = 10 }

[[step]]
say = "Done."
`;

interface Usage {
  rows: { key?: string | null; spent: { cost_usd?: number | null; known_cost_usd: number; input: number } }[];
}

test.use({
  scripts: { spender: SPENDER, other: OTHER, unknown: UNKNOWN, quick: '[[step]]\nsay = "Done."\n' },
});

test("the costs by day, model, agent and story are what the server has counted", async ({ page, server }) => {
  const first = await server.begin("Spend <b>some</b>", "spender");
  await server.begin("Spend a little", "other");
  await expect
    .poll(async () => {
      const { rows } = await server.ask<Usage>("GET", "/usage?by=story");
      return rows.reduce((sum, row) => sum + row.spent.known_cost_usd, 0);
    })
    .toBe(1.75);
  await page.goto(`${server.url}/costs`);
  const table = page.getByRole("table", { name: /^Costs by/ });
  await expect(page.locator(".chart canvas")).toBeVisible();
  await expect(page.locator(".cap-sum")).toContainText("$1.75");
  for (const by of ["model", "agent", "story"]) {
    await page.getByRole("button", { name: `By ${by}` }).click();
    const usage = await server.ask<Usage>("GET", `/usage?by=${by}`);
    await expect(page).toHaveURL(new RegExp(`by=${by}`));
    for (const row of usage.rows) {
      const line = table.getByRole("row", { name: new RegExp(`^${row.key}\\b`) });
      await expect(line).toContainText(`$${row.spent.known_cost_usd.toFixed(2)}`);
    }
    expect(await table.getByRole("row").count()).toBe(usage.rows.length + 1);
  }
  await expect(table.getByRole("link", { name: first.story })).toContainText("Spend <b>some</b>");
  await accessible(page);
  await page.getByRole("button", { name: "By day" }).click();
  const today = new Date().toISOString().slice(0, 10);
  await expect(table.getByRole("row", { name: today })).toContainText("$1.75");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as CSV" }).click();
  const text = readFileSync(await (await download).path(), "utf8");
  expect(text).toContain(
    "day,cost_usd,known_cost_usd,input,cache_read,cache_write,output,reasoning,estimated\r\n",
  );
  expect(text).toContain(`${today},1.75,1.75,1940,9200,0,320,0`);
  await accessible(page);
});

test("a cost of which a part is unknown is never shown as if it were whole", async ({ page, server }) => {
  await server.begin("Spend", "spender");
  await server.begin("Spend in secret", "unknown");
  await expect.poll(async () => (await server.ask<Usage>("GET", "/usage?by=agent")).rows.length).toBe(2);
  await page.goto(`${server.url}/costs?by=agent`);
  await expect(page.getByRole("heading", { name: /in all/ })).toContainText("≥ $1.25");
  await expect(page.getByRole("row", { name: /^unknown/ })).toContainText("cost unknown");
});

test("a cost of which nothing is known is said to be unknown on every page, and never $0", async ({
  page,
  server,
}) => {
  const { story, run } = await server.begin("Spend in secret", "unknown");
  await server.over(run);
  const today = page.getByRole("link", { name: /Spent today/ });
  for (const path of [
    "/costs",
    "/board",
    "/inbox",
    `/stories/${story}`,
    `/runs/${run}`,
    `/runs/${run}/timeline`,
  ]) {
    await page.goto(server.url + path);
    await expect(today).toHaveText("Spent today: cost unknown");
    await expect(page.locator("main")).toContainText("unknown");
    await expect(page.getByText("Loading")).toHaveCount(0);
    expect(await page.locator("body").innerText()).not.toContain("$0");
  }
});

test("nothing spent is said as such", async ({ page, server }) => {
  await page.goto(`${server.url}/costs?days=all`);
  await expect(page.getByText("Costs appear with the first run.")).toBeVisible();
  await accessible(page);
  expect(await rows(page)).toBeLessThanOrEqual(300);
});

test("the cap of the day is set, shown everywhere and lifted", async ({ page, server }) => {
  await page.goto(`${server.url}/costs`);
  await page.getByRole("button", { name: "Set a daily limit" }).click();
  const amount = page.getByLabel("Dollars a day");
  await amount.fill("nothing");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText("above 0");
  await accessible(page);
  await amount.fill("12.5");
  await page.reload();
  await expect(amount).toHaveValue("12.5");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator(".cap-sum")).toContainText("of $12.50");
  await expect(page.getByRole("link", { name: /Spent today/ })).toContainText("/ $12.50");
  const { caps } = await server.ask<{ caps: { day_usd: number } }>("GET", "/local");
  expect(caps.day_usd).toBe(12.5);
  await page.getByRole("button", { name: "Change the daily limit" }).click();
  await page.getByRole("button", { name: "Remove the limit" }).click();
  await expect(page.getByText("No daily limit.")).toBeVisible();
});
