// "Always allow similar…": from exactly what is asked to every use of the tool, and nothing that does not cover the ask.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, expect, steady, test } from "./rig";

test.use({
  scripts: {
    checker: '[[step]]\nrun = "ls -a"\nask_first = true\n\n[[step]]\nsay = "Checked."\n',
  },
});

test("always allow similar offers scopes from exact to wide, and the rule is edited before it is saved", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Look at it", "checker");
  await page.goto(`${server.url}/inbox`);
  await expect(page.getByText("ls -a").first()).toBeVisible();
  await steady(page);
  await page.keyboard.press("A");
  const dialog = page.getByRole("dialog", { name: "Always allow" });
  const rule = dialog.getByLabel("Rule, which you can edit");
  const { asks } = await server.ask<{ asks: { rule: string; scopes: { rule: string; label: string }[] }[] }>(
    "GET",
    "/asks",
  );
  const scopes = asks[0]?.scopes ?? [];
  expect(scopes.length).toBeGreaterThan(2);
  await expect(dialog.getByRole("radio")).toHaveCount(scopes.length);
  await expect(dialog.getByRole("radio").first()).toBeChecked();
  for (const [at, scope] of scopes.entries()) {
    await dialog.getByRole("radio").nth(at).check();
    await expect(rule).toHaveValue(scope.rule);
  }
  await accessible(page);
  // A rule that does not cover what is asked is refused in words, and nothing is answered.
  await steady(page);
  await rule.fill("execute(rm *)");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert").filter({ hasText: "does not cover what is asked" })).toBeVisible();
  expect(await server.waits(run)).toHaveLength(1);
  await expect(page.getByText("ls -a").first()).toBeVisible();
  await steady(page);
  await page.keyboard.press("A");
  await steady(page);
  await rule.fill("execute(ls *)");
  await page.keyboard.press("Enter");
  await expect
    .poll(async () => JSON.stringify(await server.ask("GET", `/runs/${run}/events?last=200`)))
    .toContain("Checked.");
  expect(readFileSync(join(server.state, "local.toml"), "utf8")).toContain("ls *");
});
