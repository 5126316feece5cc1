// Draws stacked bars, one stack a day. This and what it draws with are fetched when a chart is first shown.
import uPlot from "uplot";
import { money } from "../../ui/format";

export interface Drawing {
  days: number[];
  /** The heights of the stacks with each part, the highest first. */
  heights: number[][];
  height: number;
  colour(part: number): string;
  line: string;
  text: string;
  /** The day under the pointer, if any. */
  onDay(at: number | null): void;
}

/** Draws into an element, and follows its size. Call what it returns to take it away. */
export function draw(element: HTMLElement, drawing: Drawing): () => void {
  const { days, heights, height, line, text } = drawing;
  const last = days.length - 1;
  const bars = uPlot.paths.bars?.({ size: [0.72, 48], radius: 0 });
  const axis = { stroke: text, font: "12px system-ui, sans-serif", ticks: { show: false } };
  const plot = new uPlot(
    {
      width: Math.max(200, element.clientWidth),
      height,
      legend: { show: false },
      padding: [8, 8, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: [-0.6, last + 0.6] },
        y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
      },
      axes: [
        {
          ...axis,
          size: 32,
          grid: { show: false },
          incrs: [1, 2, 7, 14, 28, 56, 112, 224],
          space: 64,
          values: (_plot, at) => at.map((n) => (Number.isInteger(n) ? shortDay(days[n]) : "")),
        },
        {
          ...axis,
          size: 64,
          grid: { stroke: line, width: 1 },
          values: (_plot, at) => at.map((usd) => money(usd)),
        },
      ],
      series: [
        {},
        ...heights.map((_, part) => {
          const fill = drawing.colour(part);
          return { fill, stroke: fill, width: 0, points: { show: false }, ...(bars ? { paths: bars } : {}) };
        }),
      ],
      hooks: {
        setCursor: [(self) => drawing.onDay(self.cursor.idx ?? null)],
      },
    },
    [days.map((_, at) => at), ...heights],
    element,
  );
  const leave = () => drawing.onDay(null);
  element.addEventListener("pointerleave", leave);
  const watch = new ResizeObserver(() => {
    if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
  });
  watch.observe(element);
  return () => {
    watch.disconnect();
    element.removeEventListener("pointerleave", leave);
    plot.destroy();
  };
}

function shortDay(ms: number | undefined): string {
  if (ms === undefined) return "";
  return new Date(ms).toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" });
}
