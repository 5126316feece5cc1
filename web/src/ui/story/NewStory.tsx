// A new story: one line is enough, with more text and an agent to start if somebody wants.
import { type ClipboardEvent, type KeyboardEvent, useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import { Button } from "../Button";
import { ProblemLine } from "../ProblemLine";
import { oneLine } from "../plain";
import { say } from "../toast";
import { add, archive, start } from "./commands";
import { DraftFields } from "./DraftFields";
import { startStory } from "./dialogs";
import { draftSent, setDraft, takeLines, useDraft } from "./draft";
import { remember, rememberedModel, useTeam, usual } from "./team";

export function NewStory({ onClose }: { onClose(): void }) {
  const draft = useDraft();
  const team = useTeam();
  const [chosen, choose] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const agent = chosen ?? usual(team.data ?? []) ?? "";
  const empty = draft.title.trim() === "";
  const send = async (starts: boolean) => {
    if (empty || busy) return;
    setBusy(true);
    try {
      const { title, text, key } = draft;
      const story = await add(title, text, key, draft);
      draftSent(draft);
      if (starts) await begin(story, agent, onClose);
      else {
        onClose();
        added(story, title);
      }
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    const starts = event.ctrlKey || event.metaKey;
    if (!starts && event.currentTarget.tagName === "TEXTAREA") return;
    event.preventDefault();
    void send(starts);
  };
  const paste = (event: ClipboardEvent) => {
    if (takeLines(event.clipboardData.getData("text"))) event.preventDefault();
  };
  return (
    <>
      <label className="story-field">
        What do you want, in one line?
        <input
          // biome-ignore lint/a11y/noAutofocus: the dialog was opened to write this.
          autoFocus
          value={draft.title}
          onChange={(event) => setDraft({ title: event.target.value })}
          onKeyDown={press}
          onPaste={paste}
        />
      </label>
      <label className="story-field">
        <span>
          Description <span className="quiet">(acceptance, links; Markdown)</span>
        </span>
        <textarea
          rows={4}
          value={draft.text}
          onChange={(event) => setDraft({ text: event.target.value })}
          onKeyDown={press}
        />
      </label>
      <DraftFields draft={draft} />
      <ProblemLine problem={problem} />
      <div className="story-buttons">
        <Button kind="primary" hint="Enter" isDisabled={empty || busy} onPress={() => void send(false)}>
          Add
        </Button>
        <Button hint="Ctrl+Enter" isDisabled={empty || busy || agent === ""} onPress={() => void send(true)}>
          Add and start
        </Button>
        <label className="story-inline">
          <span className="quiet">with</span>
          <select value={agent} onChange={(event) => choose(event.target.value)} aria-label="Agent">
            {(team.data ?? []).map((member) => (
              <option key={member.name} value={member.name}>
                {oneLine(member.name, 40)}
                {member.health?.state === "missing" ? " (cannot start)" : ""}
              </option>
            ))}
          </select>
        </label>
      </div>
    </>
  );
}

/** The story is there, whatever becomes of the start; what failed is told where it can be tried again. */
async function begin(story: string, agent: string, onClose: () => void): Promise<void> {
  try {
    const model = rememberedModel(agent);
    await start(story, { agent, model });
    remember(agent, model);
    onClose();
    say(`${oneLine(agent, 40)} starts on ${story}.`);
  } catch (error) {
    startStory(story, { agent, problem: asProblem(error) });
  }
}

/** Says that a story was added, with a way back. */
export function added(story: string, title: string): void {
  say(`Added to the backlog: ${oneLine(title, 80)}`, { undo: () => void archive(story).catch(() => {}) });
}
