// The first run, from an empty project to a finished story, and the team.
import { accessible, expect, steady, test } from "./rig";

const REHEARSAL =
  '[[step]]\nsay = "I look around."\n\n[[step]]\nrun = "ls"\nask_first = true\n\n[[step]]\nwrite = "hello.txt"\ncontent = "hello\\n"\n\n[[step]]\nsay = "That is how a run goes."\n';

test.use({ scripts: { rehearsal: REHEARSAL } });

test("the first run leads from an empty project to a finished story", async ({ page }) => {
  await expect(page).toHaveURL(/\/first$/);
  const runtimes = page.getByRole("list", { name: "Runtimes" });
  await expect(runtimes.getByText("ready").first()).toBeVisible();
  await expect(page.getByRole("radio", { name: /rehearsal/ })).toBeChecked();
  await accessible(page);
  await page.getByRole("button", { name: "Start the scripted run" }).click();
  await page.getByRole("link", { name: "Answer" }).click();
  await expect(page).toHaveURL(/\/inbox\//);
  await expect(page.getByRole("button", { name: "Approve" })).toBeVisible();
  await steady(page);
  await page.keyboard.press("a");
  await expect(page.getByText("Inbox is empty")).toBeVisible();
  await page.goBack();
  await expect(page.getByText("The first story is finished.")).toBeVisible({ timeout: 20_000 });
  await page.getByRole("link", { name: "Go to the board" }).click();
  await expect(page.getByRole("region", { name: "Review" }).getByText("completed")).toBeVisible();
});

test("what is missing is said with what to do about it", async ({ page, server }) => {
  await page.goto(`${server.url}/first`);
  await expect(page.getByText("Sandbox", { exact: true })).toBeVisible();
  await expect(page.getByText("What to do:").first()).toBeVisible();
});

test("a failed start keeps the first story's words and is told", async ({ page, server }) => {
  await page.goto(`${server.url}/first`);
  await page.getByLabel("Title").fill("");
  await expect(page.getByRole("button", { name: "Start the scripted run" })).toBeDisabled();
  await page.getByLabel("Title").fill("y".repeat(5_000));
  await page.getByRole("button", { name: "Start the scripted run" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page.getByLabel("Title")).toHaveValue("y".repeat(5_000));
});

test("the team shows who can work, what each is at, and leads to the runs", async ({ page, server }) => {
  const { run } = await server.begin("Counts", "worker", "[[work lines=100 every_ms=300]]");
  await page.goto(`${server.url}/agents`);
  const worker = page.getByRole("row").filter({ hasText: "worker" }).last();
  await expect(worker.getByText("running")).toBeVisible();
  await expect(worker.getByText(/line \d+/)).toBeVisible();
  await expect(async () => {
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect(worker.getByText(/MiB/)).toBeVisible({ timeout: 3_000 });
  }).toPass();
  await accessible(page);
  await worker.getByRole("link", { name: "Counts" }).click();
  await expect(page).toHaveURL(new RegExp(`/runs/${run}`));
  await server.ask("POST", `/runs/${run}/kill`, {});
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 } });
  test("the first steps and the team fit", async ({ page, server }) => {
    for (const path of ["/first", "/agents"]) {
      await page.goto(server.url + path);
      // The checks name the team too, and may be folded.
      await expect(page.getByText("rehearsal").filter({ visible: true }).first()).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
      await accessible(page);
    }
  });
});
