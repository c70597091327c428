import { formatNumber } from "./table.ts";

/** One axis of a chart. */
interface Axis {
  readonly label: string;
  /** A logarithmic axis shows positive values only. Default: `"linear"`, from zero. */
  readonly scale?: "linear" | "log";
}

/** One curve: points in the order of x. */
interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Curves over one pair of axes. */
export interface Chart {
  /** Name of its file, without the ending. */
  readonly name: string;
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
}

const WIDTH = 720;
const HEIGHT = 400;
const PLOT = { left: 80, right: 700, top: 48, bottom: 336 };
const COLORS = ["#0b62c4", "#c4480b", "#2e7d32", "#7b1fa2", "#616161"];
const WANTED_TICKS = 5;

interface Scale {
  /** Where a value is on the axis, from 0 to 1. */
  readonly place: (value: number) => number;
  readonly ticks: readonly number[];
}

/** Draws the chart as an SVG document. The same chart gives the same text. */
export function drawChart(chart: Chart): string {
  const points = chart.series.flatMap((series) => series.points);
  if (points.length === 0) throw new RangeError(`The chart ${chart.name} has no points.`);
  const x = scaleOf(
    chart.x,
    points.map(([value]) => value),
  );
  const y = scaleOf(
    chart.y,
    points.map(([, value]) => value),
  );
  const left = (value: number): string => at(PLOT.left + x.place(value) * (PLOT.right - PLOT.left));
  const top = (value: number): string => at(PLOT.bottom - y.place(value) * (PLOT.bottom - PLOT.top));
  const parts = [
    text(PLOT.left, 26, chart.title, 'font-size="16" font-weight="bold"'),
    ...x.ticks.map((tick) => {
      const mark = `<path d="M${left(tick)} ${PLOT.top}V${PLOT.bottom}" stroke="#ddd"/>`;
      return mark + text(left(tick), PLOT.bottom + 18, formatTick(tick), 'text-anchor="middle"');
    }),
    ...y.ticks.map((tick) => {
      const mark = `<path d="M${PLOT.left} ${top(tick)}H${PLOT.right}" stroke="#ddd"/>`;
      return mark + text(PLOT.left - 8, Number(top(tick)) + 4, formatTick(tick), 'text-anchor="end"');
    }),
    text((PLOT.left + PLOT.right) / 2, PLOT.bottom + 36, chart.x.label, 'text-anchor="middle"'),
    text(16, PLOT.top - 8, chart.y.label, ""),
    ...chart.series.map((series, index) => {
      const color = colorOf(index);
      const line = series.points.map(([a, b]) => `${left(a)},${top(b)}`).join(" ");
      const dots = series.points.map(
        ([a, b]) => `<circle cx="${left(a)}" cy="${top(b)}" r="3" fill="${color}"/>`,
      );
      return `<polyline points="${line}" fill="none" stroke="${color}" stroke-width="2"/>${dots.join("")}`;
    }),
    ...legend(chart.series),
  ];
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escapeText(chart.title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    ...parts,
    "</svg>",
  ].join("\n")}\n`;
}

/** The points of the chart as text. */
export function textChart({ title, x, y, series }: Chart): string {
  const lines = series.map(({ name, points }) => {
    const values = points.map(([at, value]) => `${formatTick(at)}: ${formatNumber(value)}`);
    return `  ${name}: ${values.join(", ")}`;
  });
  return [`${title} (${y.label}, by ${x.label})`, ...lines].join("\n");
}

function legend(series: readonly Series[]): string[] {
  const width = (PLOT.right - PLOT.left) / series.length;
  return series.map(({ name }, index) => {
    const left = PLOT.left + index * width;
    const color = `<rect x="${at(left)}" y="${HEIGHT - 17}" width="12" height="4" fill="${colorOf(index)}"/>`;
    return color + text(at(left + 18), HEIGHT - 10, name, "");
  });
}

function scaleOf({ scale = "linear" }: Axis, values: readonly number[]): Scale {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (scale === "linear") {
    const step = niceStep(high / WANTED_TICKS);
    const end = Math.ceil(high / step) * step;
    const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, index) => index * step);
    return { place: (value) => value / end, ticks };
  }
  const [first, last] = [
    Math.floor(Math.log10(low)),
    Math.max(Math.ceil(Math.log10(high)), Math.floor(Math.log10(low)) + 1),
  ];
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
  return { place: (value) => (Math.log10(value) - first) / (last - first), ticks };
}

/** The next of 1, 2 and 5 times a power of ten. */
function niceStep(atLeast: number): number {
  if (atLeast <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return power * ([1, 2, 5].find((factor) => factor * power >= atLeast) ?? 10);
}

function formatTick(value: number): string {
  return value === 0 ? "0" : formatNumber(value).replace(/\.0+$/, "");
}

function colorOf(index: number): string {
  return COLORS[index % COLORS.length] as string;
}

function at(position: number): string {
  return String(Math.round(position * 10) / 10);
}

function text(x: number | string, y: number | string, content: string, attributes: string): string {
  return `<text x="${x}" y="${y}" ${attributes}>${escapeText(content)}</text>`;
}

function escapeText(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
