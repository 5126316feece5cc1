// The sign of what a tool does.
import { Sign } from "./Sign";

const PATHS: Record<string, string> = {
  read: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM20 20l-4.6-4.6",
  execute: "M4 5h16v14H4zM7 9l3 3-3 3M12 15h5",
  fetch: "M12 3v12M7 10l5 5 5-5M4 20h16",
  mcp: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  subagent: "M12 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM5 20c0-4 3-6.5 7-6.5s7 2.5 7 6.5",
  question: "M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7M12 17v.2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  plan: "M4 6h2M9 6h11M4 12h2M9 12h11M4 18h2M9 18h11",
  thought: "M9 19h6M10 22h4M8 15c-2-1.3-3-3.3-3-5.5a7 7 0 0 1 14 0c0 2.2-1 4.2-3 5.5v1H8z",
  other: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v3M12 18v3M3 12h3M18 12h3",
};

export function KindIcon({ kind }: { kind: string | null }) {
  return <Sign className="kind-icon" path={PATHS[kind ?? "other"] ?? PATHS.other} size={16} />;
}
