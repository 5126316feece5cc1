// A button that opens a list of actions, each with its words and its key.
import type { ReactNode } from "react";
import { Menu as AriaMenu, MenuItem, MenuTrigger, Popover, Text } from "react-aria-components";
import { Button } from "./Button";

export interface MenuAction {
  id: string;
  words: string;
  about?: string;
  hint?: string;
  disabled?: boolean;
  danger?: boolean;
  run(): void;
}

interface Props {
  label: string;
  face: ReactNode;
  actions: MenuAction[];
  kind?: "normal" | "quiet" | "icon";
}

export function Menu({ label, face, actions, kind = "icon" }: Props) {
  return (
    <MenuTrigger>
      <Button kind={kind} label={label}>
        {face}
      </Button>
      <Popover className="popover">
        <AriaMenu
          className="menu"
          aria-label={label}
          onAction={(id) => actions.find((action) => action.id === id)?.run()}
          disabledKeys={actions.filter((action) => action.disabled).map((action) => action.id)}
        >
          {actions.map((action) => (
            <MenuItem
              key={action.id}
              id={action.id}
              textValue={action.words}
              className={action.danger ? "item danger" : "item"}
            >
              <Text slot="label">{action.words}</Text>
              {action.about !== undefined && <Text slot="description">{action.about}</Text>}
              {action.hint !== undefined && <kbd aria-hidden="true">{action.hint}</kbd>}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}
