// What is chosen for this browser alone: the look, and the editor that opens files.
import { useState } from "react";
import { setTheme, type Theme, theme } from "../../shell/theme";
import { Choice } from "../../ui/Choice";
import { chooseEditor, EDITORS, editor } from "../../ui/editor";

const LOOKS: readonly { id: Theme; words: string }[] = [
  { id: "system", words: "As the system" },
  { id: "light", words: "Light" },
  { id: "dark", words: "Dark" },
];

export function Browser() {
  const [look, setLook] = useState(theme);
  const [chosen, setChosen] = useState(editor()?.id ?? "");
  return (
    <div className="browser-settings">
      <div>
        <h3>Look</h3>
        <Choice
          label="Look"
          value={look}
          options={LOOKS}
          onChange={(next) => {
            setTheme(next);
            setLook(next);
          }}
        />
      </div>
      <label>
        Files and folders open in
        <select
          value={chosen}
          onChange={(event) => {
            chooseEditor(event.target.value === "" ? null : event.target.value);
            setChosen(event.target.value);
          }}
        >
          <option value="">nothing</option>
          {EDITORS.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        <span className="quiet">
          It must be on the machine on which the browser runs, with the same folders.
        </span>
      </label>
    </div>
  );
}
