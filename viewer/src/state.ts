/** What the page shows, all of it in its address: a link reproduces the view. The page computes nothing else. */

import { computed, signal } from "@preact/signals";
import type { Page, Phase, Recording, Track, Transition } from "./data";
import { seconds } from "./time";

export interface Range {
  start: number;
  end: number;
}

/** What is selected: a slice of a lane, a phase, or a finding. */
export type Selection =
  | { of: "slice"; track: number; start: number; end: number; label: string; tone: number; count: number }
  | { of: "phase"; name: string }
  | { of: "finding"; index: number };

export type Tab = "what" | "why" | "account" | "use" | "flame" | "findings" | "trust" | "compare";
const EVERY_TAB: [Tab, string][] = [
  ["what", "What"],
  ["why", "Why"],
  ["account", "Account"],
  ["use", "Range"],
  ["flame", "Flame"],
  ["findings", "Findings"],
  ["trust", "Trust"],
  ["compare", "Compare"],
];

export const page = signal<Page>({ version: "", served: false, recordings: [], comparison: null });
/** The tabs of this page: there is one for a comparison when there is one. */
export const tabs = computed(() => EVERY_TAB.filter(([name]) => name !== "compare" || page.value.comparison));
const firstTab = computed<Tab>(() => (page.value.comparison ? "compare" : "what"));
export const recordingIndex = signal(0);
export const transitionIndex = signal(0);
export const view = signal<Range>({ start: 0, end: 1 });
/** The views that led here, the whole first: breadcrumbs. */
export const trail = signal<Range[]>([]);
export const marked = signal<Range | null>(null);
export const selection = signal<Selection | null>(null);
export const tab = signal<Tab>("what");
export const filter = signal("");
export const pinned = signal<ReadonlySet<number>>(new Set());
export const hidden = signal<ReadonlySet<number>>(new Set());
export const collapsed = signal<ReadonlySet<string>>(new Set());
export const theme = signal<"" | "light" | "dark">("");
/** The table of a range: what it is about, what its rows tell apart, which values are left out, drawn, sorted by. */
export const about = signal("processor");
export const grouped = signal<string[]>([]);
export const leftOut = signal<ReadonlySet<string>>(new Set());
export const drawn = signal("");
export const sorted = signal("");
export const flameOfWaits = signal(false);
export const sheet = signal<"" | "keys" | "palette">("");

export const recording = computed<Recording | undefined>(() => page.value.recordings[recordingIndex.value]);
export const transition = computed<Transition | undefined>(() => recording.value?.transitions[transitionIndex.value]);
export const whole = computed<Range>(() => {
  const it = recording.value;
  if (!it) return { start: 0, end: 1 };
  const end = Math.max(it.duration_ns, ...it.transitions.map((each) => each.end_ns), it.start_ns + 1);
  return { start: it.start_ns, end };
});

/** The phase that covers most of a range. */
export function phaseAt(range: Range): Phase | undefined {
  let best: Phase | undefined;
  let most = 0;
  for (const phase of transition.value?.phases ?? []) {
    const covered = Math.min(range.end, phase.end_ns) - Math.max(range.start, phase.start_ns);
    if (covered > most) [best, most] = [phase, covered];
  }
  return best;
}

function clamped(range: Range): Range {
  const all = whole.value;
  const length = Math.min(Math.max(range.end - range.start, 1_000), all.end - all.start);
  const start = Math.min(Math.max(range.start, all.start), all.end - length);
  return { start, end: start + length };
}

/** Moves the view without a breadcrumb: panning and zooming step by step. */
export function moveTo(range: Range): void {
  view.value = clamped(range);
}

/** Goes to a range and leaves a breadcrumb to come back by. */
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
    view.value = whole.value;
    return;
  }
  trail.value = steps.slice(0, -1);
  view.value = last;
}

export function zoom(factor: number, at: number): void {
  const { start, end } = view.value;
  moveTo({ start: at - (at - start) * factor, end: at + (end - at) * factor });
}

export function pan(share: number): void {
  const { start, end } = view.value;
  const by = (end - start) * share;
  moveTo({ start: start + by, end: end + by });
}

