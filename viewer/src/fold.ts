/** Maps times to axis positions and back. Time asleep is shortened; everything else is proportional. */

import { computed, signal } from "@preact/signals";
import type { Fold } from "./data";
import { recording, type Range } from "./state";

/** Length of a folded sleep on the axis, as a fraction of the time awake. */
const FOLD_FRACTION = 0.06;

/** True if time asleep is drawn at its full length. */
export const showsFullSleep = signal(false);

/** Folds that shorten the axis, in order of time, each with its drawn length in ns. */
export const folds = computed<(Fold & { drawn_ns: number })[]>(() => {
  const current = recording.value;
  if (!current || showsFullSleep.value) return [];
  const sleeps = current.folds.filter((fold) => fold.end_ns > fold.start_ns);
  const awake = current.duration_ns - sleeps.reduce((sum, fold) => sum + fold.end_ns - fold.start_ns, 0);
  return sleeps.map((fold) => ({
    ...fold,
    drawn_ns: Math.min(fold.end_ns - fold.start_ns, Math.max(awake, 1e6) * FOLD_FRACTION),
  }));
});

/** Converts a time to an axis position, both in ns. */
export function toAxis(time: number): number {
  let position = time;
  for (const fold of folds.value) {
    if (time <= fold.start_ns) break;
    const length = fold.end_ns - fold.start_ns;
    const timeInFold = Math.min(time, fold.end_ns) - fold.start_ns;
    position -= timeInFold * (1 - fold.drawn_ns / length);
  }
  return position;
}

/** Converts an axis position to a time, both in ns. */
export function fromAxis(position: number): number {
  let time = position;
  for (const fold of folds.value) {
    if (time <= fold.start_ns) break;
    const length = fold.end_ns - fold.start_ns;
    const positionInFold = Math.min(time - fold.start_ns, fold.drawn_ns);
    time += positionInFold * (length / fold.drawn_ns - 1);
  }
  return time;
}

/** Position of a time within a range: 0 at the start, 1 at the end. */
export function rangeFraction(time: number, range: Range): number {
  const start = toAxis(range.start);
  return (toAxis(time) - start) / Math.max(1e-9, toAxis(range.end) - start);
}

/** Inverse of `rangeFraction`. */
export function timeAtFraction(fraction: number, range: Range): number {
  const start = toAxis(range.start);
  return fromAxis(start + fraction * (toAxis(range.end) - start));
}

/**
 * Ratio of a range's duration to its drawn length. Lanes are requested with this many times the pixels, so that folds
 * do not cost resolution.
 */
export const compressionRatio = (range: Range): number =>
  (range.end - range.start) / Math.max(1e-9, toAxis(range.end) - toAxis(range.start));

/** Returns a function that converts times to pixels, for converting many times in one range. */
export function pixelScale(range: Range, width: number): (time: number) => number {
  const start = toAxis(range.start);
  const perNs = width / Math.max(1e-9, toAxis(range.end) - start);
  return folds.value.length === 0 ? (time) => (time - start) * perNs : (time) => (toAxis(time) - start) * perNs;
}

/** Times of the grid lines, at equal steps; none inside a fold. */
export function gridTimes(range: Range, step: number): number[] {
  const times: number[] = [];
  let time = Math.ceil(range.start / step) * step;
  while (time < range.end && times.length < 1_000) {
    const containingFold = folds.value.find((fold) => time > fold.start_ns && time < fold.end_ns);
    if (containingFold) time = Math.ceil(containingFold.end_ns / step) * step;
    else {
      times.push(time);
      time += step;
    }
  }
  return times;
}
