/**
 * Loads lanes, tables, paths and flame graphs: from the server or the reader in the page if there is one, otherwise from
 * the page data.
 */

import { signal } from "@preact/signals";
import type { Arrow, DrawnLane, Flame, RangeTable, Rows, Steps, Waits, WhatIf } from "./data";
import { page, phaseAt, recording, recordingIndex, transition, transitionIndex, type Range } from "./state";

/** Incremented when lanes or arrows arrive; drawing code subscribes to it. */
export const laneRevision = signal(0);

interface CachedLane {
  range: Range;
  pixels: number;
  lane: DrawnLane;
}

/** Answers a query with the server. */
let answer = async (request: string): Promise<unknown> => {
  try {
    const response = await fetch(request, { credentials: "same-origin" });
    if (!response.ok) throw new Error(`HTTP status ${response.status}`);
    return await response.json();
  } catch (error) {
    throw new Error(
      `No response from onoff (${error instanceof Error ? error.message : String(error)}). Restart it with: onoff view FILE`,
    );
  }
};

/** Answers queries in another way. */
export function answerWith(other: typeof answer): void {
  answer = other;
}

/** Forgets the answers about the last page. */
export function clearCaches(): void {
  laneCache.clear();
  answerCache.clear();
  arrowCache = { key: "", arrows: [] };
}

const laneCache = new Map<string, CachedLane>();
const pendingRequests = new Set<string>();

const key = (index: number, track: number) => `${index}/${track}`;

/** The finest available lane of a track of the recording with this index, with the range that it was drawn for. */
export function cachedLane(track: number, pixels: number, index = recordingIndex.value): CachedLane | undefined {
  const current = page.value.recordings[index];
  if (!current) return undefined;
  if (page.value.served) return laneCache.get(key(index, track));
  const level =
    current.drawn.find((candidate) => candidate.pixels >= pixels) ?? current.drawn[current.drawn.length - 1];
  const lane = level?.lanes[track];
  return lane && level
    ? { range: { start: current.start_ns, end: current.start_ns + current.duration_ns }, pixels: level.pixels, lane }
    : undefined;
}

/** Pixels of the entire recording at which `range` has `pixels`. Selects a resolution of the lanes in the page. */
export function entireRecordingPixels(range: Range, pixels: number, index = recordingIndex.value): number {
  const current = page.value.recordings[index];
  return current ? (pixels * current.duration_ns) / Math.max(1, range.end - range.start) : pixels;
}

/** Requests the lanes of tracks from the server, except those already cached for this range and resolution. */
export async function loadLanes(
  tracks: number[],
  range: Range,
  pixels: number,
  index = recordingIndex.value,
): Promise<void> {
  if (!page.value.served) return;
  const missing = tracks.filter((track) => {
    const cached = laneCache.get(key(index, track));
    return !cached || cached.range.start !== range.start || cached.range.end !== range.end || cached.pixels !== pixels;
  });
  if (missing.length === 0) return;
  const request = `lanes?recording=${index}&tracks=${missing.join(",")}&from=${Math.round(range.start)}&to=${Math.round(range.end)}&pixels=${pixels}`;
  if (pendingRequests.has(request)) return;
  pendingRequests.add(request);
  try {
    const lanes = (await answer(request)) as DrawnLane[];
    missing.forEach((track, position) => {
      const lane = lanes[position];
      if (lane) laneCache.set(key(index, track), { range, pixels, lane });
    });
    serverError.value = "";
    laneRevision.value += 1;
  } catch (error) {
    serverError.value = error instanceof Error ? error.message : String(error);
  } finally {
    pendingRequests.delete(request);
  }
}

/** Error message when the server does not respond; empty otherwise. */
export const serverError = signal("");

const answerCache = new Map<string, unknown>();

/** Queries the server. Answers never change, so they are cached. */
async function query<T>(path: string): Promise<T> {
  const request = path.replace("?", `?recording=${recordingIndex.value}&`);
  const cached = answerCache.get(request);
  if (cached) return cached as T;
  const content = (await answer(request)) as T;
  if (answerCache.size > 64) answerCache.clear();
  answerCache.set(request, content);
  return content;
}

const rangeQuery = (range: Range) =>
  `from=${Math.floor(range.start)}&to=${Math.max(Math.ceil(range.end), Math.floor(range.start) + 1)}`;

