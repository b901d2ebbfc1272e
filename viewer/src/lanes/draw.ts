/** Draws lanes that onoff already aggregated to pixels. Nothing here sums or searches a recording. */

import type { Arrow, DrawnLane, DrawnRow } from "../data";
import { pixelScale } from "../fold";
import { hiddenTones, type Range } from "../state";
import { duration } from "../time";
import { visiblePart, type Pair } from "./pair";
import { lowPriorityFill, toneFill } from "./palette";

type DrawnSlices = Extract<DrawnLane, { kind: "slices" }>;

export const ROW = 16;
const STRIP = 22;
const STACK = 36;
/** Opacity of intervals that the legend hides. */
const HIDDEN_ALPHA = 0.08;

/** Where the times of a lane are drawn. */
export interface LaneAxis {
  /** Times of the lane that are visible. */
  range: Range;
  width: number;
  /** Converts a time of the lane to pixels. */
  x: (time: number) => number;
}

export const laneAxis = (range: Range, width: number): LaneAxis => ({ range, width, x: pixelScale(range, width) });

/** The axes of the other recording's lanes: one per phase that is visible, with the pixels that it covers. */
export function pairAxes(
  { pieces }: Pair,
  { range, width, x }: LaneAxis,
): (LaneAxis & { left: number; right: number })[] {
  return pieces.flatMap((piece) => {
    const part = visiblePart(piece, range);
    if (!part) return [];
    const own = { start: part.start - piece.offset, end: part.end - piece.offset };
    return [{ range: own, width, x: (time) => x(time + piece.offset), left: x(part.start), right: x(part.end) }];
  });
}

export interface LaneBounds {
  top: number;
  height: number;
}

/** What is below the pointer, at a position in pixels. */
export interface Hover {
  x: number;
  y: number;
  hit: Hit | null;
  shares: [name: string, percent: number][];
  time: number;
}

export interface Hit {
  start: number;
  end: number;
  label: string;
  tone: number;
  count: number;
  /** 0 for none. */
  thread: number;
  /** 0 for none. */
  process: number;
}

export function laneHeight(kind: DrawnLane["kind"], rows: number): number {
  return kind === "slices" ? Math.max(1, rows) * (ROW + 2) + 6 : kind === "stacked" ? STACK + 6 : STRIP + 6;
}

export interface Colors {
  dark: boolean;
  text: string;
  strip: string;
  low: string | CanvasPattern;
  line: string;
  bad: string;
  /** Time that the candidate of a comparison takes longer, or less long. */
  slower: string;
  faster: string;
  /** Colors of the subjects of stacked lanes; the last one is for all others. */
  series: string[];
}

export function readColors(element: Element, context: CanvasRenderingContext2D): Colors {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(name).trim();
  const dark = value("--dark") === "1";
  return {
    dark,
    text: value("--text"),
    strip: value("--strip"),
    low: lowPriorityFill(context, value("--strip-low"), value("--strip")),
    line: value("--line"),
    bad: value("--bad"),
    slower: dark ? "#ff909038" : "#a81c1c26",
    faster: dark ? "#74d3a038" : "#14663a26",
    series: [0, 1, 2, 3, 4, 5].map((number) => value(`--series${number}`)),
  };
}

function drawUtilization(
  context: CanvasRenderingContext2D,
  lane: Extract<DrawnLane, { kind: "utilization" }>,
  { range, width, x }: LaneAxis,
  bounds: LaneBounds,
  colors: Colors,
): void {
  const steps = lane.busy.length;
  const bottom = bounds.top + STRIP + 2;
  const step = (lane.end_ns - lane.start_ns) / Math.max(1, steps);
  const first = Math.max(0, Math.floor((range.start - lane.start_ns) / step));
  const last = Math.min(steps, Math.ceil((range.end - lane.start_ns) / step));
  const area = (values: number[], fill: string | CanvasPattern) => {
    context.fillStyle = fill;
    context.beginPath();
    for (let index = first; index < last; index += 1) {
      const value = values[index] ?? 0;
      if (value === 0) continue;
      const left = x(lane.start_ns + index * step);
      const right = x(lane.start_ns + (index + 1) * step);
      const height = (value / 255) * STRIP;
      context.rect(left, bottom - height, Math.max(right - left, 0.6), height);
    }
    context.fill();
  };
  context.fillStyle = colors.line;
  context.fillRect(0, bottom, width, 1);
  area(lane.busy, colors.strip);
  area(lane.low_priority, colors.low);
}

