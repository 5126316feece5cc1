// The demonstration: its link shows the whole UI, and what it asks is answered there as well as at the terminal.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test as plain } from "@playwright/test";
import { steady, Watch } from "./rig";
import { MUSHER } from "./server";

/** A terminal with the demonstration in it; `script` from util-linux makes it. */
class Demonstration {
  readonly folder = mkdtempSync(join(tmpdir(), "musher-web-"));
  screen = "";
  private readonly web = process.env.MUSHER_WEB_DIR;
  private readonly line = `exec '${MUSHER}' demo ${this.web === undefined ? "" : `--web-dir '${this.web}'`}`;
  private readonly child = spawn("script", ["-qec", this.line, "/dev/null"], {
    env: { PATH: process.env.PATH ?? "", HOME: this.folder, TMPDIR: this.folder, SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  private readonly ended = new Promise<number | null>((done) => this.child.once("close", done));

  constructor() {
    this.child.stdout.on("data", (piece: Buffer) => {
      this.screen += piece.toString();
    });
  }

  async link(): Promise<string> {
    const found = () => /in a browser: (\S+)/.exec(this.screen)?.[1];
    await expect.poll(found, { timeout: 20_000 }).toBeDefined();
    return found() ?? "";
  }

  /** Types, and gives the exit code. */
  async end(keys: string): Promise<number | null> {
    this.child.stdin.write(keys);
    return this.ended;
  }

  async remove(): Promise<void> {
    // Ctrl-C, if it has not ended.
    if (this.child.exitCode === null) await this.end("\u0003");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const test = plain.extend<{ demo: Demonstration }>({
  // biome-ignore lint/correctness/noEmptyPattern: the test runner reads the names from here.
  demo: async ({}, use) => {
    const demo = new Demonstration();
    await use(demo);
    await demo.remove();
  },
});

test("the demonstration is watched and answered in the browser, and Enter ends it", async ({
  demo,
  page,
  context,
}) => {
  const link = await demo.link();
  const watch = new Watch();
  await watch.over(context, new URL(link).origin);
  await page.goto(link);
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  const asks = [
    { row: /^Count what is in a file/, head: "counter has a question", key: "2" },
    { row: /^Greet people by name/, head: "greeter wants to run a command", key: "a" },
  ];
  for (const { row, head, key } of asks) {
    await page.locator(".inbox-list").getByRole("link", { name: row }).click();
    await expect(page.locator(".inbox-detail").getByText(head)).toBeVisible();
    await steady(page);
    await page.keyboard.press(key);
  }
  const told = () => demo.screen.match(/answered in the browser/g)?.length;
  await expect.poll(told, { timeout: 20_000 }).toBe(2);
  await expect.poll(() => demo.screen, { timeout: 20_000 }).toContain("Enter ends everything");
  expect(demo.screen).toContain("It counts lines.");
  await page.goto(`${new URL(link).origin}/board`);
  for (const title of ["Greet people by name", "Count what is in a file", "Write the manual"])
    await expect(page.getByText(title).first()).toBeVisible();
  expect(await demo.end("\r")).toBe(0);
  expect(readdirSync(demo.folder).filter((name) => name.startsWith("musher-demo-"))).toEqual([]);
  watch.check();
});
