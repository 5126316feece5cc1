// A button that says what it does, with its key beside it.
import type { ReactNode } from "react";
import { Button as AriaButton, type ButtonProps } from "react-aria-components";

interface Props extends Omit<ButtonProps, "children" | "className"> {
  children: ReactNode;
  kind?: "normal" | "primary" | "danger" | "quiet" | "icon";
  /** The key that does the same. */
  hint?: string;
  /** What it does, where its face is only a sign. */
  label?: string;
}

export function Button({ children, kind = "normal", hint, label, ...rest }: Props) {
  return (
    <AriaButton
      {...rest}
      className={`button ${kind}`}
      {...(label === undefined ? {} : { "aria-label": label })}
    >
      {children}
      {hint !== undefined && <kbd aria-hidden="true">{hint}</kbd>}
    </AriaButton>
  );
}
