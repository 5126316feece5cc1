// What the server found out about the machine: the same that `musher doctor` says.
import { takeRaw } from "../../api/client";
import { useQuery } from "../../api/query";
import type { Fitness } from "../../ui/story/team";

export interface Check {
  name: string;
  state: "ok" | "degraded" | "missing";
  detail: string;
  fix?: string | null;
}

export interface Runtime extends Fitness {
  runtime: string;
  program?: string | null;
  version?: string | null;
}

interface Checks {
  checks: Check[];
  runtimes: Runtime[];
}

export function useChecks() {
  return useQuery("checks", () => takeRaw<Checks>("/checks"));
}
