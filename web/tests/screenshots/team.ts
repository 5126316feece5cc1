// A team at work, as somebody finds it in the middle of a day: real runs of real scripts in a real repository.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Server } from "../browser/server";
import { FILES } from "./files";
import { type Step, say, script } from "./steps";
import { LIBRARY, MAIL, PUBLISH, RATES, RETENTION, RETRY, RETRY_FIRST, ROUTES, WINDOW } from "./work";

const AGENTS = ["backend", "frontend", "data", "docs", "release"];

const PROJECT = `[[agent]]
name = "backend"
runtime = "script"
command = "./.musher/scripts/backend.toml"
role = "services and their tests"
budget_usd = 3.0
rules = { allow = ["read(./**)", "execute(node --test*)"], deny = ["edit(.git/**)"] }

[[agent]]
name = "frontend"
runtime = "script"
command = "./.musher/scripts/frontend.toml"
role = "what people see"
budget_usd = 3.0

[[agent]]
name = "data"
runtime = "script"
command = "./.musher/scripts/data.toml"
role = "the database"
budget_usd = 3.0
ask_deadline = "45m"

[[agent]]
name = "docs"
runtime = "script"
command = "./.musher/scripts/docs.toml"
role = "explains things"
budget_usd = 3.0

[[agent]]
name = "release"
runtime = "script"
command = "./.musher/scripts/release.toml"
role = "ships what was merged"
budget_usd = 3.0

[limits]
runs = 6
runs_per_agent = 1
`;

export class Team extends Server {
  constructor() {
    super({}, "", {}, {}, "parcel");
    for (const [path, text] of Object.entries({ ...FILES, ".musher/project.toml": PROJECT })) {
      mkdirSync(dirname(join(this.repo, path)), { recursive: true });
      writeFileSync(join(this.repo, path), text);
    }
    for (const agent of AGENTS) this.rehearse(agent, "large", [say("Ready.")]);
    this.git("add", ".");
    this.git("commit", "-qm", "Parcel 2.3");
    this.musher("trust");
  }

  /** Adds a story. */
  async tell(title: string, text = ""): Promise<string> {
    return (await this.ask<{ story: string }>("POST", "/stories", { title, text })).story;
  }

  /** What an agent plays from now on. */
  private rehearse(agent: string, model: string, steps: Step[], pace = 110): void {
    writeFileSync(join(this.repo, `.musher/scripts/${agent}.toml`), script(model, pace, steps));
  }

  /** Lets an agent play a script on a story. */
  private play(
    agent: string,
    model: string,
    steps: Step[],
    title: string,
    text = "",
  ): Promise<{ story: string; run: string }> {
    this.rehearse(agent, model, steps);
    return this.begin(title, agent, text);
  }

  /** Answers the only ask that is open. */
  private async choose(chosen: string): Promise<void> {
    const [open] = await this.asked(1);
    await this.answer(open?.run ?? "", open?.ask ?? "", {
      decision: "replies",
      replies: [{ chosen: [chosen] }],
    });
  }

  /** Waits until so many asks are open. */
  async asked(count: number): Promise<{ ask: string; run: string }[]> {
    for (let turn = 0; turn < 300; turn += 1) {
      const { asks } = await this.ask<{ asks: { ask: string; run: string }[] }>("GET", "/asks");
      if (asks.length === count) return asks;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error(`there are not ${count} asks`);
  }

  /** Two stories merged, one to review, one that failed, three that wait for a person, one at work, and more to do. */
  async work() {
    await this.ask("PUT", "/local/caps", { day_usd: 20 });
    const rates = await this.play(
      "backend",
      "large",
      RATES,
      "Round prices to the nearest cent",
      "Prices are cut off.",
    );
    const routes = await this.play("docs", "small", ROUTES, "Describe the routes of the API");
    const mail = await this.play("data", "large", MAIL, "Move the mails to the new client");
    for (const { run, story } of [rates, routes]) {
      await this.over(run);
      await this.ask("POST", `/stories/${story}/merge`, {});
    }
    const tried = await this.play(
      "backend",
      "large",
      RETRY_FIRST,
      "Ask a busy carrier again before giving up",
      "One `503` of a carrier shows an error to whoever looks for a parcel.\n\n- try again when a carrier is busy or broken, **four times at most**\n- wait longer each time, never just as long as others do\n- an unknown parcel stays an error at once",
    );
    await this.over(tried.run);
    this.rehearse("backend", "large", RETRY);
    const again = await this.ask<{ run: string }>("POST", `/runs/${tried.run}/retry`, {});
    const retry = { story: tried.story, run: again.run };
    await this.asked(1);
    const text = "Thank you. Say it in the README too, please.";
    await this.ask("POST", `/runs/${retry.run}/prompt`, { text });
    // A person takes a while.
    await new Promise((done) => setTimeout(done, 4_000));
    await this.choose("Yes");
    await this.over(retry.run);
    await this.over(mail.run);
    const retention = await this.play(
      "data",
      "large",
      RETENTION,
      "Delete orders of closed accounts after 90 days",
    );
    const asks = await this.asked(1);
    const library = await this.play("docs", "small", LIBRARY, "One way to write dates in the guides");
    await this.asked(2);
    const publish = await this.play("release", "small", PUBLISH, "Ship 2.4 to the next channel");
    await this.asked(3);
    const window = await this.play(
      "frontend",
      "large",
      WINDOW,
      "Show the delivery window on the tracking page",
    );
    const queued = await this.begin("Tell screen readers when a parcel moves", "frontend");
    for (const title of [
      "Labels for parcels that come back",
      "Count lookups by carrier",
      "Warn when a carrier changes its replies",
      "Import orders from the old shop",
      "A dark theme for the tracking page",
    ])
      await this.tell(title);
    return { retry, retention, library, publish, window, queued, mail, ask: asks[0]?.ask ?? "" };
  }
}