export function toggled<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}

/** The extent of what is selected. */
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

/** Shows another recording at the same distance from the start of the same phase: runs are aligned at each phase. */
export function showRun(index: number): void {
  const here = view.value;
  const was = whole.value;
  const phase = phaseAt(here);
  recordingIndex.value = index;
  if (transitionIndex.value >= (recording.value?.transitions.length ?? 0)) transitionIndex.value = 0;
  if (selection.value?.of !== "phase") selection.value = null;
  marked.value = null;
  trail.value = [];
  const same = phase && transition.value?.phases.find((each) => each.name === phase.name);
  const isWhole = here.start === was.start && here.end === was.end;
  if (!same || !phase || isWhole) view.value = whole.value;
  else moveTo({ start: same.start_ns + here.start - phase.start_ns, end: same.start_ns + here.end - phase.start_ns });
}

/** Of each phase, the baseline's median length. */
export const baselineOf = computed<ReadonlyMap<string, number>>(() => {
  const known = new Map<string, number>();
  for (const row of page.value.comparison?.lists.find((list) => list.category === "phase")?.rows ?? []) {
    const median = row.medians[0];
    if (median !== null && median !== undefined) known.set(row.label, median);
  }
  return known;
});

/** Tracks in the order of the page: pinned first, then by group; hidden and filtered ones left out. */
export const shownTracks = computed<Track[]>(() => {
  const all = recording.value?.tracks ?? [];
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (track: Track) => {
    const text = `${track.group} ${track.section} ${track.name} ${track.note}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const kept = all.filter((track) => !hidden.value.has(track.id) && matches(track));
  const first = kept.filter((track) => pinned.value.has(track.id));
  const rest = kept.filter((track) => !pinned.value.has(track.id) && !collapsed.value.has(track.group));
  return [...first, ...rest];
});

/** The view as the fragment of an address. */
export function address(): string {
  const parts = new URLSearchParams();
  const { start, end } = view.value;
  const all = whole.value;
  if (recordingIndex.value > 0) parts.set("recording", String(recordingIndex.value));
  if (transitionIndex.value > 0) parts.set("transition", String(transitionIndex.value));
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
  if (about.value !== "processor") parts.set("about", about.value);
  if (grouped.value.length) parts.set("by", grouped.value.join("~"));
  if (leftOut.value.size) parts.set("without", [...leftOut.value].join("~"));
  if (drawn.value) parts.set("draw", drawn.value);
  if (sorted.value) parts.set("sort", sorted.value);
  if (flameOfWaits.value) parts.set("flame", "waits");
  if (theme.value) parts.set("theme", theme.value);
  return parts.toString();
}

function rangeOf(text: string | null): Range | null {
  const [start, end] = (text ?? "").split("~").map(Number);
  return start !== undefined && end !== undefined && start < end ? { start: start * 1e9, end: end * 1e9 } : null;
}

/** Shows what an address says; what it says wrongly is left as it is. */
export function follow(fragment: string): void {
  const parts = new URLSearchParams(fragment);
  const index = (name: string, length: number) => {
    const value = Number(parts.get(name) ?? 0);
    return Number.isInteger(value) && value >= 0 && value < length ? value : 0;
  };
  const numbers = (name: string) => new Set((parts.get(name) ?? "").split("~").filter(Boolean).map(Number).filter(Number.isInteger));
  recordingIndex.value = index("recording", page.value.recordings.length);
  transitionIndex.value = index("transition", recording.value?.transitions.length ?? 0);
  const range = rangeOf(parts.get("range"));
  view.value = range ? clamped(range) : whole.value;
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
  about.value = names("about")[0] ?? "processor";
  grouped.value = names("by");
  leftOut.value = new Set(names("without"));
  drawn.value = names("draw")[0] ?? "";
  sorted.value = names("sort")[0] ?? "";
  flameOfWaits.value = parts.get("flame") === "waits";
  const wanted = parts.get("theme");
  theme.value = wanted === "light" || wanted === "dark" ? wanted : "";
}
