// Two pages and a program race for the same and for neighbouring asks, in the inbox and in a transcript, over a bad network:
// each answer hits the ask that was on the screen, or none, and whoever comes second is told who was first.
// `MUSHER_RACE_ROUNDS` and `MUSHER_RACE_SEED` set how often, and which numbers are rolled.
import type { Browser } from "@playwright/test";
import { seeded } from "./proxy";
import { Client, type Sent } from "./racer";
import { expect, test } from "./rig";
import type { Server } from "./server";

const ROUNDS = Number(process.env.MUSHER_RACE_ROUNDS ?? 30);
const SEED = Number(process.env.MUSHER_RACE_SEED ?? 15);
const AGENTS = 6;
/** So many asks of one run wait at a time. */
const TOGETHER = 3;
/** A round settles at most two asks or so; the last ones must not run out. */
const STEPS = Math.ceil((ROUNDS * 2.2) / AGENTS) + 12;
/** Longer than an answer is held so that it can be taken back, and than a new item takes no keys. */
const HELD_MS = 3_200;
const STEADY_MS = 450;

const agents = Array.from({ length: AGENTS }, (_, n) => `asker${n}`);
const script = (n: number) =>
  Array.from({ length: STEPS }, (_, m) => `[[step]]\nrun = ": ask-${n}-${m}."\nask_first = true\n`).join(
    "\n",
  );

test.use({
  // A picture of the page at every step would take longer than the steps.
  trace: "off",
  scripts: Object.fromEntries(agents.map((name, n) => [name, `${script(n)}\n[[step]]\nhang = true\n`])),
});

interface Ask {
  run: string;
  ask: string;
  digest: string;
  body: { subject: string };
}

test("racing clients never answer another ask than the one they showed, and the loser is told who won", async ({
  browser,
  server,
}) => {
  test.setTimeout(60_000 + ROUNDS * 2_000);
  const begun = await Promise.all(agents.map((agent, n) => server.begin(`Story ${n}`, agent)));
  const runs = begun.map(({ run }) => run);
  await race(browser, server, { path: "/inbox", runs, waiting: AGENTS, back: ["j", "k"] });
});

test("racing clients in one transcript never answer another ask than the marked one or the one they pressed", async ({
  browser,
  server,
}) => {
  test.setTimeout(60_000 + ROUNDS * 2_000);
  const many = Math.ceil(ROUNDS * 2.2) + 12;
  const { run } = await server.begin("Many", "worker", `[[work asks=${many} at_once=${TOGETHER} hang=1]]`);
  const path = `/runs/${run}`;
  await race(browser, server, { path, runs: [run], waiting: TOGETHER, back: ["j", "k", "e", "E", "f"] });
});

interface Course {
  /** Where both pages are. */
  path: string;
  runs: string[];
  /** How many asks wait when it begins. */
  waiting: number;
  /** Keys that lead to another ask. */
  back: string[];
}

