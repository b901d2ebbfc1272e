/** The time asleep is drawn short: times of the axis become places on it, and back. Everything else is in proportion. */

import { computed, signal } from "@preact/signals";
import type { Fold } from "./data";
import { recording, type Range } from "./state";

/** What a time asleep takes of the axis, as a part of the time awake. */
const SHOWN = 0.06;

/** Whether times asleep are drawn at their length. */
export const unfolded = signal(false);

/** The folds that make the axis shorter, by time, each with the length it is drawn at. */
export const folds = computed<(Fold & { shown: number })[]>(() => {
  const it = recording.value;
  if (!it || unfolded.value) return [];
  const real = it.folds.filter((fold) => fold.end_ns > fold.start_ns);
  const awake = it.duration_ns - real.reduce((sum, fold) => sum + fold.end_ns - fold.start_ns, 0);
  return real.map((fold) => ({ ...fold, shown: Math.min(fold.end_ns - fold.start_ns, Math.max(awake, 1e6) * SHOWN) }));
});

/** Where a time lies on the axis. */
export function placeOf(time: number): number {
  let place = time;
  for (const fold of folds.value) {
    if (time <= fold.start_ns) break;
    const length = fold.end_ns - fold.start_ns;
    const inside = Math.min(time, fold.end_ns) - fold.start_ns;
    place -= inside * (1 - fold.shown / length);
  }
  return place;
}

/** The time that lies at a place of the axis. */
export function timeOf(place: number): number {
  let time = place;
  for (const fold of folds.value) {
    if (time <= fold.start_ns) break;
    const length = fold.end_ns - fold.start_ns;
    const inside = Math.min(time - fold.start_ns, fold.shown);
    time += inside * (length / fold.shown - 1);
  }
  return time;
}

/** Where a time lies in a range, from 0 at its start to 1 at its end. */
export function shareOf(time: number, range: Range): number {
  const start = placeOf(range.start);
  return (placeOf(time) - start) / Math.max(1e-9, placeOf(range.end) - start);
}

/** The time at a share of a range. */
export function timeAtShare(share: number, range: Range): number {
  const start = placeOf(range.start);
  return timeOf(start + share * (placeOf(range.end) - start));
}

/** How much longer a range is than it is drawn: a lane needs so many times its pixels to be as fine beside a time asleep. */
export const stretch = (range: Range): number => (range.end - range.start) / Math.max(1e-9, placeOf(range.end) - placeOf(range.start));

/** The pixels at which the times of a range lie: made once for many times. */
export function scaleOf(range: Range, width: number): (time: number) => number {
  const start = placeOf(range.start);
  const perNs = width / Math.max(1e-9, placeOf(range.end) - start);
  return folds.value.length === 0 ? (time) => (time - start) * perNs : (time) => (placeOf(time) - start) * perNs;
}

/** The times of an axis's lines, at equal steps but for what is folded. */
export function gridOf(range: Range, step: number): number[] {
  const times: number[] = [];
  let time = Math.ceil(range.start / step) * step;
  while (time < range.end && times.length < 1_000) {
    const inside = folds.value.find((fold) => time > fold.start_ns && time < fold.end_ns);
    if (inside) time = Math.ceil(inside.end_ns / step) * step;
    else {
      times.push(time);
      time += step;
    }
  }
  return times;
}