/** Draws the shares of subjects on top of each other, the largest at the bottom. */
function drawStacked(
  context: CanvasRenderingContext2D,
  lane: Extract<DrawnLane, { kind: "stacked" }>,
  { range, width, x }: LaneAxis,
  bounds: LaneBounds,
  colors: Colors,
): void {
  const bottom = bounds.top + STACK + 2;
  context.fillStyle = colors.line;
  context.fillRect(0, bounds.top + 2, width, 1);
  context.fillRect(0, bottom, width, 1);
  const steps = lane.series[0]?.busy.length ?? 0;
  const step = (lane.end_ns - lane.start_ns) / Math.max(1, steps);
  const first = Math.max(0, Math.floor((range.start - lane.start_ns) / step));
  const last = Math.min(steps, Math.ceil((range.end - lane.start_ns) / step));
  const base = new Float64Array(Math.max(0, last - first));
  lane.series.forEach((series, number) => {
    context.fillStyle = seriesColor(colors, number, series.name);
    context.beginPath();
    for (let index = first; index < last; index += 1) {
      const height = ((series.busy[index] ?? 0) / 255) * STACK;
      if (height === 0) continue;
      const left = x(lane.start_ns + index * step);
      const from = base[index - first] ?? 0;
      context.rect(left, bottom - from - height, Math.max(x(lane.start_ns + (index + 1) * step) - left, 0.6), height);
      base[index - first] = from + height;
    }
    context.fill();
  });
}

/** Color of a subject: the last color for all others together. */
export function seriesColor(colors: Pick<Colors, "series">, number: number, name: string): string {
  const others = colors.series.length - 1;
  return colors.series[/^\d+ other/.test(name) ? others : Math.min(number, others)] ?? "";
}

/** What a strip shows at a time: its share in percent, or the share of each subject. */
export function sharesAt(lane: DrawnLane, time: number): [name: string, percent: number][] {
  if (lane.kind === "slices") return [];
  const series =
    lane.kind === "stacked"
      ? lane.series
      : [
          { name: "busy", busy: lane.busy },
          { name: "of it at low priority", busy: lane.low_priority },
        ];
  const steps = series[0]?.busy.length ?? 0;
  const index = Math.floor(((time - lane.start_ns) / Math.max(1, lane.end_ns - lane.start_ns)) * steps);
  return series
    .map(({ name, busy }): [string, number] => [name, ((busy[index] ?? 0) * 100) / 255])
    .filter(([, percent], number) => number === 0 || percent >= 0.5);
}

function drawSlices(
  context: CanvasRenderingContext2D,
  lane: Extract<DrawnLane, { kind: "slices" }>,
  { range, width, x }: LaneAxis,
  bounds: LaneBounds,
  colors: Colors,
): void {
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  lane.rows.forEach((row, rowIndex) => {
    const top = bounds.top + 3 + rowIndex * (ROW + 2);
    for (let index = 0; index < row.start_ns.length; index += 1) {
      const start = row.start_ns[index] ?? 0;
      const end = row.end_ns[index] ?? start;
      if (end < range.start || start > range.end) continue;
      const left = Math.max(-1, x(start));
      const right = Math.min(width + 1, x(end));
      const sliceWidth = Math.max(right - left, 1.5);
      const tone = row.tone[index] ?? 0;
      const isHidden = hiddenTones.value.has(tone);
      context.globalAlpha = isHidden ? HIDDEN_ALPHA : 1;
      context.fillStyle = toneFill(context, tone, colors.dark);
      context.fillRect(left, top, sliceWidth, ROW);
      context.globalAlpha = 1;
      if (sliceWidth > 34 && !isHidden) {
        const count = row.count[index] ?? 1;
        const name = lane.labels[row.label[index] ?? 0] ?? "";
        const label = count > 1 ? `${count} × ${name}` : name;
        context.save();
        context.beginPath();
        context.rect(left + 2, top, sliceWidth - 4, ROW);
        context.clip();
        const length = Math.min(context.measureText(label).width, sliceWidth - 6);
        context.fillStyle = colors.dark ? "#10151cc0" : "#ffffffc8";
        context.fillRect(left + 3, top + 2, length + 4, ROW - 4);
        context.fillStyle = colors.text;
        context.fillText(label, left + 5, top + ROW / 2 + 0.5);
        context.restore();
      }
    }
  });
}

