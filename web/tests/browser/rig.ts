// What every browser test is given: a server of its own, a page with a token, and a watch over what pages must never do.
import { AxeBuilder } from "@axe-core/playwright";
import { type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import { Model } from "./model";
import { type Scripts, Server } from "./server";

export { expect };

interface Options {
  scripts: Scripts;
  /** More tables of the project file. */
  project: string;
  /** More keys of an agent, by its name. */
  keys: Record<string, string>;
  /** More variables of the server; `HOME` in them is its home folder. */
  vars: Record<string, string>;
}

interface Rig {
  /** A scripted model, for agents that speak to one. */
  model: Model;
  server: Server;
  /** A second page of the same browser, watched like the first. */
  tab(path?: string): Promise<Page>;
  watch: Watch;
  open: undefined;
}

/** What went wrong in any page of the test. */
export class Watch {
  readonly violations: string[] = [];
  readonly outside: string[] = [];
  readonly errors: string[] = [];

  async over(context: BrowserContext, origin: string): Promise<void> {
    await context.exposeBinding("musherViolation", (_source, text: string) => {
      this.violations.push(text);
    });
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        const told = `${event.violatedDirective} ${event.blockedURI} ${event.sample}`;
        (window as unknown as { musherViolation(text: string): void }).musherViolation(told);
      });
    });
    context.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && url.protocol !== "blob:" && url.origin !== origin)
        this.outside.push(url.href);
    });
    context.on("weberror", (error) => this.errors.push(String(error.error())));
  }

  check(): void {
    expect(this.violations, "the content security policy was violated").toEqual([]);
    expect(this.outside, "a request left the origin").toEqual([]);
    expect(this.errors, "a script failed").toEqual([]);
  }
}

/** Nothing for a person to do; it works, says something and is done. */
export const QUICK = '[[step]]\nsay = "Done."\n';
/** It says something and hangs; once it was interrupted it says something else. */
export const TALK = `[[step]]
say = "First part."
[[step]]
hang = true
[[step]]
say = "After the interrupt."
`;
/** It says something, and then what came of the words that it waited for. */
export const TURNS = `[[step]]
say = "The first part is done."
[[step]]
turn = true
[[step]]
say = "You asked for more: \${prompt}"
`;

export const test = base.extend<Options & Rig>({
  scripts: [{ quick: QUICK }, { option: true }],
  project: ["", { option: true }],
  keys: [{}, { option: true }],
  vars: [{}, { option: true }],
  server: async ({ scripts, project, keys, vars }, use) => {
    const server = new Server(scripts, project, keys, vars);
    await server.start();
    await use(server);
    await server.stop();
  },
  // biome-ignore lint/correctness/noEmptyPattern: the test runner reads the names from here.
  model: async ({}, use) => {
    const model = await Model.start();
    await use(model);
    await model.stop();
  },
  // biome-ignore lint/correctness/noEmptyPattern: the test runner reads the names from here.
  watch: async ({}, use) => {
    const watch = new Watch();
    await use(watch);
    watch.check();
  },
  page: async ({ page, context, server, watch }, use) => {
    await watch.over(context, server.url);
    await page.goto(server.link);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await use(page);
  },
  tab: async ({ page, context, server }, use) => {
    await page.title();
    await use(async (path = "/") => {
      const tab = await context.newPage();
      await tab.goto(server.url + path);
      await expect(tab.getByText("live", { exact: true })).toBeVisible();
      return tab;
    });
  },
});

/** Nothing that keeps somebody from using the page, in both themes. */
export async function accessible(page: Page): Promise<void> {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((next) => {
      document.documentElement.dataset.theme = next;
    }, theme);
    const axe = new AxeBuilder({ page });
    // Only the colours are others in the second theme.
    if (theme === "dark") axe.withRules(["color-contrast"]);
    const { violations } = await axe.analyze();
    const told = violations.map(
      ({ id, help, nodes }) => `${theme} ${id}: ${help}\n${nodes.map((n) => n.html).join("\n")}`,
    );
    expect(told).toEqual([]);
  }
}

/** Waits until keys and buttons count: what has just come under the hand takes none for a moment. */
export async function steady(page: Page): Promise<void> {
  await expect(page.locator('[data-steady="true"]').first()).toBeVisible();
  await expect(page.locator('[data-steady="false"]')).toHaveCount(0);
}

/** How many rows the page holds. */
export function rows(page: Page): Promise<number> {
  return page.locator("li, tr, [role=listitem], [role=row], [role=option]").count();
}

/** How many events of runs are anywhere in the page's memory, as the browser itself finds them after it has tidied up. */
export async function eventsHeld(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const { result } = await session.send("Runtime.evaluate", { expression: "Object.prototype" });
  const { objects } = await session.send("Runtime.queryObjects", {
    prototypeObjectId: result.objectId ?? "",
  });
  const count = `function () {
    const has = (thing, name) => Object.getOwnPropertyDescriptor(thing, name)?.value !== undefined;
    return this.filter((one) => has(one, "seq") && has(one, "at") && has(one, "type")).length;
  }`;
  const { result: counted } = await session.send("Runtime.callFunctionOn", {
    objectId: objects.objectId ?? "",
    functionDeclaration: count,
    returnByValue: true,
  });
  await session.detach();
  return counted.value as number;
}
