// The title of a story, changed where it stands. What was typed stays until it was taken.
import { type KeyboardEvent, useState } from "react";
import { api, take } from "../../api/client";
import type { Story } from "../../api/words";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Line } from "../../ui/Text";
import { attempt } from "../../ui/toast";

export function Title({ story }: { story: Story }) {
  const [draft, setDraft] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const title = story.title ?? story.id;
  const fixed = story.state === "archived";
  useActions("Story", [
    { id: "story.title", words: "Change the title", keys: ["t"], off: fixed, run: () => setDraft(title) },
  ]);
  const save = async () => {
    const next = (draft ?? "").trim();
    if (next === "" || next === title) {
      setDraft(null);
      return;
    }
    setBusy(true);
    const path = { story: story.id };
    const worked = await attempt(() =>
      take(api.PATCH("/api/v1/stories/{story}", { params: { path }, body: { title: next } })),
    );
    setBusy(false);
    if (worked) setDraft(null);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.nativeEvent.isComposing) void save();
    else if (event.key === "Escape") setDraft(null);
    else return;
    event.preventDefault();
  };
  if (draft === null) {
    return (
      <div className="story-title">
        <h2>
          <Line text={title} />
        </h2>
        {!fixed && (
          <Button kind="icon" label="Change the title" onPress={() => setDraft(title)}>
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
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={press}
      />
      <Button kind="primary" hint="Enter" isDisabled={busy} onPress={() => void save()}>
        Save
      </Button>
      <Button kind="quiet" hint="Esc" onPress={() => setDraft(null)}>
        Back
      </Button>
    </div>
  );
}
