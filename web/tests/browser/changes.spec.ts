// The changes of a run: the files, the lines, viewed marks, and comments that reach the agent.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { CODER, EDITOR, MANY, prepare } from "./edits";
import { accessible, expect, rows, test } from "./rig";
import type { Server } from "./server";

/** What the agent of a run was told. */
async function told(server: Server, run: string): Promise<string[]> {
  const { events } = await server.ask<{ events: { type: string; text?: string }[] }>(
    "GET",
    `/runs/${run}/events`,
  );
  return events.filter((event) => event.type === "user_message").map((event) => event.text ?? "");
}

function file(page: Page, name: string) {
  return page.getByRole("navigation", { name: "Changed files" }).getByRole("button", { name });
}

test.use({ scripts: { editor: EDITOR, coder: CODER, many: MANY } });

test("every kind of change is shown, in lines below or beside each other, with the changed words marked", async ({
  page,
  server,
}) => {
  prepare(server);
  const { run } = await server.begin("Change things", "editor");
  await server.over(run);
  await page.goto(`${server.url}/runs/${run}/changes`);
  await expect(page.getByText("6 files")).toBeVisible();
  await file(page, "main.rs").click();
  await expect(page.locator("del")).toHaveText("20");
  await expect(page.locator("ins")).toHaveText("twenty()");
  await page.keyboard.press("u");
  const beside = page.locator(".diff-row.split", { hasText: "twenty()" });
  await expect(beside.locator(".removed")).toContainText("let line_20 = 20;");
  await expect(beside.locator(".added")).toContainText("let line_20 = twenty();");
  await page.reload();
  await expect(beside).toBeVisible();
  await accessible(page);
  await page.keyboard.press("u");
  await expect(page.locator(".diff-row.split")).toHaveCount(0);
  await expect(page.getByText("let line_1 = 1;")).toHaveCount(0);
  await page.keyboard.press("x");
  await expect(page.getByText("let line_1 = 1;")).toBeVisible();
  await file(page, "new.rs").click();
  await expect(page.getByText("<img src=x onerror=alert(1)> ⟨202E⟩ hidden")).toBeVisible();
  await file(page, "new.md").click();
  await expect(page.getByText("Only the name has changed")).toBeVisible();
  await file(page, "tool.sh").click();
  await expect(page.getByText("From 100644 to 100755")).toBeVisible();
  await file(page, "image.bin").click();
  await expect(page.getByText("This file is not text")).toBeVisible();
  await file(page, "gone.txt").click();
  await expect(page.locator(".diff-half.removed")).toContainText("soon gone");
  await accessible(page);
});

test("code is coloured by the name of its file, under the marks of its words, and a very long line is not", async ({
  page,
  server,
}) => {
  prepare(server);
  const { run } = await server.begin("Change things", "coder");
  await server.over(run);
  await page.goto(`${server.url}/runs/${run}/changes`);
  await file(page, "main.rs").click();
  const now = page.locator(".diff-half.added .diff-code").first();
  await expect(now.locator(".hljs-keyword")).toHaveText("let");
  await expect(now.locator("ins .hljs-string")).toContainText("twenty");
  expect(await now.textContent()).toBe('let line_20 = "twenty"; // in words');
  await accessible(page);
  await file(page, "wide.rs").click();
  const wide = page.locator(".diff-half.added .diff-code");
  await expect(wide.nth(1).locator(".hljs-keyword")).toHaveText("let");
  await expect(wide.first()).toContainText("let x = 1; let x = 1;");
  await expect(wide.first().locator("span")).toHaveCount(0);
  await file(page, "words.unknown").click();
  await expect(page.getByText("let nothing be coloured")).toBeVisible();
  await expect(page.locator(".diff-code span")).toHaveCount(0);
});

