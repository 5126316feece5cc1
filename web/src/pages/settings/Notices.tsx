// How this browser calls a person: by sound, by a notice of the system, for what, and when not.
import { useState } from "react";
import { type CallKind, chime, type Notices, notices, notify, setNotices } from "../../shell/attention";
import { Button } from "../../ui/Button";
import { say } from "../../ui/toast";

const KINDS: readonly { id: CallKind; words: string }[] = [
  { id: "approval", words: "An agent wants an approval" },
  { id: "question", words: "An agent asks a question or shows a plan" },
  { id: "failed", words: "A run has failed" },
  { id: "finished", words: "A run has finished" },
];
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

type Permission = NotificationPermission | "missing";

function permission(): Permission {
  return "Notification" in window ? Notification.permission : "missing";
}

const ABOUT: Record<Permission, string> = {
  granted: "Notifications are allowed.",
  default: "Notifications are not allowed yet.",
  denied: "Notifications are blocked. Allow them for this site in the browser's settings.",
  missing: "This browser does not support notifications.",
};

export function NoticesPart() {
  const [now, setNow] = useState(notices);
  const [may, setMay] = useState(permission);
  const put = (change: Partial<Notices>) => {
    const next = { ...now, ...change };
    setNotices(next);
    setNow(next);
  };
  const askBrowser = async () => setMay(await Notification.requestPermission());
  const test = () => {
    if (now.sound) chime();
    if (now.notice && may === "granted")
      notify("A test", "This is a test notification.", "/settings#notices");
    const done = [now.sound ? "a sound" : null, now.notice && may === "granted" ? "a notice" : null];
    const words = done.filter(Boolean).join(" and ");
    say(words === "" ? "Sound and notifications are off." : `That was ${words}.`);
  };
  return (
    <div className="notices">
      <fieldset>
        <legend>How</legend>
        <Check words="A sound" on={now.sound} onChange={(sound) => put({ sound })} />
        <Check words="Browser notification" on={now.notice} onChange={(notice) => put({ notice })} />
        <p className="quiet">{ABOUT[may]}</p>
        {may === "default" && <Button onPress={() => void askBrowser()}>Allow notifications</Button>}
      </fieldset>
      <fieldset>
        <legend>For what</legend>
        {KINDS.map(({ id, words }) => (
          <Check
            key={id}
            words={words}
            on={now.kinds[id]}
            onChange={(on) => put({ kinds: { ...now.kinds, [id]: on } })}
          />
        ))}
      </fieldset>
      <fieldset>
        <legend>When not</legend>
        <Check
          words="Quiet hours"
          on={now.quiet !== null}
          onChange={(on) => put({ quiet: on ? { from: 22, to: 7 } : null })}
        />
        {now.quiet !== null && (
          <div className="quiet-hours">
            <Hour
              label="From"
              hour={now.quiet.from}
              onChange={(from) => put({ quiet: { to: 7, ...now.quiet, from } })}
            />
            <Hour
              label="Until"
              hour={now.quiet.to}
              onChange={(to) => put({ quiet: { from: 22, ...now.quiet, to } })}
            />
          </div>
        )}
        <p className="quiet">No notifications while Musher is in the foreground.</p>
      </fieldset>
      <Button onPress={test}>Try it</Button>
    </div>
  );
}

function Check({ words, on, onChange }: { words: string; on: boolean; onChange(on: boolean): void }) {
  return (
    <label className="check">
      <input type="checkbox" checked={on} onChange={(event) => onChange(event.target.checked)} />
      {words}
    </label>
  );
}

function Hour({ label, hour, onChange }: { label: string; hour: number; onChange(hour: number): void }) {
  return (
    <label>
      {label}
      <select value={hour} onChange={(event) => onChange(Number(event.target.value))}>
        {HOURS.map((one) => (
          <option key={one} value={one}>
            {String(one).padStart(2, "0")}:00
          </option>
        ))}
      </select>
    </label>
  );
}
