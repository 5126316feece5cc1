// What the agents of the pictured team do, step by step.
import { ask, cost, edit, first, run, type Step, say, think, write } from "./steps";

const BACKOFF = `/** Waits longer after each attempt, and never just as long, so that callers do not come back all at once. */
export function backoff({ first = 200, most = 5_000, random = Math.random } = {}) {
  return (attempt) => {
    const ceiling = Math.min(most, first * 2 ** (attempt - 1));
    return new Promise((done) => setTimeout(done, ceiling / 2 + (random() * ceiling) / 2));
  };
}
`;

const OLD_LOOKUP = `export async function lookup(carrier, number, send = request) {
  const reply = await send(carrier.url(number), { timeout: TIMEOUT_MS });
  if (!reply.ok) throw new Error(\`carrier \${carrier.name}: \${reply.status}\`);
  return carrier.parse(await reply.text());
}`;

const NEW_LOOKUP = `export async function lookup(carrier, number, send = request, wait = backoff()) {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await send(carrier.url(number), { timeout: TIMEOUT_MS });
    if (reply.ok) return carrier.parse(await reply.text());
    const busy = reply.status === 429 || reply.status >= 500;
    if (!busy || attempt === TRIES) throw new Error(\`carrier \${carrier.name}: \${reply.status}\`);
    await wait(attempt);
  }
}`;

const MORE_TESTS = `
test("a carrier that is busy is asked again, four times at most", async () => {
  let asked = 0;
  const busy = async () => reply(503, String((asked += 1)));
  await assert.rejects(lookup(carrier, "42", busy, async () => {}), /swift: 503/);
  assert.equal(asked, 4);
});
`;

export const RETRY: Step[] = [
  think("Which replies are worth another try? Busy and broken ones; a 404 will be a 404 again."),
  say("I look at how lookups are made and what the tests say of them."),
  run("cat src/carrier.js"),
  cost(4_180, 420, 0.061),
  say(
    "A single `503` is an error for the person who waits. The plan:\n\n1. a `backoff` of its own, with **jitter**\n2. four tries, only for `429` and `5xx`\n3. a test that counts them",
  ),
  write("src/backoff.js", BACKOFF),
  edit("src/carrier.js", OLD_LOOKUP, NEW_LOOKUP),
  edit(
    "src/carrier.js",
    'import { request } from "./http.js";\n\nconst TIMEOUT_MS = 4_000;',
    'import { backoff } from "./backoff.js";\nimport { request } from "./http.js";\n\nconst TIMEOUT_MS = 4_000;\nconst TRIES = 3;',
  ),
  cost(9_640, 1_270, 0.148),
  run(`cat >> test/carrier.test.js <<'EOF'\n${MORE_TESTS}EOF`),
  run("node --test"),
  think("Three tries were made where the story says four. The constant is wrong, not the test."),
  edit("src/carrier.js", "const TRIES = 3;", "const TRIES = 4;"),
  run("node --test"),
  ask("The slowest lookup can now take 16 s. Is that all right?", ["Yes", "No, give up after 8 s"]),
  run("git add -A && git commit -qm 'Ask a busy carrier again'"),
  cost(6_120, 640, 0.092),
  say(
    "Lookups are now tried **up to four times** when a carrier is busy (`429`) or broken (`5xx`), with a growing, jittered pause. All four tests pass.",
  ),
  { turn: true },
  say("Of course: the README says now what happens when a carrier is busy."),
  edit(
    "README.md",
    "    npm start\n",
    "    npm start\n\nA carrier that is busy is asked up to four times, with a longer pause each time.\n",
  ),
  run("node --test && git commit -qam 'Say what happens when a carrier is busy'"),
  cost(2_440, 210, 0.031),
  say("Done, and the tests still pass."),
];

/** The first try of the same story, which its provider cut short. */
export const RETRY_FIRST: Step[] = [
  say("I look at how lookups are made and what the tests say of them."),
  run("cat src/carrier.js"),
  cost(3_870, 160, 0.049),
  { fail: "the provider has too much to do just now", class: "overloaded" },
];

export const RATES: Step[] = [
  say("Prices are cut to the cent instead of rounded. I change that and prove it with a test."),
  edit("src/rates.js", "Math.floor(", "Math.round("),
  run("node --test test/rates.test.js"),
  run("git commit -qam 'Round prices'"),
  cost(3_900, 380, 0.052),
  say("Prices are rounded to the nearest cent."),
];

export const ROUTES: Step[] = [
  say("I list the routes with what they take and give."),
  write(
    "docs/api.md",
    "# The API\n\n| route | gives |\n|---|---|\n| `GET /parcels/:number` | where a parcel is |\n| `GET /rates` | what it costs |\n",
  ),
  run("git add -A && git commit -qm 'Describe the routes'"),
  cost(5_200, 910, 0.037),
  say("Both routes are described in `docs/api.md`."),
];

export const WINDOW: Step[] = [
  think("The window is in the carrier's reply already; the page only has to show it."),
  say(
    "The delivery window comes with the carrier's reply, so the page can show it without another request. I add it above the steps, in the reader's own time zone.",
  ),
  edit(
    "src/page.js",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code that the agent edits.
    "  return `<h1>${parcel.number}</h1><ol>",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code that the agent edits.
    "  const { from, to } = parcel.window;\n  const when = `<p>Arrives between ${from} and ${to}</p>`;\n  return `<h1>${parcel.number}</h1>${when}<ol>",
  ),
  cost(7_310, 860, 0.094),
  run('for n in 1 2 3 4 5 6 7 8 9; do echo "chromium: tracking page, $n of 24 viewports"; sleep 40; done'),
];

export const RETENTION: Step[] = [
  say("Closed accounts must be forgotten after 90 days. This deletes rows for good, so I ask first."),
  cost(4_420, 510, 0.058),
  first(
    edit(
      "src/retention.js",
      'await db.query("delete from orders where placed_at < $1", [before]);',
      'await db.query("delete from orders where placed_at < $1", [before]);\n  const closed = new Date(now - 90 * 86_400_000);\n  await db.query("delete from orders using accounts where account = accounts.id and closed_at < $1", [closed]);',
    ),
  ),
  say("Done."),
];

export const LIBRARY: Step[] = [
  say("Two ways of writing dates are used in the guides. Before I change forty places I want to know which."),
  cost(2_760, 240, 0.021),
  ask("How shall dates be written in the guides?", [
    "31 January 2026",
    "2026-01-31, as in the API",
    "Leave them as they are",
  ]),
  say("I write them all like that."),
];

export const PUBLISH: Step[] = [
  run("node --test"),
  cost(1_980, 160, 0.014),
  first(run("npm publish --tag next --access public")),
  say("Published."),
];

export const MAIL: Step[] = [
  say("I move the mails to the new client and keep the old one until the last template is over."),
  run("npm ls --depth=0"),
  write("src/mail.js", 'import { Mailer } from "postbox";\n\nexport const mailer = new Mailer();\n'),
  cost(6_650, 720, 0.083),
  run("node --check src/mail.js && node -e \"import('./src/mail.js')\""),
  { fail: "the package `postbox` is not in the registry that this machine uses", class: "invalid_request" },
];
