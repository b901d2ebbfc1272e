/** View state. All of it is part of the address, so that a link reproduces the view. */

import { computed, signal } from "@preact/signals";
import type { Page, Phase, Recording, Track, Transition } from "./data";
import { toAxis, fromAxis, unfolded } from "./fold";
import { duration, seconds } from "./time";

export interface Range {
  start: number;
  end: number;
}

export type Selection =
  | { of: "slice"; track: number; start: number; end: number; label: string; tone: number; count: number }
  | { of: "phase"; name: string }
  | { of: "finding"; index: number };

export interface SavedView {
  name: string;
  address: string;
}

export type Tab = "what" | "why" | "account" | "use" | "flame" | "findings" | "trust" | "compare";
const ALL_TABS: [Tab, string][] = [
  ["what", "Details"],
  ["why", "Critical path"],
  ["account", "Breakdown"],
  ["use", "Range"],
  ["flame", "Flame graph"],
  ["findings", "Findings"],
  ["trust", "Data quality"],
  ["compare", "Comparison"],
];

const NO_LEGEND = { tones: [], groups: [], steps: [], subjects: [] };
export const page = signal<Page>({ version: "", served: false, legend: NO_LEGEND, recordings: [], comparison: null });

export const groupTitle = (name: string): string =>
  page.value.legend.groups.find((group) => group.name === name)?.title ?? name;

export const toneTitle = (tone: number): string => page.value.legend.tones[tone]?.title ?? "unknown";

/** Tone of a kind of step on the critical path. */
export const stepTone = (kind: string): number =>
  page.value.legend.steps.find((step) => step.name === kind)?.tone ?? page.value.legend.tones.length;
/** Tabs of this page; the comparison tab only exists if there is a comparison. */
export const tabs = computed(() => ALL_TABS.filter(([name]) => name !== "compare" || page.value.comparison));
const firstTab = computed<Tab>(() => (page.value.comparison ? "compare" : "what"));
export const recordingIndex = signal(0);
export const transitionIndex = signal(0);
export const view = signal<Range>({ start: 0, end: 1 });
/** Breadcrumbs: previous ranges, oldest first. */
export const trail = signal<Range[]>([]);
export const marked = signal<Range | null>(null);
export const selection = signal<Selection | null>(null);
export const tab = signal<Tab>("what");
export const filter = signal("");
export const pinned = signal<ReadonlySet<number>>(new Set());
export const hidden = signal<ReadonlySet<number>>(new Set());
export const collapsed = signal<ReadonlySet<string>>(new Set());
/** Moves of tracks as [track, track to insert before], in the order they were made. */
export const moves = signal<readonly (readonly [number, number])[]>([]);
/** Groups moved to the top, topmost first. */
export const groupOrder = signal<readonly string[]>([]);
export const saved = signal<readonly SavedView[]>([]);
export const theme = signal<"" | "light" | "dark">("");
/** Options of the range table. */
export const tableSubject = signal("processor");
export const groupBy = signal<string[]>([]);
export const hiddenColumns = signal<ReadonlySet<string>>(new Set());
export const barColumn = signal("");
export const sortColumn = signal("");
export const flameShowsWaits = signal(false);
export const sheet = signal<"" | "keys" | "palette" | "views">("");

export const recording = computed<Recording | undefined>(() => page.value.recordings[recordingIndex.value]);
export const transition = computed<Transition | undefined>(() => recording.value?.transitions[transitionIndex.value]);
export const whole = computed<Range>(() => {
  const current = recording.value;
  return current ? { start: current.start_ns, end: current.start_ns + Math.max(1, current.duration_ns) } : { start: 0, end: 1 };
});
/** Initial view: the transition with a margin on both sides. */
export const home = computed<Range>(() => {
  const current = transition.value;
  if (!current || current.end_ns <= current.start_ns) return whole.value;
  const margin = (current.end_ns - current.start_ns) * 0.015;
  return { start: Math.max(whole.value.start, current.start_ns - margin), end: Math.min(whole.value.end, current.end_ns + margin) };
});

