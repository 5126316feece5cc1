// A page that races for asks over a bad network, and what it showed, sent and said.
import type { Browser, Page } from "@playwright/test";
import { BadNetwork } from "./proxy";
import { expect } from "./rig";
import type { Server } from "./server";

/** What was on the screen when a key or a button was pressed, and what a person had had the time to see there. */
export interface Press {
  command: string;
  seen: string;
  used: boolean;
}

export interface Sent {
  who: string;
  run: string;
  ask: string;
  shown: string;
  decision: string;
  status: number;
  detail: string;
}

declare global {
  interface Window {
    pressed: { command: string; seen: string }[];
    noticed: string[];
  }
}

/** Notes in the page itself what stands in it at each press, and every notice. */
function recorder(): void {
  window.pressed = [];
  window.noticed = [];
  const SEEN_MS = 350;
  let history: { at: number; command: string }[] = [];
  const look = () => {
    const shown = document.querySelector(".inbox-detail .answering")?.textContent ?? "";
    const command = /: ask-\d+-\d+\./.exec(shown)?.[0] ?? "";
    if (history.at(-1)?.command !== command) history.push({ at: performance.now(), command });
    history = history.slice(-50);
    return command;
  };
  const note = () => {
    const command = look();
    const before = history.filter(({ at }) => at <= performance.now() - SEEN_MS);
    window.pressed.push({ command, seen: before.at(-1)?.command ?? "" });
  };
  addEventListener("keydown", note, true);
  addEventListener("click", note, true);
  new MutationObserver((changes) => {
    look();
    for (const change of changes)
      for (const node of change.addedNodes)
        if (node instanceof Element && node.matches(".toast")) window.noticed.push(node.textContent ?? "");
  }).observe(document, { childList: true, subtree: true });
}

export class Client {
  readonly presses: Press[] = [];
  private read = 0;

  private constructor(
    readonly name: string,
    readonly page: Page,
    readonly network: BadNetwork,
  ) {}

  static async open(browser: Browser, server: Server, name: string, seed: number): Promise<Client> {
    const network = new BadNetwork(server.url, seed);
    await network.start();
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.clock.install();
    await page.addInitScript(recorder);
    await page.addInitScript((token) => localStorage.setItem("musher.token", token), server.token());
    await page.goto(`${network.url}/inbox`);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(page.locator(".answering")).toBeVisible();
    return new Client(name, page, network);
  }

  async close(): Promise<void> {
    await this.page.context().close();
    await this.network.stop();
  }

  /** The answers that this page has sent. */
  sent(): Sent[] {
    return this.network.passed.flatMap(({ path, body, status, reply }) => {
      const named = /\/runs\/(\w+)\/asks\/([^/]+)\/answer$/.exec(path);
      if (named === null) return [];
      const [, run = "", ask = ""] = named;
      const { answer, shown } = JSON.parse(body) as { answer: { decision: string }; shown: string };
      const { detail = "" } = JSON.parse(reply) as { detail?: string };
      const { decision } = answer;
      return [{ who: this.name, run, ask: decodeURIComponent(ask), shown, decision, status, detail }];
    });
  }

  /** The command that the page shows. */
  async shown(): Promise<string> {
    const text = (await this.page.locator(".inbox-detail").textContent()) ?? "";
    return /: ask-\d+-\d+\./.exec(text)?.[0] ?? "";
  }

  /** Chooses the item whose command is named, if it is there. */
  async turnTo(command: string): Promise<void> {
    const row = this.page.locator(".inbox-row", { hasText: command });
    if ((await row.count()) === 1) await row.click({ timeout: 1_000 }).catch(() => {});
    await this.note();
  }

  async wait(ms: number): Promise<void> {
    await this.page.clock.fastForward(ms);
  }

  async press(how: number): Promise<void> {
    const { page } = this;
    if (how < 0.5) await page.keyboard.press("a");
    else if (how < 0.75) {
      const button = page.locator(".ask-buttons").getByRole("button", { name: "Approve" });
      if ((await button.count()) === 1) await button.click({ timeout: 2_000 }).catch(() => {});
    } else {
      await page.keyboard.press("d");
      if ((await page.locator(".ask-deny textarea").count()) === 1) {
        await page.keyboard.type("no");
        await page.keyboard.press("Enter");
        if ((await page.locator(".ask-deny textarea").count()) === 1) await page.keyboard.press("Escape");
      }
    }
    await this.note();
  }

  /** Takes over what the page has noted. */
  async note(): Promise<void> {
    const all = await this.page.evaluate(() => window.pressed);
    for (const press of all.slice(this.read)) this.presses.push({ ...press, used: false });
    this.read = all.length;
  }
}
