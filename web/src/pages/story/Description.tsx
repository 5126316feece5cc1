// What is wanted: read as Markdown, changed as text. A change that somebody else made meanwhile is not written over unseen.
import { type KeyboardEvent, useState } from "react";
import { api, take } from "../../api/client";
import type { StoryWhole } from "../../api/words";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Markdown } from "../../ui/Markdown";
import { metWords } from "../../ui/story/criteria";
import { attempt } from "../../ui/toast";
import { useDraft } from "../run/draft";
import { useTicks } from "./useTicks";

export function Description({ story, saved }: { story: StoryWhole; saved(): void }) {
  const text = story.text ?? "";
  const [draft, setDraft] = useDraft(`story.${story.id}`);
  const [base, setBase] = useDraft(`story.${story.id}.from`);
  // A draft that was left behind, by a reload or a crash, is taken up again.
  const [open, setOpen] = useState(draft !== "");
  const [busy, setBusy] = useState(false);
  const fixed = story.state === "archived";
  const met = metWords(text);
  const { tick, said } = useTicks(story.id, text, saved);
  const begin = () => {
    if (draft === "") {
      setDraft(text);
      setBase(text);
    }
    setOpen(true);
  };
  const leave = () => {
    setDraft("");
    setBase("");
    setOpen(false);
  };
  const save = async () => {
    if (busy) return;
    setBusy(true);
    const path = { story: story.id };
    const worked = await attempt(() =>
      take(api.PATCH("/api/v1/stories/{story}", { params: { path }, body: { text: draft } })),
    );
    setBusy(false);
    if (!worked) return;
    leave();
    saved();
  };
  useActions("Story", [
    { id: "story.edit", words: "Change the description", keys: ["s e"], off: fixed || open, run: begin },
  ]);
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
    else if (event.key === "Escape") setOpen(false);
    else return;
    event.preventDefault();
  };
  return (
    <section className="story-text" aria-labelledby="story-text-title">
      <header>
        <h3 id="story-text-title">Description</h3>
        {!open && met !== null && <span className="quiet">{met} acceptance criteria met</span>}
        {!open && !fixed && (
          <Button kind="quiet" hint="s e" onPress={begin}>
            {draft === "" ? "Edit" : "Continue editing"}
          </Button>
        )}
      </header>
      {!open &&
        (text === "" ? (
          <p className="quiet">Nothing was written down.</p>
        ) : (
          <Markdown text={text} {...(fixed ? {} : { tick })} />
        ))}
      {!open && said !== null && (
        <p className="t-bad" role="alert">
          {said}
        </p>
      )}
      {open && (
        <>
          {base !== text && (
            <p className="t-bad" role="alert">
              The description was changed since you started editing. Saving replaces that text.
            </p>
          )}
          <textarea
            aria-label="Description, in Markdown"
            rows={12}
            // biome-ignore lint/a11y/noAutofocus: somebody asked to change it.
            autoFocus
            value={draft}
            readOnly={busy}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={press}
          />
          <div className="story-buttons">
            <Button kind="primary" hint="Ctrl+Enter" isDisabled={busy} onPress={() => void save()}>
              Save
            </Button>
            <Button kind="quiet" onPress={leave}>
              Discard changes
            </Button>
            <span className="quiet">Runs that work already keep the text that they began with.</span>
          </div>
        </>
      )}
    </section>
  );
}