/** The phase that covers most of a range. */
export function phaseAt(range: Range): Phase | undefined {
  let best: Phase | undefined;
  let longest = 0;
  for (const phase of transition.value?.phases ?? []) {
    const covered = Math.min(range.end, phase.end_ns) - Math.max(range.start, phase.start_ns);
    if (covered > longest) [best, longest] = [phase, covered];
  }
  return best;
}

function clamped(range: Range): Range {
  const all = whole.value;
  const length = Math.min(Math.max(range.end - range.start, 1_000), all.end - all.start);
  const start = Math.min(Math.max(range.start, all.start), all.end - length);
  return { start, end: start + length };
}

/** Moves the view without adding a breadcrumb, for panning and zooming. */
export function moveTo(range: Range): void {
  view.value = clamped(range);
}

/** Goes to a range and adds a breadcrumb for the previous one. */
export function goTo(range: Range): void {
  const here = view.value;
  const there = clamped(range);
  if (there.start === here.start && there.end === here.end) return;
  trail.value = [...trail.value.slice(-15), here];
  view.value = there;
}

export function goBack(): void {
  const steps = trail.value;
  const last = steps[steps.length - 1];
  if (!last) {
    view.value = home.value;
    return;
  }
  trail.value = steps.slice(0, -1);
  view.value = last;
}

export function zoom(factor: number, at: number): void {
  const [start, end, middle] = [toAxis(view.value.start), toAxis(view.value.end), toAxis(at)];
  moveTo({ start: fromAxis(middle - (middle - start) * factor), end: fromAxis(middle + (end - middle) * factor) });
}

export function pan(share: number): void {
  const [start, end, all] = [toAxis(view.value.start), toAxis(view.value.end), whole.value];
  const by = Math.min(Math.max((end - start) * share, toAxis(all.start) - start), toAxis(all.end) - end);
  moveTo({ start: fromAxis(start + by), end: fromAxis(end + by) });
}

/** Label of a breadcrumb: the name of the transition or phase, or else the range. */
export function rangeName(range: Range): string {
  const same = (other: Range) => Math.abs(other.start - range.start) < 1_000 && Math.abs(other.end - range.end) < 1_000;
  if (same(whole.value)) return "Everything";
  if (same(home.value)) return transition.value?.title ?? "Everything";
  const phase = transition.value?.phases.find((each) => same({ start: each.start_ns, end: each.end_ns }));
  return phase?.title ?? `${duration(range.start)} to ${duration(range.end)}`;
}

/** Goes back to a breadcrumb and drops it and the later ones. */
export function goToBreadcrumb(index: number): void {
  const there = trail.value[index];
  if (!there) return;
  trail.value = trail.value.slice(0, index);
  view.value = there;
}

/** Moves a track before another one of its group. */
export function moveTrack(track: number, before: number): void {
  if (track === before) return;
  moves.value = [...moves.value.filter(([each]) => each !== track), [track, before]];
}

/** Moves a track one place up or down among the visible tracks of its group. */
export function stepTrack(track: number, up: boolean): void {
  const isPinned = pinned.value.has(track);
  const its = shownTracks.value.find((each) => each.id === track);
  const same = shownTracks.value.filter((each) => pinned.value.has(each.id) === isPinned && (isPinned || each.group === its?.group)).map((each) => each.id);
  const at = same.indexOf(track);
  const other = same[up ? at - 1 : at + 1];
  if (at < 0 || other === undefined) return;
  if (isPinned) {
    const order = same.filter((each) => each !== track);
    order.splice(up ? at - 1 : at + 1, 0, track);
    pinned.value = new Set(order);
  } else if (up) moveTrack(track, other);
  else moveTrack(other, track);
}

/** Moves a group to the top. */
export function groupFirst(group: string): void {
  groupOrder.value = [group, ...groupOrder.value.filter((each) => each !== group)];
}

export function toggled<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}

/** Range of the selection. */
export function selectedRange(): Range | null {
  const chosen = selection.value;
  if (!chosen) return marked.value;
  if (chosen.of === "slice") return { start: chosen.start, end: chosen.end };
  if (chosen.of === "phase") {
    const phase = transition.value?.phases.find((each) => each.name === chosen.name);
    return phase ? { start: phase.start_ns, end: phase.end_ns } : null;
  }
  const finding = transition.value?.findings[chosen.index];
  return finding && finding.start_ns !== null && finding.end_ns !== null
    ? { start: finding.start_ns, end: finding.end_ns }
    : null;
}