test("files are marked as viewed by key, and a file that changes afterwards is not viewed any more", async ({
  page,
  server,
}) => {
  prepare(server);
  const write = '[[work write=a.txt text="one"]] [[work write=b.txt text="two"]]';
  const { run } = await server.begin(
    "Write",
    "worker",
    `${write} [[work ask="ls"]] [[work write=a.txt text="uno"]]`,
  );
  await expect.poll(async () => (await server.ask<{ asks: unknown[] }>("GET", "/asks")).asks.length).toBe(1);
  await page.goto(`${server.url}/runs/${run}/changes`);
  await expect(page.getByText("0 of 2 viewed")).toBeVisible();
  // The same key begins the ways to other views; only alone does it mark.
  await page.keyboard.press("v");
  await page.keyboard.press("t");
  await expect(page).toHaveURL(new RegExp(`/runs/${run}$`));
  await page.goBack();
  await expect(page.getByText("0 of 2 viewed")).toBeVisible();
  await expect(page.locator(".diff-code", { hasText: "one" })).toBeVisible();
  await page.keyboard.press("v");
  await expect(page.locator(".diff-code", { hasText: "two" })).toBeVisible();
  await page.keyboard.press("v");
  await expect(page.getByText("2 of 2 viewed")).toBeVisible();
  await page.reload();
  await expect(page.getByText("2 of 2 viewed")).toBeVisible();
  const { asks } = await server.ask<{ asks: { ask: string }[] }>("GET", "/asks");
  await server.answer(run, asks[0]?.ask ?? "", { decision: "allow" });
  await server.over(run);
  await page.keyboard.press("R");
  await expect(page.getByText("1 of 2 viewed")).toBeVisible();
  await expect(page.getByRole("checkbox", { name: "Viewed a.txt" })).not.toBeChecked();
  await expect(page.getByRole("checkbox", { name: "Viewed b.txt" })).toBeChecked();
});

test("comments on lines are kept while they are written and reach the agent as one prompt", async ({
  page,
  server,
}) => {
  prepare(server);
  const { run } = await server.begin("Write", "worker", '[[work write=a.txt text="first line"]]');
  await server.over(run);
  await page.goto(`${server.url}/runs/${run}/changes`);
  await expect(page.locator(".diff-code", { hasText: "first line" })).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("c");
  await page.keyboard.type("Say it in other wo");
  await page.reload();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("rds.");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByText("Say it in other words.")).toBeVisible();
  await accessible(page);
  await page.keyboard.press("S");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("a new run continues its session");
  await dialog.getByLabel("Overall comment").fill("Thank you so far.");
  await accessible(page);
  await page.keyboard.press("Control+Enter");
  await expect(page).not.toHaveURL(new RegExp(`${run}/changes`));
  await expect(page.getByText("Sent 1 comment to worker")).toBeVisible();
  const { runs } = await server.ask<{ runs: { id: string; of?: string }[] }>("GET", "/runs");
  const next = runs.find((one) => one.of === run)?.id ?? "";
  await server.over(next);
  const [text = ""] = await told(server, next);
  expect(text).toContain("1. a.txt, line 1\n```diff\n+first line\n```\nSay it in other words.");
  expect(text).toContain("Thank you so far.");
  await page.goto(`${server.url}/runs/${run}/changes`);
  await expect(page.getByRole("button", { name: "No comments yet" })).toBeVisible();
});

test("comments on several files go together, and a live run gets them too", async ({ page, server }) => {
  prepare(server);
  const { run } = await server.begin(
    "Write",
    "worker",
    '[[work write=a.txt text="one"]] [[work write=b.txt text="two"]] [[work ask="ls"]]',
  );
  await expect.poll(async () => (await server.ask<{ asks: unknown[] }>("GET", "/asks")).asks.length).toBe(1);
  await page.goto(`${server.url}/runs/${run}/changes`);
  await page.getByRole("button", { name: "Line 1, added: one. Comment" }).click();
  await page.keyboard.type("About one.");
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.getByRole("button", { name: "Line 1, added: two. Comment" }).click();
  await page.keyboard.type("About two.");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Send 2 comments" }).click();
  await expect(page.getByRole("dialog")).toContainText("once its running turn is over");
  await page.getByRole("dialog").getByRole("button", { name: "Send 2 comments" }).click();
  await expect(page.getByRole("button", { name: "No comments yet" })).toBeVisible();
  const { asks } = await server.ask<{ asks: { ask: string }[] }>("GET", "/asks");
  await server.answer(run, asks[0]?.ask ?? "", { decision: "allow" });
  await server.over(run);
  const all = (await told(server, run)).join("\n");
  expect(all).toContain("I have reviewed your changes and have 2 comments.");
  expect(all).toContain("About one.");
  expect(all).toContain("About two.");
});

