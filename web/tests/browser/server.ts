// A project in a folder of its own, and the real server that serves it. Nothing is built here and nothing is faked.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** The programs, as the Rust tests built them. */
export const MUSHER = process.env.MUSHER_BIN ? resolve(process.env.MUSHER_BIN) : "";
const WORKER = process.env.MUSHER_WORKER_AGENT ?? join(dirname(MUSHER), "worker-agent");

/** Scripts that agents of the runtime `script` play, by the name of the agent. */
export type Scripts = Record<string, string>;

export interface Ready {
  url: string;
  pid: number;
}

export class Server {
  readonly top = mkdtempSync(join(tmpdir(), "musher-web-"));
  readonly repo: string;
  readonly state = join(this.top, "state");
  url = "";
  /** The link with its one-time code. */
  link = "";
  private process: ChildProcess | null = null;
  private readonly environment: Record<string, string>;

  /**
   * `more` holds further keys of an agent in the project file, `extra` further tables, `vars` further variables of the
   * server, in which `HOME` means its home folder; `name` is the
   * repository's.
   */
  constructor(
    scripts: Scripts,
    extra = "",
    more: Record<string, string> = {},
    vars: Record<string, string> = {},
    name = "repo",
  ) {
    this.repo = join(this.top, name);
    if (MUSHER === "") throw new Error("MUSHER_BIN must name the musher program");
    const home = join(this.top, "home");
    this.environment = {
      ...Object.fromEntries(Object.entries(vars).map(([name, value]) => [name, value.replace("HOME", home)])),
      PATH: process.env.PATH ?? "",
      HOME: home,
      LANG: "C.UTF-8",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "Rig",
      GIT_AUTHOR_EMAIL: "rig@example.com",
      GIT_COMMITTER_NAME: "Rig",
      GIT_COMMITTER_EMAIL: "rig@example.com",
    };
    mkdirSync(join(this.repo, ".musher/scripts"), { recursive: true });
    mkdirSync(join(home, "worker"), { recursive: true });
    let project = "";
    for (const [name, script] of Object.entries(scripts)) {
      writeFileSync(join(this.repo, `.musher/scripts/${name}.toml`), script);
      project += `[[agent]]\nname = "${name}"\nruntime = "script"\ncommand = "./.musher/scripts/${name}.toml"\n`;
      project += `${more[name] ?? ""}\n`;
    }
    project += `[[agent]]\nname = "worker"\nruntime = "claude-code"\ncommand = "${WORKER}"\nprompt = "{{ story.text }}"\n`;
    project += `env = { WORKER_HOME = "${join(home, "worker")}" }\n\n${extra}`;
    if (!extra.includes("[limits]"))
      project += "[limits]\nruns = 32\nruns_per_agent = 32\nruns_per_story = 8\n";
    writeFileSync(join(this.repo, ".musher/project.toml"), project);
    writeFileSync(join(this.repo, "README.md"), "# A small project\n");
    this.git("init", "-q", "-b", "main");
    this.git("add", ".");
    this.git("commit", "-qm", "first");
    this.musher("trust");
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.repo, env: this.environment, encoding: "utf8" });
  }

  /** The command line, on this project. */
  musher(...args: string[]): string {
    const all = [...args, "--state", this.state];
    return execFileSync(MUSHER, all, { cwd: this.repo, env: this.environment, encoding: "utf8" });
  }

  /** Another build of the same program: a file of its own is all that tells builds apart. */
  newer(): string {
    const copy = join(this.top, "newer");
    copyFileSync(MUSHER, copy, constants.COPYFILE_FICLONE);
    return copy;
  }

  /** Starts the server; at the same address as before, if it ran before. */
  async start(program = MUSHER): Promise<void> {
    const port = this.url === "" ? "0" : new URL(this.url).port;
    const web = process.env.MUSHER_WEB_DIR;
    const own = web === undefined ? [] : ["--web-dir", web];
    const args = ["serve", ...own, "--state", this.state, "--listen", `127.0.0.1:${port}`];
    const child = spawn(program, args, {
      cwd: this.repo,
      env: this.environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.process = child;
    let said = "";
    this.link = await new Promise<string>((found, failed) => {
      const late = setTimeout(() => failed(new Error(`the server did not start:\n${said}`)), 20_000);
      const hear = (piece: Buffer) => {
        said += piece.toString();
        const link = /Musher listens at (\S+)/.exec(said)?.[1];
        if (link === undefined) return;
        clearTimeout(late);
        found(link);
      };
      child.stdout?.on("data", hear);
      child.stderr?.on("data", hear);
      child.on("exit", (code) => failed(new Error(`the server ended with ${code}:\n${said}`)));
    });
    this.url = new URL(this.link).origin;
  }

  token(): string {
    return readFileSync(join(this.state, "token"), "utf8").trim();
  }

  /** A request to the API, as another client makes it. */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const reply = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token()}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as T;
  }

  /** Answers an ask as another client does, which has read it. */
  async answer(run: string, ask: string, answer: unknown): Promise<void> {
    const { asks } = await this.ask<{ asks: { run: string; ask: string; digest?: string }[] }>(
      "GET",
      "/asks",
    );
    const shown = asks.find((one) => one.run === run && one.ask === ask)?.digest;
    await this.ask("POST", `/runs/${run}/asks/${encodeURIComponent(ask)}/answer`, {
      answer,
      ...(shown === undefined ? {} : { shown }),
    });
  }

  /** The asks of a run that wait. */
  async waits(run: string): Promise<string[]> {
    const { asks } = await this.ask<{ asks: { run: string; ask: string }[] }>("GET", "/asks");
    return asks.filter((one) => one.run === run).map((one) => one.ask);
  }

  /** Adds a story and starts an agent on it. */
  async begin(title: string, agent: string, text = ""): Promise<{ story: string; run: string }> {
    const { story } = await this.ask<{ story: string }>("POST", "/stories", { title, text });
    const { run } = await this.ask<{ run: string }>("POST", `/stories/${story}/start`, { agent });
    return { story, run };
  }

  /** Waits until a run is over. */
  async over(run: string): Promise<void> {
    for (let turn = 0; turn < 300; turn += 1) {
      const { phase } = await this.ask<{ phase: string }>("GET", `/runs/${run}`);
      if (phase === "over") return;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error(`${run} is not over`);
  }

  /** Puts a log of so many events in the place of that of a run that is over, by the log's own writer. */
  async lengthen(run: string, events: number): Promise<void> {
    await this.over(run);
    await this.kill();
    const program = process.env.MUSHER_LONG_LOG ?? join(dirname(MUSHER), "examples/long-log");
    execFileSync(program, [join(this.state, "runs", run), run, String(events)]);
    await this.start();
  }

  /** Kills the server as by a crash. Agents go on. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.process;
    this.process = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.removeAllListeners("exit");
    child.once("exit", () => {});
    const left = new Promise((done) => child.once("close", done));
    child.kill(signal);
    await Promise.race([gone, left]);
  }

  /** Ends everything that was started here and removes it. */
  async stop(): Promise<void> {
    try {
      // Agents outlive a server; this ends them with and without one.
      if (this.url !== "") this.musher("kill", "--all");
    } finally {
      await this.end("SIGTERM");
      rmSync(this.top, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    }
  }
}
