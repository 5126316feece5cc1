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

/** Notes in the page itself what each press would hit, whether a person could have seen that, and every notice. */
function recorder(): void {
  window.pressed = [];
  window.noticed = [];
  const SEEN_MS = 350;
  let history: { at: number; command: string }[] = [];
  let drawn = new Map<string, number>();
  const named = (box: Element | null | undefined) =>
    /: ask-[\d-]+\./.exec(box?.querySelector(".answering")?.textContent ?? "")?.[0] ?? "";
  /** What keys mean: the item of the inbox, or the marked ask of a transcript. */
  const aimed = () => named(document.querySelector('.inbox-detail, .t-ask[aria-current="true"]'));
  const look = () => {
    const command = aimed();
    if (history.at(-1)?.command !== command) history.push({ at: performance.now(), command });
    history = history.slice(-50);
    const now = [...document.querySelectorAll(".t-ask")].map(named);
    drawn = new Map(now.map((one) => [one, drawn.get(one) ?? performance.now()]));
    return command;
  };
  const note = (event: Event) => {
    const command = look();
    const long = performance.now() - SEEN_MS;
    const box = event.target instanceof Element ? event.target.closest(".t-ask") : null;
    const own = event instanceof MouseEvent || event.target instanceof HTMLTextAreaElement;
    if (box !== null && own) {
      const hit = named(box);
      window.pressed.push({ command: hit, seen: (drawn.get(hit) ?? long + 1) <= long ? hit : "" });
      return;
    }
    const before = history.filter(({ at }) => at <= long);
    window.pressed.push({ command, seen: before.at(-1)?.command ?? "" });
  };
  addEventListener("keydown", note, true);
  addEventListener("click", note, true);
  new MutationObserver((changes) => {
    look();
    for (const change of changes)
      for (const node of change.addedNodes)
        if (node instanceof Element && node.matches(".toast")) window.noticed.push(node.textContent ?? "");
  }).observe(document, { childList: true, subtree: true, attributeFilter: ["aria-current"] });
}

export class Client {
  readonly presses: Press[] = [];
  private read = 0;

  private constructor(
    readonly name: string,
    readonly page: Page,
    readonly network: BadNetwork,
  ) {}

  /** Opens a page at a path: the inbox, or the transcript of a run. */
  static async open(
    browser: Browser,
    server: Server,
    path: string,
    name: string,
    seed: number,
  ): Promise<Client> {
    const network = new BadNetwork(server.url, seed);
    await network.start();
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.clock.install();
    await page.addInitScript(recorder);
    await page.addInitScript((token) => localStorage.setItem("musher.token", token), server.token());
    await page.goto(network.url + path);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(page.locator(".answering").first()).toBeVisible();
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

  /** The command that keys would answer. */
  async shown(): Promise<string> {
    const box = this.page.locator('.inbox-detail, .t-ask[aria-current="true"]').first();
    if ((await box.count()) === 0) return "";
    const text = await box.textContent({ timeout: 1_000 }).catch(() => "");
    return /: ask-[\d-]+\./.exec(text ?? "")?.[0] ?? "";
  }

  /** Turns to the ask whose command is named, if it is there. */
  async turnTo(command: string): Promise<void> {
    const ask = this.page.locator(".t-ask", { hasText: command }).locator("header");
    const place = this.page.locator(".inbox-row", { hasText: command }).or(ask);
    if ((await place.count()) === 1) await place.click({ timeout: 1_000 }).catch(() => {});
    await this.note();
  }

  async wait(ms: number): Promise<void> {
    await this.page.clock.fastForward(ms);
  }

  async press(how: number): Promise<void> {
    const { page } = this;
    const reason = page.locator(".ask-deny textarea:focus");
    if (how < 0.5) await page.keyboard.press("a");
    else if (how < 0.75) {
      // In a transcript several may be pressed, also those that keys do not mean.
      const buttons = page.locator(".ask-buttons").getByRole("button", { name: "Approve" });
      const many = await buttons.count();
      const button = buttons.nth(Math.floor((how - 0.5) * 4 * many));
      if (many > 0) await button.click({ timeout: 2_000 }).catch(() => {});
    } else {
      await page.keyboard.press("d");
      if ((await reason.count()) === 1) {
        await page.keyboard.type("no");
        await page.keyboard.press("Enter");
        if ((await reason.count()) === 1) await page.keyboard.press("Escape");
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
