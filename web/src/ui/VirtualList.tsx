// A long list of which only what is seen is in the page.
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type Ref, useImperativeHandle, useRef } from "react";

export type ListHandle = Virtualizer<HTMLDivElement, Element>;

interface Props<T> {
  items: readonly T[];
  id(item: T): string | number;
  row(item: T, at: number): ReactNode;
  /** The height of a row before it was measured. */
  estimate: number;
  label: string;
  className?: string;
  handle?: Ref<ListHandle>;
  onScroll?(element: HTMLDivElement): void;
}

export function VirtualList<T>({ items, id, row, estimate, label, className, handle, onScroll }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => estimate,
    getItemKey: (at) => {
      const item = items[at];
      return item === undefined ? at : id(item);
    },
    overscan: 8,
  });
  useImperativeHandle(handle, () => list, [list]);
  return (
    // A box that scrolls must be reachable by keyboard.
    <div
      ref={box}
      className={className === undefined ? "virtual" : `virtual ${className}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
      tabIndex={0}
      role="list"
      aria-label={label}
      onScroll={onScroll && ((event) => onScroll(event.currentTarget))}
    >
      <div className="virtual-inside" style={{ height: list.getTotalSize() }} role="presentation">
        {list.getVirtualItems().map((place) => {
          const item = items[place.index];
          return item === undefined ? null : (
            <div
              key={place.key}
              ref={list.measureElement}
              data-index={place.index}
              role="listitem"
              aria-setsize={items.length}
              aria-posinset={place.index + 1}
              className="virtual-row"
              style={{ transform: `translateY(${place.start}px)` }}
            >
              {row(item, place.index)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
