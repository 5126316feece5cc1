// The palette: every action that can be done now, and every story, found by a few letters.
import { useMemo, useState } from "react";
import { Autocomplete, Input, Menu, MenuItem, Text, TextField } from "react-aria-components";
import { useLocation } from "wouter";
import { useLive } from "../live/hooks";
import { Dialog } from "../ui/Dialog";
import { storyEntries } from "../ui/story/palette";
import { type Action, keyLabel, useGroups } from "./registry";

/** So many are shown; more letters show others. */
const SHOWN = 60;

interface Entry {
  id: string;
  words: string;
  about: string;
  hint: string;
  run(): void;
}

export function Palette({ open, onClose }: { open: boolean; onClose(): void }) {
  return (
    <Dialog title="Actions" open={open} onClose={onClose} hideTitle>
      {open && <Inside onClose={onClose} />}
    </Dialog>
  );
}

function Inside({ onClose }: { onClose(): void }) {
  const groups = useGroups();
  const [, go] = useLocation();
  const stories = useLive((world) => [...world.stories.values()]);
  const [words, setWords] = useState("");
  const entries = useMemo(() => {
    // What the page itself can do stands first.
    const actions = groups
      .toReversed()
      .filter((group) => !group.modal)
      .flatMap((group) =>
        group.actions.filter((action) => !action.off).map((action) => entry(action, group.name)),
      );
    const found = storyEntries(stories, words.trim() !== "", go);
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (one: Entry) =>
      wanted.every((word) => `${one.words} ${one.about}`.toLowerCase().includes(word));
    return [...actions, ...found].filter(fits).slice(0, SHOWN);
  }, [groups, stories, words, go]);
  return (
    <div className="palette">
      <Autocomplete inputValue={words} onInputChange={setWords}>
        <TextField aria-label="Find an action or a story" autoFocus>
          <Input placeholder="Find an action or a story" />
        </TextField>
        <Menu
          className="menu"
          aria-label="Actions"
          items={entries}
          renderEmptyState={() => <p className="quiet">Nothing is called that.</p>}
          onAction={(id) => {
            onClose();
            // The dialog is gone first, so that the action can take the focus.
            const found = entries.find((one) => one.id === id);
            setTimeout(() => found?.run(), 0);
          }}
        >
          {(one) => (
            <MenuItem id={one.id} textValue={`${one.words} ${one.about}`} className="item">
              <Text slot="label">{one.words}</Text>
              <Text slot="description">{one.about}</Text>
              {one.hint !== "" && <kbd aria-hidden="true">{one.hint}</kbd>}
            </MenuItem>
          )}
        </Menu>
      </Autocomplete>
    </div>
  );
}

function entry(action: Action, group: string): Entry {
  return {
    id: `action:${action.id}`,
    words: action.words,
    about: group,
    hint: keyLabel(action),
    run: () => action.run(""),
  };
}