export function drawLane(
  context: CanvasRenderingContext2D,
  lane: DrawnLane,
  axis: LaneAxis,
  bounds: LaneBounds,
  colors: Colors,
): void {
  if (lane.kind === "utilization") drawUtilization(context, lane, axis, bounds, colors);
  else if (lane.kind === "stacked") drawStacked(context, lane, axis, bounds, colors);
  else drawSlices(context, lane, axis, bounds, colors);
}

/** Draws a lane of the other recording phase by phase, and shades where its phase was already over. */
export function drawPaired(
  context: CanvasRenderingContext2D,
  lane: DrawnLane | undefined,
  pair: Pair,
  axis: LaneAxis,
  bounds: LaneBounds,
  colors: Colors,
): void {
  context.fillStyle = colors.dark ? "#ffffff0a" : "#0000000a";
  context.fillRect(0, bounds.top, axis.width, bounds.height);
  shadeDifferences(context, pair, axis, bounds, colors);
  if (!lane) return;
  for (const part of pairAxes(pair, axis)) {
    context.save();
    context.beginPath();
    context.rect(part.left, bounds.top, part.right - part.left, bounds.height);
    context.clip();
    drawLane(context, lane, part, bounds, colors);
    context.restore();
  }
}

/** Shades the time by which the shown phases are longer than the phases of the other recording. */
function shadeDifferences(
  context: CanvasRenderingContext2D,
  { pieces, isBaseline }: Pair,
  { x }: LaneAxis,
  bounds: LaneBounds,
  colors: Colors,
): void {
  context.fillStyle = isBaseline ? colors.slower : colors.faster;
  for (const piece of pieces) {
    if (piece.phaseEnd > piece.end)
      context.fillRect(x(piece.end), bounds.top, x(piece.phaseEnd) - x(piece.end), bounds.height);
  }
}

/** Draws the phases of the other recording, each with its duration and the difference. */
export function drawPairedPhases(
  context: CanvasRenderingContext2D,
  pair: Pair,
  axis: LaneAxis,
  bounds: LaneBounds,
  colors: Colors,
): void {
  shadeDifferences(context, pair, axis, bounds, colors);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const piece of pair.pieces) {
    const [left, right, end] = [axis.x(piece.start), axis.x(piece.end), axis.x(piece.phaseEnd)];
    if (end < 0 || left > axis.width) continue;
    context.fillStyle = colors.line;
    context.fillRect(left, bounds.top + 2, Math.max(1, right - left - 1), bounds.height - 4);
    // The other phase goes on after the shown one has ended.
    if (piece.continues) {
      context.fillStyle = pair.isBaseline ? colors.faster : colors.slower;
      context.fillRect(Math.max(left, right - 5), bounds.top + 2, 4, bounds.height - 4);
    }
    const room = Math.min(end, axis.width) - Math.max(left, 0) - 8;
    const change = duration(Math.abs(piece.difference));
    const text = `${piece.title} ${duration(piece.duration)}${
      piece.difference === 0 ? "" : `, ${change} ${piece.difference > 0 ? "shorter" : "longer"}`
    }`;
    const shown = [text, text.slice(piece.title.length + 1), duration(piece.duration)].find(
      (words) => context.measureText(words).width <= room,
    );
    if (!shown) continue;
    context.fillStyle = colors.text;
    context.fillText(shown, Math.max(left, 0) + 4, bounds.top + bounds.height / 2 + 0.5);
  }
}

