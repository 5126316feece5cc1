// The title of a story, changed where it stands. What was typed stays until it was taken.
import { type KeyboardEvent, useState } from "react";
import { api, take } from "../../api/client";
import type { Story } from "../../api/words";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Line } from "../../ui/Text";
import { attempt } from "../../ui/toast";
import { useDraft } from "../run/draft";

export function Title({ story }: { story: Story }) {
  const [draft, setDraft] = useDraft(`title.${story.id}`);
  // A draft that was left behind, by a reload or a crash, is taken up again.
  const [open, setOpen] = useState(draft !== "");
  const [busy, setBusy] = useState(false);
  const title = story.title ?? story.id;
  const fixed = story.state === "archived";
  const begin = () => {
    setDraft(title);
    setOpen(true);
  };
  const leave = () => {
    setDraft("");
    setOpen(false);
  };
  useActions("Story", [
    { id: "story.title", words: "Change the title", keys: ["t"], off: fixed, run: begin },
  ]);
  const save = async () => {
    if (busy) return;
    const next = draft.trim();
    if (next === "" || next === title) {
      leave();
      return;
    }
    setBusy(true);
    const path = { story: story.id };
    const worked = await attempt(() =>
      take(api.PATCH("/api/v1/stories/{story}", { params: { path }, body: { title: next } })),
    );
    setBusy(false);
    if (worked) leave();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.nativeEvent.isComposing) void save();
    else if (event.key === "Escape") leave();
    else return;
    event.preventDefault();
  };
  if (!open) {
    return (
      <div className="story-title">
        <h2>
          <Line text={title} />
        </h2>
        {!fixed && (
          <Button kind="icon" label="Change the title" onPress={begin}>
            ✎
          </Button>
        )}
      </div>
    );
  }
  return (
    <div className="story-title">
      <input
        aria-label="Title"
        // biome-ignore lint/a11y/noAutofocus: somebody asked to change it.
        autoFocus
        value={draft}
        readOnly={busy}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={press}
      />
      <Button kind="primary" hint="Enter" isDisabled={busy} onPress={() => void save()}>
        Save
      </Button>
      <Button kind="quiet" hint="Esc" onPress={leave}>
        Back
      </Button>
    </div>
  );
}
