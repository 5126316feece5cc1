// The frame around every page: the rail, the bar at the top, keys that work everywhere, and words for those who listen.
import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { Palette } from "../keys/Palette";
import { press, useActions } from "../keys/registry";
import { Sheet } from "../keys/Sheet";
import { useBlocking } from "../pages/inbox/items";
import { StoryDialogs } from "../ui/story/StoryDialogs";
import { Toasts, undoLast } from "../ui/toast";
import { watchAttention } from "./attention";
import { Banner } from "./Banner";
import { Icon, type IconName } from "./Icon";
import { Notices } from "./Notices";
import { TopBar } from "./TopBar";
import { toggleTheme } from "./theme";

export const PLACES: { path: string; words: string; icon: IconName; keys: string; phone: boolean }[] = [
  { path: "/inbox", words: "Inbox", icon: "inbox", keys: "g i", phone: true },
  { path: "/board", words: "Board", icon: "board", keys: "g b", phone: true },
  { path: "/agents", words: "Agents", icon: "agents", keys: "g a", phone: true },
  { path: "/costs", words: "Costs", icon: "costs", keys: "g c", phone: false },
  { path: "/settings", words: "Settings", icon: "settings", keys: "g s", phone: true },
];

export function Shell({ children }: { children: ReactNode }) {
  const [, go] = useLocation();
  const [open, setOpen] = useState<"palette" | "sheet" | null>(null);
  const [words, setWords] = useState("");
  useEffect(() => watchAttention({ say: setWords }), []);
  useEffect(() => {
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  useActions("Everywhere", [
    ...PLACES.map((place) => ({
      id: `go${place.path}`,
      words: `Go to ${place.words}`,
      keys: [place.keys],
      run: () => go(place.path),
    })),
    { id: "palette", words: "Find an action", keys: ["Mod+k"], typing: true, run: () => setOpen("palette") },
    { id: "keys", words: "Show all keys", keys: ["?"], run: () => setOpen("sheet") },
    { id: "undo", words: "Undo", keys: ["z"], run: undoLast },
    { id: "theme", words: "Change between light and dark", run: toggleTheme },
    { id: "first", words: "Open the first steps", run: () => go("/first") },
  ]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        To the page
      </a>
      <Rail />
      <div className="page">
        <TopBar onPalette={() => setOpen("palette")} />
        <Banner />
        <Notices />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Palette open={open === "palette"} onClose={() => setOpen(null)} />
      <Sheet open={open === "sheet"} onClose={() => setOpen(null)} />
      <StoryDialogs />
      <Toasts />
      <div className="unseen" aria-live="assertive" data-testid="attention">
        {words}
      </div>
    </div>
  );
}

function Rail() {
  const [here] = useLocation();
  const waiting = useBlocking();
  return (
    <nav className="rail" aria-label="Pages">
      {PLACES.map((place) => (
        <Link
          key={place.path}
          href={place.path}
          className={place.phone ? undefined : "not-on-phone"}
          aria-current={here === place.path || here.startsWith(`${place.path}/`) ? "page" : undefined}
        >
          <Icon name={place.icon} />
          <span className="rail-words">{place.words}</span>
          {place.path === "/inbox" && waiting > 0 && (
            <span className="count">
              <span className="unseen">, blocked until you act: </span>
              {waiting}
            </span>
          )}
        </Link>
      ))}
    </nav>
  );
}
