// A bad network between a page and the server: requests are slow, and words of the feed overtake each other, by a seed.
import {
  createServer,
  request as forward,
  type Server as Http,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** Numbers between 0 and 1 that are the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Most requests are a little late; a few are very late. */
const LATE_MS = 15;
const VERY_LATE_MS = 250;
const VERY_LATE = 0.05;
/** So many of the words of the feed are overtaken by those that follow. */
const OVERTAKEN = 0.3;
const HELD_MS = 60;

/** A command that went through, and its reply. */
export interface Passed {
  path: string;
  body: string;
  status: number;
  reply: string;
}

export class BadNetwork {
  url = "";
  /** Every command that got its reply. */
  readonly passed: Passed[] = [];
  /** How many words of the feed came later than they were sent. */
  overtaken = 0;
  private readonly server: Http;
  private readonly target: URL;
  private readonly roll: () => number;

  constructor(target: string, seed: number) {
    this.target = new URL(target);
    this.roll = seeded(seed);
    this.server = createServer((asked, reply) => {
      const late = this.roll() < VERY_LATE ? VERY_LATE_MS : LATE_MS;
      setTimeout(() => this.pass(asked, reply), this.roll() * late);
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private pass(asked: IncomingMessage, reply: ServerResponse): void {
    const headers = { ...asked.headers, host: this.target.host };
    if (headers.origin !== undefined) headers.origin = this.target.origin;
    if (headers.referer !== undefined) headers.referer = `${this.target.origin}/`;
    const { hostname, port } = this.target;
    const body: Buffer[] = [];
    asked.on("data", (piece: Buffer) => body.push(piece));
    const onward = forward(
      { hostname, port, method: asked.method, path: asked.url, headers },
      (answer: IncomingMessage) => {
        reply.writeHead(answer.statusCode ?? 502, answer.headers);
        if (asked.method === "POST") this.record(asked.url ?? "", body, answer);
        if (asked.url?.startsWith("/api/v1/feed")) this.shuffle(answer, reply);
        else answer.pipe(reply);
      },
    );
    onward.on("error", () => reply.destroy());
    reply.on("close", () => onward.destroy());
    asked.pipe(onward);
  }

  private record(path: string, body: Buffer[], answer: IncomingMessage): void {
    const reply: Buffer[] = [];
    answer.on("data", (piece: Buffer) => reply.push(piece));
    answer.on("end", () => {
      const status = answer.statusCode ?? 0;
      this.passed.push({
        path,
        body: String(Buffer.concat(body)),
        status,
        reply: String(Buffer.concat(reply)),
      });
    });
  }

  /** Holds some of the words back, so that others come first. What an opening tells is left in its order. */
  private shuffle(answer: IncomingMessage, reply: ServerResponse): void {
    let rest = "";
    let ready = false;
    answer.setEncoding("utf8");
    answer.on("data", (piece: string) => {
      const words = (rest + piece).split("\n\n");
      rest = words.pop() ?? "";
      for (const word of words) {
        const loose = ready && /^event: (headline|fact)$/m.test(word);
        ready ||= /^event: ready$/m.test(word);
        if (loose && this.roll() < OVERTAKEN) {
          this.overtaken += 1;
          setTimeout(() => reply.write(`${word}\n\n`), this.roll() * HELD_MS);
        } else reply.write(`${word}\n\n`);
      }
    });
    answer.on("end", () => reply.end(rest));
    answer.on("error", () => reply.destroy());
  }
}
