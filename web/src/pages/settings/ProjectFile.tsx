// The project file as it stands on the disk, with what is wrong with it at the line, and whether the server runs it.
import { useMemo, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import { useQuery } from "../../api/query";
import { useActions } from "../../keys/registry";
import { store } from "../../live/store";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { CodeLine } from "../../ui/CodeLine";
import { usePainter } from "../../ui/colours";
import { copy } from "../../ui/copy";
import { editor } from "../../ui/editor";
import { plain } from "../../ui/plain";
import { Loading, ProblemBox, sentence } from "../../ui/states";
import { say } from "../../ui/toast";
import { type ListHandle, VirtualList } from "../../ui/VirtualList";
import { type FileProblem, type ProjectFileNow, readProjectFile, reloadProject } from "./data";

/** So much of a line is shown. */
const LONGEST = 500;
/** A row is so high, and so many are in sight at most. */
const ROW = 20;
const SEEN = 24;

export function ProjectFile() {
  const file = useQuery("project file", readProjectFile);
  const [refused, setRefused] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  /** The limits above the page are part of what the file says. */
  const look = () => {
    file.reload();
    store.refreshProject();
  };
  const again = async () => {
    setBusy(true);
    setRefused(null);
    try {
      const later = await reloadProject();
      const rest = later.length > 0 ? ` After a restart of the server also: ${later.join(", ")}.` : "";
      say(`The project file is applied to new runs.${rest}`);
    } catch (error) {
      setRefused(asProblem(error));
    }
    setBusy(false);
    look();
  };
  useActions("Settings", [
    { id: "settings.look", words: "Refresh the project file", keys: ["r"], run: look },
  ]);
  if (file.problem !== undefined && file.data === undefined) {
    if (file.problem.status === 404)
      return <p className="quiet">This server does not show its project file.</p>;
    return <ProblemBox problem={file.problem} retry={file.reload} />;
  }
  if (file.data === undefined) return <Loading what="the project file" />;
  const { path, problems, trusted, in_force } = file.data;
  const opens = editor();
  return (
    <>
      <div className="project-state">
        <code>{plain(path)}</code>
        {problems.length > 0 ? (
          <Badge tone="bad">{problems.length === 1 ? "1 mistake" : `${problems.length} mistakes`}</Badge>
        ) : !trusted ? (
          <Badge tone="warn">not trusted</Badge>
        ) : in_force ? (
          <Badge tone="good">in force</Badge>
        ) : (
          <Badge tone="warn">changed, not in force yet</Badge>
        )}
        <span className="grow" />
        {opens !== null && (
          <a className="button" href={opens.address(path)}>
            Open in {opens.name}
          </a>
        )}
        <Button hint="r" onPress={look}>
          Refresh
        </Button>
        {!in_force && problems.length === 0 && trusted && (
          <Button kind="primary" isDisabled={busy} onPress={() => void again()}>
            {busy ? "Reloading…" : "Apply"}
          </Button>
        )}
      </div>
      {refused !== null && (
        <p className="settings-bad" role="alert">
          {sentence(refused.detail)} {sentence(refused.hint)}
        </p>
      )}
      {problems.length > 0 && !in_force && (
        <p className="quiet">Until the errors are fixed, the server uses the file as it was.</p>
      )}
      {problems.length === 0 && !trusted && (
        <p className="settings-warn">
          It has changes that are not trusted on this machine. Review it, then run <code>musher trust</code>{" "}
          in the repository.{" "}
          <Button kind="quiet" onPress={() => void copy("musher trust", "the command")}>
            Copy
          </Button>
        </p>
      )}
      <Text file={file.data} />
    </>
  );
}

/** Whether a mistake is in the project file itself, and not in one that it names. */
function isOwn(file: ProjectFileNow, problem: FileProblem): boolean {
  return problem.file === undefined || file.path.endsWith(problem.file);
}

function Text({ file }: { file: ProjectFileNow }) {
  const list = useRef<ListHandle>(null);
  const painter = usePainter("project.toml");
  const lines = useMemo(() => file.text.replace(/\n$/, "").split("\n"), [file.text]);
  const rows = useMemo(() => {
    const at = new Map<number, FileProblem[]>();
    for (const problem of file.problems.filter((one) => isOwn(file, one))) {
      const line = Math.min(Math.max(1, problem.line), lines.length);
      at.set(line, [...(at.get(line) ?? []), problem]);
    }
    return lines.map((text, n) => ({ n: n + 1, text, problems: at.get(n + 1) ?? [] }));
  }, [lines, file]);
  return (
    <>
      {file.problems.length > 0 && (
        <ol className="project-problems">
          {file.problems.slice(0, 50).map((problem) => (
            <li key={`${problem.file} ${problem.line} ${problem.column} ${problem.message}`}>
              {isOwn(file, problem) ? (
                <Button
                  kind="quiet"
                  onPress={() => list.current?.scrollToIndex(problem.line - 1, { align: "center" })}
                >
                  Line {problem.line}
                </Button>
              ) : (
                <code>
                  {plain(problem.file ?? "")}:{problem.line}
                </code>
              )}{" "}
              {sentence(problem.message)}
            </li>
          ))}
        </ol>
      )}
      <div
        className="project-text"
        style={{ blockSize: Math.min(SEEN, rows.length + 1) * ROW + file.problems.length * ROW }}
      >
        <VirtualList
          items={rows}
          id={(row) => row.n}
          estimate={ROW}
          label="The project file"
          handle={list}
          row={(row) => (
            <div className={row.problems.length > 0 ? "project-line bad" : "project-line"}>
              <span className="project-number" aria-hidden="true">
                {row.n}
              </span>
              <code>
                <CodeLine text={row.text.slice(0, LONGEST)} painter={painter} />
                {row.text.length > LONGEST && "…"}
              </code>
              {row.problems.map((problem) => (
                <p key={`${problem.column} ${problem.message}`} className="project-wrong">
                  <span className="unseen">Line {row.n}: </span>
                  {sentence(problem.message)}
                  {problem.help != null && ` ${sentence(problem.help)}`}
                </p>
              ))}
            </div>
          )}
        />
      </div>
    </>
  );
}