/** Fetches the table of a range. Requires a server. Only events are filtered and can have more rows than one answer. */
export function fetchTable(
  range: Range,
  subject: string,
  groups: string[],
  filter = "",
  skip = 0,
): Promise<RangeTable> {
  const events = subject === "events" ? `&where=${encodeURIComponent(filter)}&skip=${skip}` : "";
  return query(
    `table?about=${encodeURIComponent(subject)}&by=${groups.map(encodeURIComponent).join(",")}&${rangeQuery(range)}${events}`,
  );
}

/** Fetches the waits of a thread, or of all threads of a process, in a range. Requires a server. */
export function fetchWaits(subject: { thread: number; process: number }, range: Range): Promise<Waits> {
  return query(
    `waits?${subject.thread ? `thread=${subject.thread}` : `process=${subject.process}`}&${rangeQuery(range)}`,
  );
}

/** Fetches the chain that a wait of a thread depended on. Requires a server. */
export function fetchChain(thread: number, wait: Range): Promise<Rows> {
  return query(`chain?thread=${thread}&${rangeQuery(wait)}&pixels=16384`);
}

/** Fetches CPU usage, disk usage and threads of the process with this id at a time. Requires a server. */
export function fetchProcess(process: number, time: number, range: Range, pixels: number): Promise<Rows> {
  return query(`process?process=${process}&at=${Math.round(time)}&${rangeQuery(range)}&pixels=${pixels}`);
}

/** Fetches the steps of the critical path in a range; without a server, the longest steps of each phase. */
export async function fetchSteps(range: Range): Promise<Steps> {
  if (page.value.served) return query(`steps?${rangeQuery(range)}`);
  const phases = (transition.value?.phases ?? []).filter(
    (phase) => phase.start_ns < range.end && phase.end_ns > range.start,
  );
  const steps = phases
    .flatMap((phase) => phase.steps.steps)
    .filter((step) => step.start_ns < range.end && step.end_ns > range.start);
  return { steps, omitted: phases.reduce((sum, phase) => sum + phase.steps.omitted, 0) };
}

/** Fetches the flame graph of a range; without a server, of the phase that contains most of the range. */
export async function fetchFlame(range: Range, kind: "samples" | "waits"): Promise<Flame> {
  if (page.value.served) return query(`flame?of=${kind}&${rangeQuery(range)}`);
  return (
    phaseAt(range)?.flames[kind === "samples" ? 0 : 1] ?? {
      total_ns: 0,
      nodes: [],
      omitted: 0,
      nothing: "This file contains flame graphs per phase: select a phase.",
    }
  );
}

/** Predicts the transition without some of its findings, in ascending order. */
export async function fetchWhatIf(findings: number[]): Promise<WhatIf> {
  if (page.value.served) return query(`what-if?transition=${transitionIndex.value}&findings=${findings.join(",")}`);
  const known = transition.value?.predictions.find((prediction) => String(prediction.findings) === String(findings));
  if (!known)
    throw new Error(
      "This file contains the predictions without each finding and without all of them. For other combinations, run: onoff view FILE",
    );
  return known;
}

let arrowCache: { key: string; arrows: Arrow[] } = { key: "", arrows: [] };

/** Available ready-thread arrows of a range. */
export function cachedArrows(range: Range, pixels: number): Arrow[] {
  const current = recording.value;
  if (!current) return [];
  if (!page.value.served) {
    const level =
      current.drawn.find((candidate) => candidate.pixels >= entireRecordingPixels(range, pixels)) ??
      current.drawn[current.drawn.length - 1];
    return level?.arrows ?? [];
  }
  return arrowCache.key.startsWith(`${recordingIndex.value}/`) ? arrowCache.arrows : [];
}

/** Requests the arrows of a range from the server. */
export async function loadArrows(range: Range, pixels: number): Promise<void> {
  if (!page.value.served) return;
  const key = `${recordingIndex.value}/${rangeQuery(range)}/${pixels}`;
  if (arrowCache.key === key) return;
  const arrows = await query<Arrow[]>(`arrows?${rangeQuery(range)}&pixels=${pixels}`).catch(() => null);
  if (!arrows) return;
  arrowCache = { key, arrows };
  laneRevision.value += 1;
}