async function race(browser: Browser, server: Server, course: Course): Promise<void> {
  const { path, runs, waiting, back } = course;
  const roll = seeded(SEED);
  const known = new Map<string, Ask>();
  const sent: Sent[] = [];
  const open = async () => {
    const { asks } = await server.ask<{ asks: Ask[] }>("GET", "/asks");
    for (const ask of asks) known.set(ask.digest, ask);
    return asks;
  };
  await expect.poll(async () => (await open()).length, { timeout: 30_000 }).toBe(waiting);
  const one = await Client.open(browser, server, path, "one", SEED + 1);
  const two = await Client.open(browser, server, path, "two", SEED + 2);

  /** A program answers the ask whose command is named, or its neighbour, now and then with a digest of another ask. */
  const program = async (command: string, neighbour: boolean) => {
    const asks = await open();
    const at = asks.findIndex((ask) => ask.body.subject === command);
    const target = asks[(at + (neighbour ? 1 : 0) + asks.length) % asks.length];
    if (target === undefined) return;
    const other = roll() < 0.15 ? asks.find((ask) => ask.digest !== target.digest) : undefined;
    const shown = (other ?? target).digest;
    const decision = roll() < 0.5 ? "allow" : "deny";
    const answer = decision === "allow" ? { decision } : { decision, reason: "no" };
    const reply = await fetch(`${server.url}/api/v1/runs/${target.run}/asks/${target.ask}/answer`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.token()}`, "content-type": "application/json" },
      body: JSON.stringify({ answer, shown }),
    });
    const { detail = "" } = (await reply.json()) as { detail?: string };
    sent.push({
      who: "program",
      run: target.run,
      ask: target.ask,
      shown,
      decision,
      status: reply.status,
      detail,
    });
  };

  for (let round = 0; round < ROUNDS; round += 1) {
    const [page, rival] = roll() < 0.5 ? [one, two] : [two, one];
    await open();
    if (roll() < 0.35) await page.page.keyboard.press(back[Math.floor(roll() * back.length)] ?? "j");
    // Sometimes the hand is faster than the eye.
    if (roll() < 0.85) await page.wait(STEADY_MS);
    const command = await page.shown();
    const who = roll();
    const how = roll();
    const rivals: Promise<unknown>[] = [];
    if (who < 0.45) rivals.push(program(command, roll() < 0.4));
    else if (who < 0.9) {
      if (roll() < 0.6) await rival.turnTo(command);
      await rival.wait(STEADY_MS);
      rivals.push(rival.press(roll()).then(() => (roll() < 0.6 ? rival.wait(HELD_MS) : undefined)));
    }
    if (roll() < 0.3) await Promise.all(rivals);
    await page.press(how);
    // A hand that presses twice hits what has taken the place of the first.
    if (roll() < 0.3) await page.press(0);
    if (roll() < 0.06) await page.page.keyboard.press("z");
    if (roll() < 0.7) await page.wait(HELD_MS);
    await Promise.all(rivals);
  }
  for (const client of [one, two]) {
    await client.wait(HELD_MS);
    await client.page.waitForLoadState("networkidle", { timeout: 5_000 }).catch(() => {});
    await client.note();
    sent.push(...client.sent());
  }
  // Some were opened and answered within one round.
  const { asks: all } = await server.ask<{ asks: Ask[] }>("GET", "/asks?all=true&limit=1000");
  for (const ask of all) known.set(ask.digest, ask);

  // What a page sent was on its screen when somebody pressed, once for each press.
  for (const { who, run, ask, shown } of sent) {
    const told = known.get(shown);
    expect(told, `${who} sent a digest that no ask has had`).toBeDefined();
    if (who === "program") continue;
    expect(`${told?.run}/${told?.ask}`).toBe(`${run}/${ask}`);
    const client = who === "one" ? one : two;
    const subject = told?.body.subject;
    const press = client.presses.find((one) => {
      return !one.used && one.command === subject && one.seen === subject;
    });
    expect(
      press,
      `${who} answered ${told?.body.subject}, which nobody had seen there when it was pressed`,
    ).toBeDefined();
    if (press) press.used = true;
  }

  // What the agents got is what was sent with the digest of that very ask, and only once.
  const taken = sent.filter(({ status }) => status < 300);
  for (const answer of taken) {
    const told = known.get(answer.shown);
    expect(`${told?.run}/${told?.ask}`, "an answer was taken for another ask").toBe(
      `${answer.run}/${answer.ask}`,
    );
  }
  let closed = 0;
  for (const run of runs) {
    type Event = { seq: number; type: string; ask?: string; by?: string; answer?: { decision: string } };
    let after = "";
    for (;;) {
      const next = `/runs/${run}/events?limit=500${after}`;
      const page = await server.ask<{ events: Event[]; next: string; end: boolean }>("GET", next);
      for (const event of page.events.filter((one) => one.type === "ask_closed" && one.by === "person")) {
        const given = taken.filter((one) => one.run === run && one.ask === event.ask);
        expect(given.map(({ decision }) => decision)).toEqual([event.answer?.decision]);
        closed += 1;
      }
      if (page.end || page.events.length === 0) break;
      after = `&after=${page.next}`;
    }
  }
  expect(closed).toBe(taken.length);

  // Whoever came second was told who was first; a digest of another ask was refused, and never taken.
  const lost = sent.filter(({ status }) => status === 409);
  for (const { detail } of lost) expect(detail).toMatch(/already .* by /);
  for (const client of [one, two]) {
    const noticed = await client.page.evaluate(() => window.noticed);
    for (const { shown } of lost.filter(({ who }) => who === client.name)) {
      const subject = known.get(shown)?.body.subject ?? "?";
      const words = noticed.find(
        (text) => text.includes("it was answered elsewhere first") && text.includes(subject),
      );
      expect(words, `${client.name} was not told that it lost ${subject}`).toBeDefined();
    }
  }
  const refused = sent.filter(({ status }) => status === 428);
  for (const { who } of refused) expect(who).toBe("program");
  const odd = sent.filter(({ status }) => ![200, 202, 409, 428].includes(status));
  expect(odd).toEqual([]);
  const overtaken = one.network.overtaken + two.network.overtaken;
  console.log(
    `${path}, seed ${SEED}: ${ROUNDS} rounds, ${taken.length} answers taken, ${lost.length} came second, ${refused.length} had another digest, ${overtaken} words of the feed were overtaken`,
  );
  expect(taken.length).toBeGreaterThan(ROUNDS / 4);
  expect(lost.length + refused.length).toBeGreaterThan(0);
  await one.close();
  await two.close();
}
