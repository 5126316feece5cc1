// One of a few ways, side by side; the chosen one is pressed.
interface Props<T extends string> {
  label: string;
  value: T;
  options: readonly { id: T; words: string; about?: string }[];
  onChange(next: T): void;
}

export function Choice<T extends string>({ label, value, options, onChange }: Props<T>) {
  return (
    <fieldset className="choice">
      <legend className="unseen">{label}</legend>
      {options.map((option) => (
        <button
          key={option.id}
          type="button"
          aria-pressed={option.id === value}
          title={option.about}
          onClick={() => onChange(option.id)}
        >
          {option.words}
        </button>
      ))}
    </fieldset>
  );
}
