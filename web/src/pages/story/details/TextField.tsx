// A short text that is saved by Enter or by going on to another field; Escape brings back what was there.
import { type KeyboardEvent, useRef, useState } from "react";

interface Props {
  label: string;
  value: string;
  /** What counts when it is empty. */
  hint: string;
  decimal?: boolean;
  fixed?: boolean;
  busy: boolean;
  /** Gives whether it was taken; what was not stays typed. */
  save(typed: string): Promise<boolean>;
  /** Something else is typed than what was refused. */
  typed(): void;
}

export function TextField({ label, value, hint, decimal = false, fixed = false, busy, save, typed }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  /** What was refused is not sent again when the field is left. */
  const refused = useRef<string | null>(null);
  const send = async (left: boolean) => {
    if (draft === null || busy) return;
    if (draft.trim() === value) {
      setDraft(null);
      return;
    }
    if (left && refused.current === draft) return;
    const worked = await save(draft);
    refused.current = worked ? null : draft;
    if (worked) setDraft(null);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.nativeEvent.isComposing) void send(false);
    else if (event.key === "Escape" && draft !== null) {
      setDraft(null);
      typed();
    } else return;
    event.preventDefault();
  };
  return (
    <input
      aria-label={label}
      value={draft ?? value}
      placeholder={hint}
      readOnly={busy}
      disabled={fixed}
      spellCheck={false}
      autoComplete="off"
      autoCapitalize="off"
      {...(decimal ? { inputMode: "decimal" as const } : {})}
      onChange={(event) => {
        setDraft(event.target.value);
        typed();
      }}
      onKeyDown={press}
      onBlur={() => void send(true)}
    />
  );
}
