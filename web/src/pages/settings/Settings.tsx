// How this browser looks and calls.
import { useState } from "react";
import { chime, notices, setNotices } from "../../shell/attention";
import { setTheme, type Theme, theme } from "../../shell/theme";
import { Button } from "../../ui/Button";

export default function Settings() {
  const [look, setLook] = useState(theme());
  const [calls, setCalls] = useState(notices());
  return (
    <div className="settings">
      <h2>Settings</h2>
      <label>
        Look{" "}
        <select
          value={look}
          onChange={(event) => {
            setTheme(event.target.value as Theme);
            setLook(event.target.value as Theme);
          }}
        >
          <option value="system">As the system</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      <label>
        <input
          type="checkbox"
          checked={calls.sound}
          onChange={(event) => {
            const next = { ...calls, sound: event.target.checked };
            setNotices(next);
            setCalls(next);
          }}
        />{" "}
        A sound when an agent needs me
      </label>
      <Button onPress={chime}>Try the sound</Button>
    </div>
  );
}
