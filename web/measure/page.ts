// A browser page at the long run, and what all measures share.
import type { Browser, BrowserContext, CDPSession, Page } from "@playwright/test";
import type { Server } from "../tests/browser/server";

export interface Found {
  measure: string;
  found: string;
  bar: string;
  pass: boolean;
}

export class Bench {
  private constructor(
    readonly browser: Browser,
    readonly server: Server,
    readonly run: string,
    readonly events: number,
    /** Holds the token, so that other contexts are let in. */
    private readonly home: BrowserContext,
  ) {}

  static async open(browser: Browser, server: Server, run: string, events: number): Promise<Bench> {
    const home = await browser.newContext();
    const page = await home.newPage();
    await page.goto(server.link);
    await page.getByText("live", { exact: true }).waitFor();
    await page.close();
    return new Bench(browser, server, run, events, home);
  }

  /** A page as in a browser that has seen nothing of Musher before but its token. */
  async page(): Promise<{ page: Page; cdp: CDPSession; close(): Promise<void> }> {
    const storageState = await this.home.storageState();
    const context = await this.browser.newContext({
      storageState,
      viewport: { width: 1280, height: 800 },
    });
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    return { page, cdp, close: () => context.close() };
  }

  /** A page that shows the end of the long run. */
  async atEnd() {
    const opened = await this.page();
    await opened.page.goto(`${this.server.url}/runs/${this.run}`);
    await opened.page.locator(`.t-row[data-seq="${this.events}"]`).waitFor();
    return opened;
  }
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** How much is in the page: rows of lists and tables, and elements in all. */
export function counts(page: Page): Promise<{ rows: number; all: number }> {
  return page.evaluate(() => ({
    rows: document.querySelectorAll("li, tr, [role=listitem], [role=row], [role=option]").length,
    all: document.querySelectorAll("*").length,
  }));
}
