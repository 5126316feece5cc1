// Where a card can go and what each move does, opened by `m` or by the card's button.
import { useMemo } from "react";
import { Menu, MenuItem, Popover, Text } from "react-aria-components";
import { oneLine } from "../../ui/plain";
import type { Card } from "./cards";
import { columnWords } from "./columns";
import { type Move, movesOf } from "./moves";

interface Props {
  card: Card | null;
  /** The element of the card, beside which the menu stands. */
  anchor: Element | null;
  onClose(): void;
  pick(card: Card, move: Move): void;
  open(card: Card): void;
}

export function MoveMenu({ card, anchor, onClose, pick, open }: Props) {
  const trigger = useMemo(() => ({ current: anchor }), [anchor]);
  const moves = card === null ? [] : movesOf(card);
  const label = card === null ? "Moves" : `Moves of ${oneLine(card.title, 60)}`;
  const act = (kind: string) => {
    onClose();
    if (card === null) return;
    const move = moves.find((one) => one.kind === kind);
    if (move) pick(card, move);
    else open(card);
  };
  return (
    <Popover
      className="popover"
      aria-label={label}
      triggerRef={trigger}
      isOpen={card !== null}
      onOpenChange={(now) => {
        if (!now) onClose();
      }}
      placement="bottom end"
    >
      <Menu
        className="menu move-menu"
        aria-label={label}
        autoFocus="first"
        onAction={(kind) => act(String(kind))}
        onClose={onClose}
      >
        {moves.map((move) => (
          <MenuItem key={move.kind} id={move.kind} textValue={move.words} className="item">
            <Text slot="label">{oneLine(move.words, 60)}</Text>
            <Text slot="description">
              {move.to !== null && move.to !== card?.column && `→ ${columnWords(move.to)}. `}
              {oneLine(move.about, 120)}
            </Text>
            {move.hint !== undefined && <kbd aria-hidden="true">{move.hint}</kbd>}
          </MenuItem>
        ))}
        <MenuItem id="open" textValue="Open" className="item">
          <Text slot="label">Open the story</Text>
          <kbd aria-hidden="true">Enter</kbd>
        </MenuItem>
      </Menu>
    </Popover>
  );
}
