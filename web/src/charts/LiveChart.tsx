import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "react";
import UPlot from "uplot";

/** Colours of the cards, apart in hue and lightness. */
const COLOURS = ["#1a9a86", "#c2762a", "#5a77c9", "#b4508f", "#7f8f2e", "#c0504a", "#4b9ac0", "#8a67c2"];
const HEIGHT = 170;

type Props = {
  title: string;
  unit: string;
  times: number[];
  lines: { label: string; values: (number | null)[] }[];
  /** Upper end of the scale, where there is a natural one. */
  most?: number;
  dark: boolean;
};

/** Seconds since 1970 as the time of day. */
function clock(time: number): string {
  return new Date(time * 1000).toTimeString().slice(0, 8);
}

/** Values over time, one line a card. Default export: it is fetched on demand. */
export default function LiveChart({ title, unit, times, lines, most, dark }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(null);
  const labels = lines.map((l) => l.label).join("\n");

  useEffect(() => {
    if (!box.current) return;
    const ink = dark ? "#a5b2ae" : "#55635f";
    const grid = { stroke: dark ? "#26302d" : "#e6ebe9", width: 1 };
    const chart = new UPlot(
      {
        width: box.current.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false },
        scales: {
          y: { range: (_, low, high) => [Math.min(0, low ?? 0), most ?? Math.max((high ?? 1) * 1.1, 1)] },
        },
        axes: [
          { stroke: ink, grid, ticks: { show: false }, values: (_, times) => times.map(clock) },
          { stroke: ink, grid, ticks: { show: false }, size: 48 },
        ],
        padding: [null, 36, 0, null],
        series: [
          {},
          ...labels.split("\n").map((label, i) => ({
            label,
            stroke: COLOURS[i % COLOURS.length],
            width: 1.5,
            points: { show: false },
          })),
        ],
      },
      [[], ...labels.split("\n").map(() => [])],
      box.current,
    );
    plot.current = chart;
    const observer = new ResizeObserver(([entry]) => {
      if (entry && entry.contentRect.width > 0)
        chart.setSize({ width: entry.contentRect.width, height: HEIGHT });
    });
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = null;
    };
  }, [labels, most, dark]);

  useEffect(() => {
    if (lines.length > 0) plot.current?.setData([times, ...lines.map((l) => l.values)]);
  });

  return (
    <figure className="chart">
      <figcaption>
        {title} <span className="muted">{unit}</span>
      </figcaption>
      <div ref={box} className="chart-box" aria-hidden="true" />
      <ul className="chart-legend">
        {lines.map((line, i) => (
          <li key={line.label}>
            <svg width="10" height="10" aria-hidden="true">
              <circle cx="5" cy="5" r="4" fill={COLOURS[i % COLOURS.length]} />
            </svg>
            {line.label}:{" "}
            <span className="number">
              {now(line.values)} {unit}
            </span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

function now(values: (number | null)[]): string {
  const value = values.at(-1);
  return value == null ? "–" : String(Math.round(value * 10) / 10);
}
