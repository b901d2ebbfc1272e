/** Draws lanes that onoff already aggregated to pixels. Nothing here sums or searches a recording. */

import type { DrawnLane } from "../data";
import { pixelScale } from "../fold";
import type { Range } from "../state";
import { toneFill } from "./palette";

export const ROW = 16;
const STRIP = 26;

export interface LaneBounds {
  top: number;
  height: number;
}

export interface Hit {
  start: number;
  end: number;
  label: string;
  tone: number;
  count: number;
}

export function laneHeight(kind: "slices" | "utilization", rows: number): number {
  return kind === "utilization" ? STRIP + 6 : Math.max(1, rows) * (ROW + 2) + 6;
}

export interface Colors {
  dark: boolean;
  text: string;
  strip: string;
  low: string | CanvasPattern;
  line: string;
  bad: string;
}

function drawUtilization(
  context: CanvasRenderingContext2D,
  lane: Extract<DrawnLane, { kind: "utilization" }>,
  range: Range,
  width: number,
  bounds: LaneBounds,
  colors: Colors,
): void {
  const x = pixelScale(range, width);
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

function drawSlices(
  context: CanvasRenderingContext2D,
  lane: Extract<DrawnLane, { kind: "slices" }>,
  range: Range,
  width: number,
  bounds: LaneBounds,
  colors: Colors,
): void {
  const x = pixelScale(range, width);
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
      context.fillStyle = toneFill(context, tone, colors.dark);
      context.fillRect(left, top, sliceWidth, ROW);
      if (sliceWidth > 34) {
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
  range: Range,
  width: number,
  bounds: LaneBounds,
  colors: Colors,
): void {
  if (lane.kind === "utilization") drawUtilization(context, lane, range, width, bounds, colors);
  else drawSlices(context, lane, range, width, bounds, colors);
}

/** Finds the slice at a point of a lane, within 4 pixels: many slices are thinner than the pointer. */
export function sliceAtPoint(lane: DrawnLane, range: Range, width: number, bounds: LaneBounds, px: number, py: number): Hit | null {
  if (lane.kind === "utilization") return null;
  const row = lane.rows[Math.floor((py - bounds.top - 3) / (ROW + 2))];
  if (!row) return null;
  const x = pixelScale(range, width);
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
      best = { start, end, label: lane.labels[row.label[index] ?? 0] ?? "", tone: row.tone[index] ?? 0, count: row.count[index] ?? 1 };
      if (distance === 0) break;
    }
  }
  return best;
}

/** Finds the next or previous slice on a lane, for keyboard navigation. */
export function neighbor(lane: DrawnLane, time: number, forward: boolean): Hit | null {
  if (lane.kind === "utilization") return null;
  let best: Hit | null = null;
  for (const row of lane.rows) {
    for (let index = 0; index < row.start_ns.length; index += 1) {
      const start = row.start_ns[index] ?? 0;
      if (forward ? start <= time : start >= time) continue;
      if (best && (forward ? start >= best.start : start <= best.start)) continue;
      best = { start, end: row.end_ns[index] ?? start, label: lane.labels[row.label[index] ?? 0] ?? "", tone: row.tone[index] ?? 0, count: row.count[index] ?? 1 };
    }
  }
  return best;
}