function hitOf(lane: DrawnSlices, row: DrawnRow, index: number): Hit {
  const start = row.start_ns[index] ?? 0;
  return {
    start,
    end: row.end_ns[index] ?? start,
    label: lane.labels[row.label[index] ?? 0] ?? "",
    tone: row.tone[index] ?? 0,
    count: row.count[index] ?? 1,
    thread: row.thread[index] ?? 0,
    process: row.process[index] ?? 0,
  };
}

/** Draws arrows between tracks: from the middle of the readying thread's track to the readied thread's track. */
export function drawArrows(
  context: CanvasRenderingContext2D,
  arrows: Arrow[],
  centers: ReadonlyMap<number, number>,
  range: Range,
  size: { width: number; height: number },
  color: string,
): void {
  if (arrows.length === 0) return;
  const position = pixelScale(range, size.width);
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = 1;
  for (const arrow of arrows) {
    const startY = centers.get(arrow.from);
    const endY = centers.get(arrow.to);
    const x = Math.round(position(arrow.time_ns)) + 0.5;
    if (startY === undefined || endY === undefined || x < 0 || x > size.width) continue;
    if (Math.max(startY, endY) < 0 || Math.min(startY, endY) > size.height) continue;
    const direction = endY > startY ? 1 : -1;
    const tip = endY - direction * (ROW / 2 - 2);
    context.globalAlpha = arrow.count > 1 ? 0.9 : 0.6;
    context.beginPath();
    context.moveTo(x, startY);
    context.lineTo(x, tip);
    context.stroke();
    context.beginPath();
    context.moveTo(x, tip + direction * 2);
    context.lineTo(x - 3, tip - direction * 4);
    context.lineTo(x + 3, tip - direction * 4);
    context.fill();
  }
  context.globalAlpha = 1;
}

/** Finds the slice at a point of a lane, within 4 pixels: many slices are thinner than the pointer. */
export function sliceAtPoint(lane: DrawnLane, { x }: LaneAxis, bounds: LaneBounds, px: number, py: number): Hit | null {
  if (lane.kind !== "slices") return null;
  const row = lane.rows[Math.floor((py - bounds.top - 3) / (ROW + 2))];
  if (!row) return null;
  let best: Hit | null = null;
  let nearest = 4;
  for (let index = 0; index < row.start_ns.length; index += 1) {
    const start = row.start_ns[index] ?? 0;
    const end = row.end_ns[index] ?? start;
    const left = x(start);
    const right = Math.max(x(end), left + 1.5);
    const distance = px < left ? left - px : px > right ? px - right : 0;
    if (distance < nearest) {
      nearest = distance;
      best = hitOf(lane, row, index);
      if (distance === 0) break;
    }
  }
  return best;
}

/** Finds the next or previous slice on a lane, for keyboard navigation. */
export function neighbor(lane: DrawnLane, time: number, forward: boolean): Hit | null {
  if (lane.kind !== "slices") return null;
  let best: Hit | null = null;
  for (const row of lane.rows) {
    for (let index = 0; index < row.start_ns.length; index += 1) {
      const start = row.start_ns[index] ?? 0;
      if (forward ? start <= time : start >= time) continue;
      if (best && (forward ? start >= best.start : start <= best.start)) continue;
      best = hitOf(lane, row, index);
    }
  }
  return best;
}

/** Finds the slice nearest to a time among those that a range shows. */
export function nearest(lane: DrawnLane, time: number, range: Range): Hit | null {
  if (lane.kind !== "slices") return null;
  let best: Hit | null = null;
  let least = Infinity;
  for (const row of lane.rows) {
    for (let index = 0; index < row.start_ns.length; index += 1) {
      const hit = hitOf(lane, row, index);
      const distance = time < hit.start ? hit.start - time : time > hit.end ? time - hit.end : 0;
      if (distance < least && hit.end >= range.start && hit.start <= range.end) [best, least] = [hit, distance];
    }
  }
  return best;
}
