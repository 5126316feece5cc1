// The network of a run in words: who let a host through, and how much passed.
import type { components } from "../../../api/schema";

export type Network = components["schemas"]["Network"];
export type HostTraffic = components["schemas"]["HostTraffic"];
export type Figures = components["schemas"]["TrafficFigures"];

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Bytes in three signs or so, such as `1.5 MiB`; what is something never looks like nothing. */
export function bytes(count: number): string {
  let [scaled, unit] = [count, 0];
  while (scaled >= 1024 && unit + 1 < UNITS.length) [scaled, unit] = [scaled / 1024, unit + 1];
  return `${unit === 0 ? scaled : scaled.toFixed(1)} ${UNITS[unit]}`;
}

/** Who or what decided about a host. */
export function decidedBy(host: HostTraffic): string {
  switch (host.by) {
    case "hosts":
      return host.rule == null ? "not among the allowed hosts" : `hosts: ${host.rule}`;
    case "rule":
      return "a tool rule or a saved permission";
    case "person":
      return "a person";
    case "waiting":
      return "waits for an answer";
    case "deadline":
      return "the deadline of the ask";
    case "unattended":
      return "nobody was there to answer";
    case "address":
      return "stands for no address of the internet";
    case "upstream":
      return "the proxy of this machine refused it";
    default:
      return host.by ?? "";
  }
}

/** What became of a host, as a word for its badge. */
export function standing(host: HostTraffic): { words: string; tone: "good" | "warn" | "bad" | "plain" } {
  if (host.connections > 0) return { words: host.refused > 0 ? "in part" : "reached", tone: "good" };
  if (host.by === "waiting") return { words: "asked", tone: "warn" };
  if (host.refused > 0) return { words: "refused", tone: "bad" };
  return { words: "not reached", tone: "plain" };
}

/** The sum over all hosts. */
export function total(network: Network): Figures {
  const sum = { connections: 0, refused: 0, failed: 0, sent: 0, received: 0 };
  for (const one of [...network.hosts, ...(network.others == null ? [] : [network.others])]) {
    sum.connections += one.connections;
    sum.refused += one.refused;
    sum.failed += one.failed;
    sum.sent += one.sent;
    sum.received += one.received;
  }
  return sum;
}
