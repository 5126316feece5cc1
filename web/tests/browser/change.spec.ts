// The model and the mode of a live run, changed from its page.
import type { Page } from "@playwright/test";
import { expect, TALK, test } from "./rig";

test.use({ scripts: { talk: TALK } });

const row = (page: Page, text: string | RegExp) =>
  page.getByRole("list", { name: "Transcript" }).getByRole("listitem").filter({ hasText: text });

test("the model of a live run is changed from its page, and what its runtime cannot is not offered", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Talk", "talk");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "First part.")).toBeVisible();
  await page.getByRole("button", { name: "More to do with it" }).click();
  await expect(page.getByRole("menuitem", { name: /Change model/ })).toBeVisible();
  await expect(page.getByRole("menuitem", { name: /Change mode…/ })).toHaveCount(0);
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await page.keyboard.press("m");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Model" }).fill("two words");
  await dialog.getByRole("button", { name: "Change model" }).click();
  await expect(dialog).toContainText("The model must be 1 to 128 bytes");
  await dialog.getByRole("textbox", { name: "Model" }).fill("bigger");
  await dialog.getByRole("button", { name: "Change model" }).click();
  await expect(row(page, "script → bigger")).toBeVisible();
  await server.ask("POST", `/runs/${run}/kill`, {});
  await expect(page.getByRole("button", { name: /Retry/ })).toBeVisible();
  await page.getByRole("button", { name: "More to do with it" }).click();
  await expect(page.getByRole("menuitem", { name: /Change model/ })).toHaveCount(0);
});
