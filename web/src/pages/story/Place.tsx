// Where the work of a run is: its branch and its folder, to copy, to go to and to open.
import { useState } from "react";
import type { Run } from "../../api/words";
import { Button } from "../../ui/Button";
import { copy } from "../../ui/copy";
import { chooseEditor, EDITORS, editor } from "../../ui/editor";
import { Menu } from "../../ui/Menu";
import { plain } from "../../ui/plain";

export function Place({ run }: { run: Run }) {
  const [chosen, setChosen] = useState(editor);
  const path = run.worktree ?? null;
  const choose = EDITORS.map((one) => ({
    id: one.id,
    words: one.name,
    run: () => {
      chooseEditor(one.id);
      setChosen(one);
      if (path !== null) location.assign(one.address(path));
    },
  }));
  return (
    <section className="story-place" aria-labelledby="story-place-title">
      <h3 id="story-place-title">Where the work is</h3>
      <dl>
        <dt>Branch</dt>
        <dd>
          {run.branch == null ? (
            <span className="quiet">None yet: it gets one when it starts.</span>
          ) : (
            <>
              <code>{plain(run.branch)}</code>
              <Button kind="quiet" onPress={() => void copy(run.branch ?? "", "the branch")}>
                Copy
              </Button>
            </>
          )}
        </dd>
        <dt>Worktree</dt>
        <dd>
          {path === null ? (
            <span className="quiet">
              {run.branch == null ? "None yet." : "Reused; all changes are on the branch."}
            </span>
          ) : (
            <>
              <code>{plain(path)}</code>
              <Button kind="quiet" onPress={() => void copy(path, "the path")}>
                Copy path
              </Button>
              <Button kind="quiet" onPress={() => void copy(`cd ${quoted(path)}`, "the cd line")}>
                Copy cd
              </Button>
              {chosen !== null && (
                <a className="story-open" href={chosen.address(path)}>
                  Open in {chosen.name}
                </a>
              )}
              <Menu
                label="Choose the editor that opens folders"
                face={chosen === null ? "Open in…" : "▾"}
                kind={chosen === null ? "quiet" : "icon"}
                actions={choose}
              />
            </>
          )}
        </dd>
      </dl>
    </section>
  );
}

/** A path as one word of a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
