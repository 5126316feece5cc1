// The days as bars, drawn once the drawing program is there; the table below says the same in numbers.
import { useEffect, useRef, useState } from "react";
import { plain } from "../../ui/plain";
import { dayName } from "./data";
import { costOf, heights, type Stack } from "./stack";

const HEIGHT = 220;

export function Chart({ stack, name }: { stack: Stack; name(part: string): string }) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const [failed, setFailed] = useState(false);
  const look = useLook();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are others when the look is another.
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let gone = false;
    let end = () => {};
    import("./draw").then(
      ({ draw }) => {
        if (gone) return;
        end = draw(element, {
          days: stack.days,
          heights: heights(stack),
          height: HEIGHT,
          colour: (n) => colour(element, `--part-${stack.parts.length - 1 - n}`),
          line: colour(element, "--line"),
          text: colour(element, "--text-soft"),
          onDay: setAt,
        });
      },
      () => setFailed(true),
    );
    return () => {
      gone = true;
      end();
    };
  }, [stack, look]);
  const day = at === null ? undefined : stack.days[at];
  return (
    <figure className="chart">
      <figcaption>
        <strong>{day === undefined ? "All days" : dayName(day)}</strong> {costOf(stack.parts, at)}
      </figcaption>
      {failed ? (
        <p className="quiet">The chart could not be fetched. The numbers are in the table.</p>
      ) : (
        <div ref={box} className="chart-box" aria-hidden="true" />
      )}
      {stack.parts.length > 1 && (
        <ul className="chart-parts">
          {stack.parts.map((part, n) => (
            <li key={part.name}>
              <span className={`swatch part-${n}`} aria-hidden="true" />
              <bdi>{plain(name(part.name))}</bdi> <span className="quiet">{costOf([part], at)}</span>
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

/** A colour of the style sheet as a drawing needs it. */
function colour(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Changes when light becomes dark, or dark light. */
function useLook(): number {
  const [look, setLook] = useState(0);
  useEffect(() => {
    const changed = () => setLook((n) => n + 1);
    const watch = new MutationObserver(changed);
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", changed);
    return () => {
      watch.disconnect();
      media.removeEventListener("change", changed);
    };
  }, []);
  return look;
}