/** Shows another recording, aligned at the start of the current phase. */
export function showRun(index: number): void {
  const here = view.value;
  const was = home.value;
  const phase = phaseAt(here);
  recordingIndex.value = index;
  if (transitionIndex.value >= (recording.value?.transitions.length ?? 0)) transitionIndex.value = recording.value?.first ?? 0;
  if (selection.value?.of !== "phase") selection.value = null;
  marked.value = null;
  trail.value = [];
  const same = phase && transition.value?.phases.find((each) => each.name === phase.name);
  const isWhole = here.start === was.start && here.end === was.end;
  if (!same || !phase || isWhole) view.value = home.value;
  else moveTo({ start: same.start_ns + here.start - phase.start_ns, end: same.start_ns + here.end - phase.start_ns });
}

/** Median duration in the baseline by phase, ns. */
export const baselineMedians = computed<ReadonlyMap<string, number>>(() => {
  const known = new Map<string, number>();
  for (const row of page.value.comparison?.lists.find((list) => list.category === "phase")?.rows ?? []) {
    const median = row.medians[0];
    if (median !== null && median !== undefined) known.set(row.label, median);
  }
  return known;
});

/** Visible tracks in display order: pinned first, then by group. */
export const shownTracks = computed<Track[]>(() => {
  const all = recording.value?.tracks ?? [];
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (track: Track) => {
    const text = `${track.group} ${track.section} ${track.name} ${track.note}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const kept = all.filter((track) => !hidden.value.has(track.id) && matches(track));
  for (const [id, before] of moves.value) {
    const from = kept.findIndex((track) => track.id === id);
    const to = kept.findIndex((track) => track.id === before);
    if (from < 0 || to < 0 || kept[from]?.group !== kept[to]?.group) continue;
    const [track] = kept.splice(from, 1);
    if (track) kept.splice(kept.findIndex((each) => each.id === before), 0, track);
  }
  const rank = (track: Track) => {
    const at = groupOrder.value.indexOf(track.group);
    return at < 0 ? groupOrder.value.length : at;
  };
  if (groupOrder.value.length) kept.sort((a, b) => rank(a) - rank(b));
  const pins = [...pinned.value];
  const first = kept.filter((track) => pinned.value.has(track.id)).sort((a, b) => pins.indexOf(a.id) - pins.indexOf(b.id));
  const rest = kept.filter((track) => !pinned.value.has(track.id) && !collapsed.value.has(track.group));
  return [...first, ...rest];
});

/** Encodes the view as the fragment of an address, with or without the saved views. */
export function address(withSaved = true): string {
  const parts = new URLSearchParams();
  const { start, end } = view.value;
  const all = home.value;
  if (recordingIndex.value > 0) parts.set("recording", String(recordingIndex.value));
  if (transitionIndex.value !== (recording.value?.first ?? 0)) parts.set("transition", String(transitionIndex.value));
  if (start !== all.start || end !== all.end) parts.set("range", `${seconds(start)}~${seconds(end)}`);
  if (marked.value) parts.set("mark", `${seconds(marked.value.start)}~${seconds(marked.value.end)}`);
  const chosen = selection.value;
  if (chosen?.of === "phase") parts.set("phase", chosen.name);
  if (chosen?.of === "finding") parts.set("finding", String(chosen.index));
  if (chosen?.of === "slice") {
    parts.set("slice", [chosen.track, chosen.start, chosen.end, chosen.tone, chosen.count, chosen.label].join("~"));
  }
  if (tab.value !== firstTab.value) parts.set("tab", tab.value);
  if (filter.value) parts.set("filter", filter.value);
  if (pinned.value.size) parts.set("pin", [...pinned.value].join("~"));
  if (hidden.value.size) parts.set("hide", [...hidden.value].join("~"));
  if (collapsed.value.size) parts.set("fold", [...collapsed.value].join("~"));
  if (moves.value.length) parts.set("move", moves.value.map((each) => each.join(".")).join("~"));
  if (groupOrder.value.length) parts.set("groups", groupOrder.value.join("~"));
  if (unfolded.value) parts.set("asleep", "whole");
  if (tableSubject.value !== "processor") parts.set("about", tableSubject.value);
  if (groupBy.value.length) parts.set("by", groupBy.value.join("~"));
  if (hiddenColumns.value.size) parts.set("without", [...hiddenColumns.value].join("~"));
  if (barColumn.value) parts.set("draw", barColumn.value);
  if (sortColumn.value) parts.set("sort", sortColumn.value);
  if (flameShowsWaits.value) parts.set("flame", "waits");
  if (theme.value) parts.set("theme", theme.value);
  if (withSaved) for (const each of saved.value) parts.append("saved", `${each.name}~${each.address}`);
  return parts.toString();
}

/** Maximum number of saved views, to keep the address short. */
const MAX_SAVED = 40;

function rangeOf(text: string | null): Range | null {
  const [start, end] = (text ?? "").split("~").map(Number);
  return start !== undefined && end !== undefined && start < end ? { start: start * 1e9, end: end * 1e9 } : null;
}

/** Restores a view from the fragment of an address; invalid values are ignored. */
export function applyAddress(fragment: string): void {
  const parts = new URLSearchParams(fragment);
  const index = (name: string, length: number, otherwise = 0) => {
    const value = Number(parts.get(name) ?? otherwise);
    return Number.isInteger(value) && value >= 0 && value < length ? value : otherwise;
  };
  const numbers = (name: string) => new Set((parts.get(name) ?? "").split("~").filter(Boolean).map(Number).filter(Number.isInteger));
  recordingIndex.value = index("recording", page.value.recordings.length);
  transitionIndex.value = index("transition", recording.value?.transitions.length ?? 0, recording.value?.first ?? 0);
  unfolded.value = parts.get("asleep") === "whole";
  const range = rangeOf(parts.get("range"));
  view.value = range ? clamped(range) : home.value;
  marked.value = rangeOf(parts.get("mark"));
  const phase = parts.get("phase");
  const finding = parts.get("finding");
  const slice = parts.get("slice")?.split("~");
  if (phase) selection.value = { of: "phase", name: phase };
  else if (finding) selection.value = { of: "finding", index: Number(finding) };
  else if (slice && slice.length >= 6) {
    const [track, start, end, tone, count] = slice.slice(0, 5).map(Number) as [number, number, number, number, number];
    selection.value = { of: "slice", track, start, end, tone, count, label: slice.slice(5).join("~") };
  } else selection.value = null;
  tab.value = tabs.value.find(([name]) => name === parts.get("tab"))?.[0] ?? firstTab.value;
  filter.value = parts.get("filter") ?? "";
  pinned.value = numbers("pin");
  hidden.value = numbers("hide");
  collapsed.value = new Set((parts.get("fold") ?? "").split("~").filter(Boolean));
  const names = (name: string) => (parts.get(name) ?? "").split("~").filter((each) => /^[a-z_0-9]+$/.test(each));
  tableSubject.value = names("about")[0] ?? "processor";
  groupBy.value = names("by");
  hiddenColumns.value = new Set(names("without"));
  barColumn.value = names("draw")[0] ?? "";
  sortColumn.value = names("sort")[0] ?? "";
  flameShowsWaits.value = parts.get("flame") === "waits";
  groupOrder.value = names("groups");
  const pairs = (parts.get("move") ?? "").split("~").map((each) => each.split(".").map(Number));
  moves.value = pairs.filter((each): each is [number, number] => each.length === 2 && each.every(Number.isInteger));
  const received = parts.getAll("saved").slice(0, MAX_SAVED).map((text) => ({ name: text.split("~")[0] ?? "", address: text.slice(text.indexOf("~") + 1) }));
  const fresh = received.filter((each) => each.name && !saved.value.some((known) => known.name === each.name));
  if (fresh.length) saved.value = [...saved.value, ...fresh].slice(0, MAX_SAVED);
  const wanted = parts.get("theme");
  theme.value = wanted === "light" || wanted === "dark" ? wanted : "";
}

/** Lists the events of a range in the range table. */
export function showEvents(range: Range): void {
  marked.value = range;
  selection.value = null;
  tableSubject.value = "events";
  groupBy.value = ["each"];
  barColumn.value = "";
  sortColumn.value = "";
  tab.value = "use";
}
