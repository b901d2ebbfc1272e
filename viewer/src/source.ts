/** Where drawn lanes come from: the server that serves the page, or the page itself. Either has counted the pixels. */

import { signal } from "@preact/signals";
import type { DrawnLane, Usage } from "./data";
import { page, recording, recordingIndex, type Range } from "./state";

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

const usages = new Map<string, Usage>();

/** Who used processors and disks in a range: asked of the server; without one only phases are known. */
export async function usageOf(range: Range): Promise<Usage | null> {
  if (!page.value.served) return null;
  const request = `usage?recording=${recordingIndex.value}&from=${Math.round(range.start)}&to=${Math.round(range.end)}`;
  const known = usages.get(request);
  if (known) return known;
  const answer = await fetch(request, { credentials: "same-origin" });
  if (!answer.ok) return null;
  const usage = (await answer.json()) as Usage;
  if (usages.size > 64) usages.clear();
  usages.set(request, usage);
  return usage;
}
