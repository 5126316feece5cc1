// Fields that the server is about to tell; each moves out of here once the document names it.
import type { FileDiff } from "./words";

export interface StorySoon {
  latest?: {
    run: string;
    agent: string;
    phase: string;
    outcome?: string | null;
    ended_at?: number | null;
    error?: string | null;
    parked?: boolean;
    lines?: Lines | null;
  } | null;
}

export interface Lines {
  added: number;
  removed: number;
}

export interface RunSoon {
  worktree?: string | null;
  lines?: Lines | null;
  prompt?: string | null;
}

export interface AskSoon {
  change?: FileDiff[] | null;
  change_note?: string | null;
}

export interface ProjectSoon {
  repo?: string;
  build?: string;
  day?: { date: string; spent_usd: number; unknown: boolean; cap_usd?: number | null };
}
