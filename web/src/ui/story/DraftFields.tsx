// What a new story can ask for at once: its priority, its labels, and the stories that come first.
import { useState } from "react";
import { store } from "../../live/store";
import { asksForMore, type Draft, setDraft } from "./draft";
import { AfterField, LabelField } from "./fields";
import { AfterMark, LabelMarks, PriorityMark } from "./Marks";
import { PRIORITIES, storyMeant } from "./spec";

export function DraftFields({ draft }: { draft: Draft }) {
  // What was chosen before is never hidden.
  const [open, setOpen] = useState(() => asksForMore(draft));
  const including = (list: readonly string[], one: string) => [...new Set([...list, one])];
  const without = (list: readonly string[], one: string) => list.filter((other) => other !== one);
  return (
    <details className="story-more" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Priority, labels and order</summary>
      <div className="story-form">
        <label className="story-field">
          Priority
          <select
            value={draft.priority}
            onChange={(event) => setDraft({ priority: Number(event.target.value) })}
          >
            {PRIORITIES.map(({ id, words }) => (
              <option key={id} value={id}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <div className="story-field">
          <span>Labels</span>
          <LabelField
            labels={draft.labels}
            add={(label) => {
              setDraft({ labels: including(draft.labels, label) });
              return true;
            }}
            remove={(label) => setDraft({ labels: without(draft.labels, label) })}
          />
        </div>
        <div className="story-field">
          <span>
            After <span className="quiet">(stories that must be done first)</span>
          </span>
          <AfterField
            after={draft.after}
            // What was typed here is never left out of the story without a word.
            eager
            add={(typed) => {
              const id = storyMeant(typed, store.world.stories.values());
              setDraft({ after: including(draft.after, id) });
              return true;
            }}
            remove={(id) => setDraft({ after: without(draft.after, id) })}
          />
        </div>
      </div>
    </details>
  );
}

/** What the next story will ask for, beside the line for its title. */
export function DraftMarks({ draft }: { draft: Draft }) {
  if (!asksForMore(draft)) return null;
  return (
    <span className="draft-marks">
      <PriorityMark priority={draft.priority} />
      <AfterMark after={draft.after} />
      <LabelMarks labels={draft.labels} />
    </span>
  );
}
