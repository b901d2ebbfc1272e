/** Where drawn lanes come from: the server that serves the page, or the page itself. Either has counted the pixels. */

import { signal } from "@preact/signals";
import type { Arrow, DrawnLane, Flame, RangeTable, Steps } from "./data";
import { page, phaseAt, recording, recordingIndex, transition, type Range } from "./state";

/** Grows whenever lanes arrived: what draws them looks at it. */
export const arrivals = signal(0);

interface Held {
  range: Range;
  pixels: number;
  lane: DrawnLane;
}

const held = new Map<string, Held>();
const asked = new Set<string>();

const key = (track: number) => `${recordingIndex.value}/${track}`;

/** The best that is at hand for a track, and the range it was drawn for. */
export function laneAtHand(track: number, pixels: number): Held | undefined {
  const it = recording.value;
  if (!it) return undefined;
  if (page.value.served) return held.get(key(track));
  const level = it.drawn.find((each) => each.pixels >= pixels) ?? it.drawn[it.drawn.length - 1];
  const lane = level?.lanes[track];
  return lane && level ? { range: { start: it.start_ns, end: it.start_ns + it.duration_ns }, pixels: level.pixels, lane } : undefined;
}

/** The pixels of a whole recording at which a range of it has `pixels`: which of the page's own resolutions to take. */
export function pixelsOfWhole(range: Range, pixels: number): number {
  const it = recording.value;
  return it ? (pixels * it.duration_ns) / Math.max(1, range.end - range.start) : pixels;
}

/** Asks the server for tracks at a range, unless what is held serves already. */
export async function want(tracks: number[], range: Range, pixels: number): Promise<void> {
  if (!page.value.served) return;
  const missing = tracks.filter((track) => {
    const have = held.get(key(track));
    return !have || have.range.start !== range.start || have.range.end !== range.end || have.pixels !== pixels;
  });
  if (missing.length === 0) return;
  const request = `lanes?recording=${recordingIndex.value}&tracks=${missing.join(",")}&from=${Math.round(range.start)}&to=${Math.round(range.end)}&pixels=${pixels}`;
  if (asked.has(request)) return;
  asked.add(request);
  try {
    const answer = await fetch(request, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const lanes = (await answer.json()) as DrawnLane[];
    missing.forEach((track, at) => {
      const lane = lanes[at];
      if (lane) held.set(key(track), { range, pixels, lane });
    });
    lost.value = "";
    arrivals.value += 1;
  } catch (error) {
    lost.value = `onoff does not answer (${error instanceof Error ? error.message : String(error)}); start it again with: onoff view`;
  } finally {
    asked.delete(request);
  }
}

/** Why the page cannot go on, when the server is gone. */
export const lost = signal("");

const answers = new Map<string, unknown>();

/** What the server says, which stays the same: asked once. */
async function ask<T>(path: string): Promise<T> {
  const request = path.replace("?", `?recording=${recordingIndex.value}&`);
  const known = answers.get(request);
  if (known) return known as T;
  const answer = await fetch(request, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const content = (await answer.json()) as T;
  if (answers.size > 64) answers.clear();
  answers.set(request, content);
  return content;
}

const between = (range: Range) => `from=${Math.floor(range.start)}&to=${Math.max(Math.ceil(range.end), Math.floor(range.start) + 1)}`;

/** A table of a range; only a server makes it. */
export function tableOf(range: Range, about: string, by: string[]): Promise<RangeTable> {
  return ask(`table?about=${encodeURIComponent(about)}&by=${by.map(encodeURIComponent).join(",")}&${between(range)}`);
}

/** The steps of the critical path in a range; without a server the longest of each phase. */
export async function stepsOf(range: Range): Promise<Steps> {
  if (page.value.served) return ask(`steps?${between(range)}`);
  const all = (transition.value?.phases ?? []).filter((phase) => phase.start_ns < range.end && phase.end_ns > range.start);
  const steps = all.flatMap((phase) => phase.steps.steps).filter((step) => step.start_ns < range.end && step.end_ns > range.start);
  return { steps, left_out: all.reduce((sum, phase) => sum + phase.steps.left_out, 0) };
}

/** The flame graph of a range; without a server that of the phase it lies in. */
export async function flameOf(range: Range, of: "samples" | "waits"): Promise<Flame> {
  if (page.value.served) return ask(`flame?of=${of}&${between(range)}`);
  return phaseAt(range)?.flames[of === "samples" ? 0 : 1] ?? { total_ns: 0, nodes: [], left_out: 0, nothing: "This file has flame graphs of phases; select one." };
}

let heldArrows: { key: string; arrows: Arrow[] } = { key: "", arrows: [] };

/** Who made whom ready, as far as it is at hand for a range. */
export function arrowsAtHand(range: Range, pixels: number): Arrow[] {
  const it = recording.value;
  if (!it) return [];
  if (!page.value.served) {
    const level = it.drawn.find((each) => each.pixels >= pixelsOfWhole(range, pixels)) ?? it.drawn[it.drawn.length - 1];
    return level?.arrows ?? [];
  }
  return heldArrows.key.startsWith(`${recordingIndex.value}/`) ? heldArrows.arrows : [];
}

/** Asks the server for the arrows of a range. */
export async function wantArrows(range: Range, pixels: number): Promise<void> {
  if (!page.value.served) return;
  const key = `${recordingIndex.value}/${between(range)}/${pixels}`;
  if (heldArrows.key === key) return;
  const arrows = await ask<Arrow[]>(`arrows?${between(range)}&pixels=${pixels}`).catch(() => null);
  if (!arrows) return;
  heldArrows = { key, arrows };
  arrivals.value += 1;
}
