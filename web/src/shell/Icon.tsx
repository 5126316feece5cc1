// The signs of the rail.
import { Sign } from "../ui/Sign";

export type IconName = "inbox" | "board" | "agents" | "costs" | "settings" | "search";

const PATHS: Record<IconName, string> = {
  inbox: "M4 13h4l2 3h4l2-3h4M4 13 6.5 5h11L20 13v6H4z",
  board: "M4 4h4.5v16H4zM9.75 4h4.5v11h-4.5zM15.5 4H20v7h-4.5z",
  agents:
    "M8.5 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-3.5 2.5-6 6-6s6 2.5 6 6M16 4.5a3.2 3.2 0 0 1 0 6M17.5 14c2.4.6 4 2.8 4 6",
  costs: "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM20 20l-4.6-4.6",
};

export function Icon({ name }: { name: IconName }) {
  return <Sign className="icon" path={PATHS[name]} size={20} />;
}
