// The settings: the project file with its mistakes, local rules, tokens, and what is chosen for the browser.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, expect, test } from "./rig";

const ASKS = `
[[step]]
run = "git status"
ask_first = true

[[step]]
say = "Done."
`;

test.use({ scripts: { asks: ASKS } });

test("the project file is shown with its mistakes at their lines, until they are corrected", async ({
  page,
  server,
}) => {
  const path = join(server.repo, ".musher/project.toml");
  const good = readFileSync(path, "utf8");
  await page.goto(`${server.url}/settings`);
  await expect(page.locator(".badge", { hasText: "in force" })).toBeVisible();
  await expect(page.getByRole("list", { name: "The project file" })).toContainText('name = "asks"');
  writeFileSync(path, `${good}\n[nonsense]\n`);
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(page.getByText("1 mistake")).toBeVisible();
  const line = good.split("\n").length + 1;
  await page.getByRole("button", { name: `Line ${line}` }).click();
  const wrong = page.locator(".project-line.bad");
  await expect(wrong).toContainText("[nonsense]");
  await expect(wrong).toContainText(String(line));
  await accessible(page);
  writeFileSync(path, good);
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(page.locator(".badge", { hasText: "in force" })).toBeVisible();
  await expect(wrong).toHaveCount(0);
});

test("the files that agents run or obey are listed, and what is not trusted is said to be left out", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/settings`);
  await expect(page.locator(".badge", { hasText: "in force" })).toBeVisible();
  const list = page.getByRole("list", { name: "Files that agents run or obey" });
  await expect(list).toHaveCount(0);
  mkdirSync(join(server.repo, "a/.claude/skills/s"), { recursive: true });
  writeFileSync(join(server.repo, "a/.claude/skills/s/SKILL.md"), "x");
  writeFileSync(join(server.repo, "CLAUDE.md"), "x");
  execFileSync("git", ["add", "."], { cwd: server.repo });
  const who = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
  execFileSync("git", [...who, "commit", "-qm", "files"], { cwd: server.repo });
  await page.reload();
  const skill = list.getByRole("listitem").filter({ hasText: "a/.claude/skills/s/SKILL.md" });
  await expect(skill).toContainText("run by agents");
  const words = list.getByRole("listitem").filter({ hasText: "CLAUDE.md" });
  await expect(words).toContainText("obeyed by agents");
  await expect(page.locator(".badge", { hasText: "left out" })).toBeVisible();
  await accessible(page);
});

test("an edited project file is put in force once its mistakes are mended, and a new agent joins the team", async ({
  page,
  server,
}) => {
  const path = join(server.repo, ".musher/project.toml");
  const good = readFileSync(path, "utf8").replace("runs = 32", "runs = 7");
  const badge = (words: RegExp) => page.locator(".badge", { hasText: words });
  const inForce = page.getByRole("button", { name: "Apply" });
  await page.goto(`${server.url}/settings`);
  await expect(badge(/in force$/)).toBeVisible();
  writeFileSync(path, good.replace("runs = 7", "runs = 0"));
  await page.keyboard.press("r");
  const line = good.slice(0, good.indexOf("runs = 7")).split("\n").length;
  await expect(page.getByRole("button", { name: `Line ${line}` })).toBeVisible();
  await expect(page.locator(".project-line.bad")).toContainText("runs = 0");
  await expect(page.getByText("the server uses the file as it was")).toBeVisible();
  await expect(inForce).toHaveCount(0);
  writeFileSync(path, good);
  await page.keyboard.press("r");
  await expect(badge(/changed, not in force yet/)).toBeVisible();
  await expect(page.locator(".project-line.bad")).toHaveCount(0);
  await expect(page.getByText("0/32 running")).toBeVisible();
  await accessible(page);
  await inForce.click();
  await expect(page.getByText("The project file is applied to new runs.")).toBeVisible();
  await expect(badge(/in force$/)).toBeVisible();
  await expect(page.getByText("0/7 running")).toBeVisible();

  // Who is on the team is agreed to at the machine itself, which also puts it in force.
  writeFileSync(
    path,
    good.replace("[limits]", '[[agent]]\nname = "newcomer"\nruntime = "script"\n\n[limits]'),
  );
  await page.keyboard.press("r");
  await expect(badge(/not trusted/)).toBeVisible();
  await expect(page.getByText("Review it, then run musher trust")).toBeVisible();
  await expect(inForce).toHaveCount(0);
  server.musher("trust");
  await page.keyboard.press("r");
  await expect(badge(/in force$/)).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await expect(page.getByRole("row").filter({ hasText: "newcomer" })).toContainText("ready");
});

test("a rule that was granted is listed and taken back", async ({ page, server }) => {
  const { run } = await server.begin("Ask", "asks");
  await expect.poll(async () => (await server.ask<{ asks: unknown[] }>("GET", "/asks")).asks.length).toBe(1);
  const { asks } = await server.ask<{ asks: { ask: string; rule: string }[] }>("GET", "/asks");
  const [ask] = asks;
  await server.answer(run, ask?.ask ?? "", { decision: "allow_always", rule: ask?.rule });
  await page.goto(`${server.url}/settings#rules`);
  const row = page.getByRole("row", { name: /git status/ });
  await expect(row).toContainText("asks");
  await accessible(page);
  await row.getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("No saved permissions.")).toBeVisible();
  expect((await server.ask<{ grants: unknown[] }>("GET", "/local")).grants).toEqual([]);
});

