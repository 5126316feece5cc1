// The settings: the project's file and its local rules, who may come in, and how this browser looks and calls.
import { type ReactNode, useEffect } from "react";
import { useActions } from "../../keys/registry";
import { Cap } from "../costs/Cap";
import { Browser } from "./Browser";
import { Grants } from "./Grants";
import { NoticesPart } from "./Notices";
import { ProjectFile } from "./ProjectFile";
import { ProjectFiles } from "./ProjectFiles";
import { Tokens } from "./Tokens";

const PARTS: readonly { id: string; words: string; about: string; part: ReactNode }[] = [
  {
    id: "project",
    words: "Project file",
    about: "Who is on the team and what each may do. It belongs to the repository; edit it there.",
    part: (
      <>
        <ProjectFile />
        <ProjectFiles />
      </>
    ),
  },
  {
    id: "rules",
    words: "Saved permissions",
    about: "Rules you saved by answering “always”. They stay on this machine.",
    part: <Grants />,
  },
  { id: "cap", words: "Daily limit", about: "The most that all runs may cost in a day.", part: <Cap /> },
  {
    id: "tokens",
    words: "Tokens",
    about: "Browsers and programs with access. Revoking a token signs it out at once.",
    part: <Tokens />,
  },
  {
    id: "notices",
    words: "Sound and notifications",
    about: "How this browser notifies you while Musher is in the background.",
    part: <NoticesPart />,
  },
  { id: "browser", words: "This browser", about: "How pages look, and what opens files.", part: <Browser /> },
];

function go(id: string): void {
  const part = document.getElementById(id);
  part?.scrollIntoView({ block: "start" });
  part?.focus({ preventScroll: true });
}

export default function Settings() {
  useActions(
    "Settings",
    PARTS.map(({ id, words }, at) => ({
      id: `settings.${id}`,
      words: `Go to ${words.toLowerCase()}`,
      keys: [String(at + 1)],
      run: () => go(id),
    })),
  );
  useEffect(() => {
    const named = location.hash.slice(1);
    if (named !== "") go(named);
  }, []);
  return (
    <div className="settings">
      <nav className="settings-parts" aria-label="Settings">
        {PARTS.map(({ id, words }) => (
          <a
            key={id}
            href={`#${id}`}
            onClick={(event) => {
              event.preventDefault();
              go(id);
            }}
          >
            {words}
          </a>
        ))}
      </nav>
      <div className="settings-all">
        {PARTS.map(({ id, words, about, part }) => (
          <section key={id} id={id} tabIndex={-1} aria-labelledby={`${id}-head`} className="settings-part">
            <header>
              <h2 id={`${id}-head`}>{words}</h2>
              <p className="quiet">{about}</p>
            </header>
            {part}
          </section>
        ))}
      </div>
    </div>
  );
}
