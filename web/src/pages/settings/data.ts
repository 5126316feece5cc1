// What the settings read and change on the server.
import { takeRaw } from "../../api/client";

export interface Grant {
  agent: string;
  rule: string;
  story?: string | null;
  run?: string | null;
  at?: number | null;
}

export interface Local {
  path: string;
  grants: Grant[];
  caps: { day_usd?: number | null };
}

export function readLocal(): Promise<Local> {
  return takeRaw("/local");
}

export function revokeGrant(agent: string, rule: string): Promise<unknown> {
  return takeRaw("/local/grants", { method: "DELETE", body: JSON.stringify({ agent, rule }) });
}

export type Scope = "full" | "operator";

export interface Token {
  id: string;
  name: string;
  scope: Scope;
  made_at: number;
  last_used_at?: number | null;
  /** Whether this browser shows it. */
  current: boolean;
}

export function readTokens(): Promise<Token[]> {
  return takeRaw<{ tokens: Token[] }>("/tokens").then(({ tokens }) => tokens);
}

/** Makes a token, which is told this once. */
export function addToken(name: string, scope: Scope): Promise<{ name: string; token: string }> {
  return takeRaw("/tokens", { method: "POST", body: JSON.stringify({ name, scope }) });
}

export function revokeToken(id: string): Promise<unknown> {
  return takeRaw(`/tokens/${encodeURIComponent(id)}`, { method: "DELETE", body: "{}" });
}

export interface FileProblem {
  /** The file as seen from the repository: the project file, or one that it names. */
  file?: string;
  line: number;
  column: number;
  message: string;
  help?: string | null;
}

export interface ProjectFileNow {
  path: string;
  text: string;
  hash: string;
  problems: FileProblem[];
  trusted: boolean;
  in_force: boolean;
}

export function readProjectFile(): Promise<ProjectFileNow> {
  return takeRaw("/project/file");
}

export interface ProjectFilesNow {
  trusted: boolean;
  files: { path: string; effect: "executes" | "obeys"; mark?: string | null }[];
}

export function readProjectFiles(): Promise<ProjectFilesNow> {
  return takeRaw("/project/files");
}

/** Puts the file in force for what starts afterwards; tells the keys that need a new start of the server. */
export async function reloadProject(): Promise<string[]> {
  const init = { method: "POST", body: "{}" };
  return (await takeRaw<{ after_restart?: string[] }>("/project/reload", init)).after_restart ?? [];
}
