// A list of short words that somebody adds to and takes from, with what is known already to complete them.
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { Button } from "../Button";

export interface Chip {
  id: string;
  face: ReactNode;
}

interface Props {
  /** What one of them is called, such as `label`. */
  what: string;
  /** What all of them are called. */
  label: string;
  chips: readonly Chip[];
  /** What can be completed to, with words about it. */
  known: readonly { value: string; about?: string }[];
  /** Gives whether it was taken; what was not stays typed. */
  add(typed: string): Promise<boolean> | boolean;
  remove(id: string): void;
  hint?: string;
  fixed?: boolean;
  busy?: boolean;
  /** Whether what is typed is added when somebody goes on to another field. */
  taken?(typed: string): boolean;
}

/** More than these are not offered at once. */
const MAX_OFFERED = 50;

export function ChipField(props: Props) {
  const { what, label, chips, known, add, remove, hint, fixed = false, busy = false, taken } = props;
  const [typed, setTyped] = useState("");
  const list = useId();
  const input = useRef<HTMLInputElement>(null);
  const take = (id: string) => {
    // The button that had the focus goes with its chip.
    input.current?.focus();
    remove(id);
  };
  const send = async () => {
    if (typed.trim() === "" || busy) return;
    // What is typed on while this is on its way is another one.
    if (await add(typed)) setTyped((now) => (now === typed ? "" : now));
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape" && typed !== "") setTyped("");
    else if ((event.key === "Enter" || event.key === ",") && typed.trim() !== "") void send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const words = typed.trim().toLowerCase();
  const offered = known
    .filter(({ value }) => !chips.some(({ id }) => id === value))
    .filter(({ value, about }) => `${value} ${about ?? ""}`.toLowerCase().includes(words))
    .slice(0, MAX_OFFERED);
  return (
    <div className="chip-field">
      {chips.length > 0 && (
        <ul className="chip-list" aria-label={label}>
          {chips.map(({ id, face }) => (
            <li key={id} className="story-chip">
              {face}
              {!fixed && (
                <Button kind="icon" label={`Remove ${what} ${id}`} isDisabled={busy} onPress={() => take(id)}>
                  ✕
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {fixed && chips.length === 0 && <span className="quiet">None</span>}
      {!fixed && (
        <>
          <input
            ref={input}
            aria-label={`Add ${what}`}
            placeholder={hint ?? `Add ${what}`}
            value={typed}
            list={list}
            readOnly={busy}
            spellCheck={false}
            autoComplete="off"
            autoCapitalize="off"
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={press}
            onBlur={() => taken?.(typed) === true && void send()}
          />
          <datalist id={list}>
            {offered.map(({ value, about }) => (
              <option key={value} value={value}>
                {about}
              </option>
            ))}
          </datalist>
        </>
      )}
    </div>
  );
}