test("5,000 files and a line of 64 KB stay usable", async ({ page, server }) => {
  const { run } = await server.begin("Make many", "many");
  await server.over(run);
  await page.goto(`${server.url}/runs/${run}/changes`);
  await expect(page.getByText("5,001 files")).toBeVisible();
  expect(await rows(page)).toBeLessThanOrEqual(300);
  await page.keyboard.press("/");
  await page.keyboard.type("long-line");
  await file(page, "a-long-line.txt").click();
  await expect(page.getByText("too long to be shown")).toBeVisible();
  expect(await rows(page)).toBeLessThanOrEqual(300);
  await page.keyboard.press("/");
  await page.keyboard.press("Escape");
  await file(page, "file-1.txt").click();
  for (let n = 0; n < 5; n += 1) await page.keyboard.press("n");
  await expect(page.getByRole("heading", { name: "many/file-1002.txt" })).toBeVisible();
  await page.keyboard.press("v");
  await expect(page.getByText("1 of 5,001 viewed")).toBeVisible();
  expect(await rows(page)).toBeLessThanOrEqual(300);
});

test("a merge that conflicts says what conflicts, changes nothing and can be handed to the agent", async ({
  page,
  server,
}) => {
  const { run, story } = await server.begin("Write", "worker", '[[work write=a.txt text="from the agent"]]');
  await server.over(run);
  writeFileSync(join(server.repo, "a.txt"), "from a person\n");
  server.git("add", ".");
  server.git("commit", "-qm", "meanwhile");
  const before = server.git("rev-parse", "main");
  await page.goto(`${server.url}/runs/${run}/changes`);
  await expect(page.getByText("from the agent")).toBeVisible();
  await page.keyboard.press("M");
  await page.getByRole("button", { name: "Merge into main" }).click();
  await expect(page.getByRole("alert")).toContainText("a.txt");
  await accessible(page);
  expect(server.git("rev-parse", "main")).toBe(before);
  await page.getByRole("button", { name: "Let worker resolve it" }).click();
  await expect(page).toHaveURL(/\/runs\/r?\d+/);
  await expect
    .poll(async () => (await server.ask<{ runs: unknown[] }>("GET", `/runs?story=${story}`)).runs.length)
    .toBe(2);
});

test.describe("files that agents run or obey", () => {
  const HOOK = '[[step]]\nwrite = ".claude/settings.json"\ncontent = "{}"\n';
  const RULES = '[[step]]\nwrite = "CLAUDE.md"\ncontent = "Be brief."\n';
  const USUAL = '[[step]]\nwrite = "plain.txt"\ncontent = "x"\n';
  test.use({
    scripts: { planter: `${HOOK}${RULES}${USUAL}` },
    keys: { planter: 'rules = { allow = ["edit(.claude/**)"] }' },
  });

  test("have a badge in the list of files, in the diff and before a merge", async ({ page, server }) => {
    const { run } = await server.begin("Plant", "planter");
    await server.over(run);
    await page.goto(`${server.url}/runs/${run}/changes`);
    await expect(file(page, "settings.json")).toContainText("run by agents");
    await expect(file(page, "CLAUDE.md")).toContainText("obeyed by agents");
    await expect(file(page, "plain.txt")).not.toContainText("by agents");
    await file(page, "settings.json").click();
    await expect(page.getByRole("main").getByText("run by agents").last()).toBeVisible();
    await accessible(page);
    await page.keyboard.press("M");
    const note = page.getByRole("dialog").getByRole("note");
    await expect(note).toContainText(/settings\.json.*run by agents/);
    await expect(note).toContainText(/CLAUDE\.md.*obeyed by agents/);
    await expect(note).not.toContainText("plain.txt");
  });
});

test("a token that is revoked under a comment takes nothing of it", async ({ page, server }) => {
  const { run } = await server.begin("Write", "worker", '[[work write=a.txt text="one"]]');
  await server.over(run);
  await page.goto(`${server.url}/runs/${run}/changes`);
  await page.getByRole("button", { name: "Line 1, added: one. Comment" }).click();
  await page.keyboard.type("Half a thou");
  const { tokens } = await server.ask<{ tokens: { id: string }[] }>("GET", "/tokens");
  await server.ask("DELETE", `/tokens/${tokens[0]?.id}`, {});
  await expect(page.getByRole("alert")).toContainText("revoked");
  await page.getByLabel("The link or the token").fill(server.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("Half a thou")).toBeVisible();
});

test("on a phone the files come first and each leads to its lines", async ({ page, server }) => {
  prepare(server);
  await page.setViewportSize({ width: 390, height: 844 });
  const { run } = await server.begin("Change things", "editor");
  await server.over(run);
  await page.goto(`${server.url}/runs/${run}/changes`);
  await file(page, "main.rs").click();
  await expect(page.locator("ins")).toHaveText("twenty()");
  await accessible(page);
  await page.getByRole("button", { name: "Back to the files" }).click();
  await expect(file(page, "new.rs")).toBeVisible();
  await accessible(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});
