// The first steps in a new project: what is here, who can work, and a first story, on one page.
import { type ReactNode, useRef, useState } from "react";
import { Link } from "wouter";
import { useLive } from "../../live/hooks";
import { Health } from "../../ui/Health";
import { oneLine, plain } from "../../ui/plain";
import { Loading, ProblemBox } from "../../ui/states";
import { useTeam } from "../../ui/story/team";
import { Line } from "../../ui/Text";
import { FirstStory, Underway } from "./FirstStory";
import { Machine } from "./Machine";

const KEY = "musher.first-story";

export default function First() {
  const ready = useLive((world) => world.ready);
  const project = useLive((world) => world.project);
  const count = useLive((world) => world.stories.size);
  const team = useTeam();
  const [kept, keep] = useState(() => sessionStorage.getItem(KEY));
  const story = useLive((world) => (kept !== null && world.stories.has(kept) ? kept : null));
  const top = useRef<HTMLDivElement>(null);
  const begun = (id: string) => {
    sessionStorage.setItem(KEY, id);
    keep(id);
    top.current?.scrollIntoView();
  };
  if (!ready) return <Loading what="the project" />;
  return (
    <div className="first" ref={top}>
      <header>
        <h2>First steps</h2>
        <p className="quiet">
          Musher gives stories to a team of agents. Each works in a worktree of its own, asks you when it
          must, and leaves a branch for you to look at.
        </p>
      </header>
      {story !== null && <Underway story={story} />}
      <Step n={1} title="The repository">
        <p>
          <strong>{oneLine(project?.name ?? "…", 80)}</strong>{" "}
          {project?.repo !== undefined && <code className="first-path">{plain(project.repo)}</code>}
        </p>
        {project && (
          <p className="quiet">
            Stories start from the branch <code>{oneLine(project.base_branch, 80)}</code> and are merged into
            it. At most {project.limits.runs} runs at the same time.
          </p>
        )}
      </Step>
      <Step n={2} title="Agents on this machine">
        <Machine />
      </Step>
      <Step n={3} title="The team">
        {team.problem && !team.data ? (
          <ProblemBox problem={team.problem} retry={team.reload} />
        ) : !team.data ? (
          <Loading what="the team" />
        ) : team.data.length === 0 ? (
          <p>No agents yet. Add one to `.musher/project.toml`.</p>
        ) : (
          <ul className="first-team">
            {team.data.map((member) => (
              <li key={member.name}>
                <Health health={member.health} />
                <Line text={member.name} longest={60} />
                <span className="quiet">
                  <Line text={[member.runtime, member.model].filter(Boolean).join(", ")} longest={80} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Step>
      {story === null && (
        <Step n={4} title="The first story">
          {count > 0 && (
            <p>
              There are stories already, on <Link href="/board">the board</Link>. This adds another one.
            </p>
          )}
          {team.data !== undefined && team.data.length > 0 && <FirstStory team={team.data} begun={begun} />}
        </Step>
      )}
    </div>
  );
}

function Step({ n, title, children }: { n: number; title: string; children: ReactNode }) {
  return (
    <section className="step" aria-labelledby={`step-${n}`}>
      <span className="step-number" aria-hidden="true">
        {n}
      </span>
      <div className="step-body">
        <h3 id={`step-${n}`}>{title}</h3>
        {children}
      </div>
    </section>
  );
}