test("a token is made, told once and taken back; one's own is marked and asked about", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/settings#tokens`);
  const own = page.getByRole("row", { name: /this browser/ });
  await expect(own).toBeVisible();
  await page.getByLabel("Token name").fill("My <i>program</i>");
  await page.reload();
  await expect(page.getByLabel("Token name")).toHaveValue("My <i>program</i>");
  await page.getByRole("button", { name: "Create token" }).click();
  const told = page.getByRole("dialog").locator(".token-once");
  const token = (await told.textContent()) ?? "";
  await accessible(page);
  const project = () =>
    fetch(`${server.url}/api/v1/project`, { headers: { authorization: `Bearer ${token}` } });
  expect((await project()).status).toBe(200);
  await page.keyboard.press("Escape");
  await expect(told).toHaveCount(0);
  const made = page.getByRole("row", { name: /My <i>program<\/i>/ });
  await made.getByRole("button", { name: "Revoke" }).click();
  await expect(made).toHaveCount(0);
  expect((await project()).status).toBe(401);
  await page.getByLabel("Token name").fill("Half a na");
  await own.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "Sign out this browser" }).click();
  await expect(page.getByRole("alert")).toContainText("revoked");
  await page.getByLabel("The link or the token").fill(server.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByLabel("Token name")).toHaveValue("Half a na");
});

test("notices, the look and the editor are chosen and stay chosen", async ({ page, context, server }) => {
  await context.grantPermissions(["notifications"]);
  await page.goto(`${server.url}/settings`);
  await page.getByLabel("A run has finished").check();
  await page.getByLabel("Quiet hours").check();
  await page.getByLabel("From").selectOption("23");
  await page.getByRole("button", { name: "Try it" }).click();
  await expect(page.getByText(/^That was a sound/)).toBeVisible();
  await page.getByRole("button", { name: "Dark" }).click();
  await page.getByLabel("Files and folders open in").selectOption("zed");
  await page.reload();
  await expect(page.getByLabel("A run has finished")).toBeChecked();
  await expect(page.getByLabel("From")).toHaveValue("23");
  await expect(page.getByLabel("Files and folders open in")).toHaveValue("zed");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.keyboard.press("5");
  await expect(page.getByRole("heading", { name: "Sound and notifications" })).toBeInViewport();
  await accessible(page);
});
