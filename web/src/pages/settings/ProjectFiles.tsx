// The files of the project that agents' programs run or obey, and whether a person has agreed to those that are run.
import { useQuery } from "../../api/query";
import { Badge } from "../../ui/Badge";
import { EffectBadge } from "../../ui/Heeded";
import { plain } from "../../ui/plain";
import { ProblemBox } from "../../ui/states";
import { readProjectFiles } from "./data";

export function ProjectFiles() {
  const now = useQuery("project files", readProjectFiles);
  if (now.problem !== undefined && now.data === undefined) {
    // A server of an older build has no such list.
    return now.problem.status === 404 ? null : <ProblemBox problem={now.problem} retry={now.reload} />;
  }
  if (now.data === undefined || now.data.files.length === 0) return null;
  const { files, trusted } = now.data;
  const runs = files.some((file) => file.effect === "executes");
  return (
    <>
      <div className="project-state">
        <h3>Files that agents run or obey</h3>
        {runs && (trusted ? <Badge tone="good">trusted</Badge> : <Badge tone="warn">left out</Badge>)}
      </div>
      {runs && !trusted && (
        <p className="settings-warn">
          Agents work without these files until you review them and run <code>musher trust</code> in the
          repository.
        </p>
      )}
      <ul className="project-problems" aria-label="Files that agents run or obey">
        {files.map((file) => (
          <li key={file.path} className="project-state">
            <code>{plain(file.path)}</code>
            <EffectBadge effect={file.effect} />
          </li>
        ))}
      </ul>
    </>
  );
}
