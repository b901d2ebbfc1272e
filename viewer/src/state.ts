/** View state. All of it is part of the address, so that a link reproduces the view. */

import { computed, signal } from "@preact/signals";
import type { Page, Phase, Recording, Track, Transition } from "./data";
import { toAxis, fromAxis, showsFullSleep } from "./fold";
import { duration, seconds } from "./time";

export interface Range {
  start: number;
  end: number;
}

export type Selection =
  | {
      kind: "slice";
      track: number;
      start: number;
      end: number;
      label: string;
      tone: number;
      count: number;
      thread: number;
      process: number;
    }
  | { kind: "thread"; thread: number; label: string; start: number; end: number }
  | { kind: "phase"; name: string }
  | { kind: "finding"; index: number };

/** A wait whose chain is drawn above the lanes: from its start until the thread ran again. */
export interface WaitChain extends Range {
  thread: number;
}

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
export const page = signal<Page>({
  version: "",
  served: false,
  legend: NO_LEGEND,
  recordings: [],
  reading: "",
  revision: 0,
  not_shown: [],
  comparison: null,
});

export const groupTitle = (name: string): string =>
  page.value.legend.groups.find((group) => group.name === name)?.title ?? name;

export const toneTitle = (tone: number): string => page.value.legend.tones[tone]?.title ?? "unknown";

/** Tone of a kind of step on the critical path. */
export const stepTone = (kind: string): number =>
  page.value.legend.steps.find((step) => step.name === kind)?.tone ?? page.value.legend.tones.length;
/** Tabs of this page. The comparison tab only exists if there is a comparison. */
export const tabs = computed(() => ALL_TABS.filter(([name]) => name !== "compare" || page.value.comparison));
const firstTab = computed<Tab>(() => (page.value.comparison ? "compare" : "what"));
export const recordingIndex = signal(0);
export const transitionIndex = signal(0);
export const view = signal<Range>({ start: 0, end: 1 });
/** Breadcrumbs: previous ranges, oldest first. */
export const breadcrumbs = signal<Range[]>([]);
export const markedRange = signal<Range | null>(null);
export const selection = signal<Selection | null>(null);
export const tab = signal<Tab>("what");
export const trackFilter = signal("");
export const pinnedTracks = signal<ReadonlySet<number>>(new Set());
export const hiddenTracks = signal<ReadonlySet<number>>(new Set());
export const collapsedGroups = signal<ReadonlySet<string>>(new Set());
/** Moves of tracks as [track, track to insert before], in the order they were made. */
export const trackMoves = signal<readonly (readonly [number, number])[]>([]);
/** Groups moved to the top, topmost first. */
export const groupOrder = signal<readonly string[]>([]);
export const savedViews = signal<readonly SavedView[]>([]);
/** Groups whose details are shown, such as single processors. */
export const detailedGroups = signal<ReadonlySet<string>>(new Set());
/** Tones that the legend hides. */
export const hiddenTones = signal<ReadonlySet<number>>(new Set());
/** True if a comparison draws the lanes of both recordings. */
export const showsPair = signal(true);
export const chain = signal<WaitChain | null>(null);
/** Process whose CPU usage, disk usage and threads are drawn above the lanes: the one that had this id at a time. */
export const shownProcess = signal<{ process: number; time: number; name: string } | null>(null);
/** Track that should be scrolled into view. */
export const revealedTrack = signal<number | null>(null);
export const theme = signal<"" | "light" | "dark">("");
/** Indices of the findings without which the transition is predicted. */
export const removedFindings = signal<ReadonlySet<number>>(new Set());
/** Options of the range table. */
export const tableSubject = signal("processor");
export const groupBy = signal<string[]>([]);
export const hiddenColumns = signal<ReadonlySet<string>>(new Set());
export const barColumn = signal("");
export const sortColumn = signal("");
/** True if the table is sorted from small to large. */
export const sortsAscending = signal(false);
export const eventFilter = signal("");
export const flameShowsWaits = signal(false);
export const sheet = signal<"" | "keys" | "palette" | "views">("");

export const recording = computed<Recording | undefined>(() => page.value.recordings[recordingIndex.value]);
export const transition = computed<Transition | undefined>(() => recording.value?.transitions[transitionIndex.value]);
export const entireRange = computed<Range>(() => {
  const current = recording.value;
  return current
    ? { start: current.start_ns, end: current.start_ns + Math.max(1, current.duration_ns) }
    : { start: 0, end: 1 };
});
/** Idle time at the end of a transition that the initial view shows, as a share of the rest. */
const MAX_IDLE_SHARE = 0.4;
/** Initial view: the transition with a margin on both sides. */
export const homeRange = computed<Range>(() => {
  const current = transition.value;
  if (!current || current.end_ns <= current.start_ns) return entireRange.value;
  // The search for idle time at the end is not part of the transition: most of it is outside the first view.
  const idle = current.phases[current.phases.length - 1]?.idle_ns ?? 0;
  const counted = Math.max(1, toAxis(current.end_ns) - toAxis(current.start_ns) - idle);
  const end = current.end_ns - Math.max(0, idle - counted * MAX_IDLE_SHARE);
  const margin = (end - current.start_ns) * 0.015;
  return {
    start: Math.max(entireRange.value.start, current.start_ns - margin),
    end: Math.min(entireRange.value.end, end + margin),
  };
});

/** Duration of a phase as all commands report it: without the idle time at its end and without waiting for a person. */
export const phaseDuration = (phase: Phase): number =>
  phase.end_ns - phase.start_ns - phase.idle_ns - phase.user_input_ns;

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
  const limits = entireRange.value;
  const length = Math.min(Math.max(range.end - range.start, 1_000), limits.end - limits.start);
  const start = Math.min(Math.max(range.start, limits.start), limits.end - length);
  return { start, end: start + length };
}

/** Moves the view without adding a breadcrumb, for panning and zooming. */
export function moveTo(range: Range): void {
  view.value = clamped(range);
}

/** Goes to a range and adds a breadcrumb for the previous range. */
export function goTo(range: Range): void {
  const current = view.value;
  const target = clamped(range);
  if (target.start === current.start && target.end === current.end) return;
  breadcrumbs.value = [...breadcrumbs.value.slice(-15), current];
  view.value = target;
}

export function goBack(): void {
  const steps = breadcrumbs.value;
  const previous = steps[steps.length - 1];
  if (!previous) {
    view.value = homeRange.value;
    return;
  }
  breadcrumbs.value = steps.slice(0, -1);
  view.value = previous;
}

export function zoom(factor: number, center: number): void {
  const [start, end, middle] = [toAxis(view.value.start), toAxis(view.value.end), toAxis(center)];
  moveTo({ start: fromAxis(middle - (middle - start) * factor), end: fromAxis(middle + (end - middle) * factor) });
}

export function pan(share: number): void {
  const [start, end, limits] = [toAxis(view.value.start), toAxis(view.value.end), entireRange.value];
  const offset = Math.min(Math.max((end - start) * share, toAxis(limits.start) - start), toAxis(limits.end) - end);
  moveTo({ start: fromAxis(start + offset), end: fromAxis(end + offset) });
}

/** Label of a breadcrumb: the name of the transition or phase, or the range if it matches neither. */
export function rangeName(range: Range): string {
  const isSame = (other: Range) =>
    Math.abs(other.start - range.start) < 1_000 && Math.abs(other.end - range.end) < 1_000;
  if (isSame(entireRange.value)) return "Everything";
  if (isSame(homeRange.value)) return transition.value?.title ?? "Everything";
  const phase = transition.value?.phases.find((candidate) =>
    isSame({ start: candidate.start_ns, end: candidate.end_ns }),
  );
  return phase?.title ?? `${duration(range.start)} to ${duration(range.end)}`;
}

/** Goes back to a breadcrumb and drops it together with all later breadcrumbs. */
export function goToBreadcrumb(index: number): void {
  const target = breadcrumbs.value[index];
  if (!target) return;
  breadcrumbs.value = breadcrumbs.value.slice(0, index);
  view.value = target;
}

/** Moves a track before another track of its group. */
export function moveTrack(track: number, before: number): void {
  if (track === before) return;
  trackMoves.value = [...trackMoves.value.filter(([moved]) => moved !== track), [track, before]];
}

/** Moves a track one place up or down among the visible tracks of its group. */
export function shiftTrack(track: number, up: boolean): void {
  const isPinned = pinnedTracks.value.has(track);
  const group = shownTracks.value.find((candidate) => candidate.id === track)?.group;
  const siblings = shownTracks.value
    .filter((candidate) => pinnedTracks.value.has(candidate.id) === isPinned && (isPinned || candidate.group === group))
    .map((candidate) => candidate.id);
  const index = siblings.indexOf(track);
  const neighbor = siblings[up ? index - 1 : index + 1];
  if (index < 0 || neighbor === undefined) return;
  if (isPinned) {
    const order = siblings.filter((sibling) => sibling !== track);
    order.splice(up ? index - 1 : index + 1, 0, track);
    pinnedTracks.value = new Set(order);
  } else if (up) moveTrack(track, neighbor);
  else moveTrack(neighbor, track);
}

/** Moves a group to the top. */
export function moveGroupToTop(group: string): void {
  groupOrder.value = [group, ...groupOrder.value.filter((other) => other !== group)];
}

export function toggled<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}

/** Range of the selection. */
export function selectedRange(): Range | null {
  const chosen = selection.value;
  if (!chosen) return markedRange.value;
  if (chosen.kind === "slice" || chosen.kind === "thread") return { start: chosen.start, end: chosen.end };
  if (chosen.kind === "phase") {
    const phase = transition.value?.phases.find((candidate) => candidate.name === chosen.name);
    return phase ? { start: phase.start_ns, end: phase.end_ns } : null;
  }
  const finding = transition.value?.findings[chosen.index];
  return finding && finding.start_ns !== null && finding.end_ns !== null
    ? { start: finding.start_ns, end: finding.end_ns }
    : null;
}

/** Shows another recording, aligned at the start of the current phase. */
export function showRecording(index: number): void {
  const previousView = view.value;
  const previousHome = homeRange.value;
  const phase = phaseAt(previousView);
  recordingIndex.value = index;
  if (transitionIndex.value >= (recording.value?.transitions.length ?? 0))
    transitionIndex.value = recording.value?.first ?? 0;
  if (selection.value?.kind !== "phase") selection.value = null;
  removedFindings.value = new Set();
  markedRange.value = null;
  breadcrumbs.value = [];
  chain.value = shownProcess.value = null;
  const samePhase = phase && transition.value?.phases.find((candidate) => candidate.name === phase.name);
  const isHome = previousView.start === previousHome.start && previousView.end === previousHome.end;
  if (!samePhase || !phase || isHome) view.value = homeRange.value;
  else
    moveTo({
      start: samePhase.start_ns + previousView.start - phase.start_ns,
      end: samePhase.start_ns + previousView.end - phase.start_ns,
    });
}

/** Median duration in the baseline by phase, ns. */
export const baselineMedians = computed<ReadonlyMap<string, number>>(() => {
  const medians = new Map<string, number>();
  for (const row of page.value.comparison?.lists.find((list) => list.category === "phase")?.rows ?? []) {
    const median = row.medians[0];
    if (median !== null && median !== undefined) medians.set(row.label, median);
  }
  return medians;
});

/** Section of tracks that are details of the first track of their group. As `SINGLE_PROCESSORS` in the Rust code. */
export const DETAIL_SECTION = "single";

/** Groups that come first, because most questions are about them. */
const FIRST_GROUPS: readonly string[] = ["processors", "disks", "critical_path", "services", "devices"];
/** Groups of which the first screen shows only the tracks with most time, and how many of them. */
const BRIEF_GROUPS: readonly string[] = [
  "critical_path",
  "services",
  "devices",
  "session",
  "notifications",
  "power",
  "processes",
  "log",
];
export const BRIEF_TRACKS = 3;
/** Number of tracks that are all shown. */
const FEW_TRACKS = 20;

/** Tracks that are only shown if their group shows all: single processors, and the lesser tracks of long groups. */
export const detailTracks = computed<ReadonlySet<number>>(() => {
  const all = recording.value?.tracks ?? [];
  const details = new Set(all.filter((track) => track.section === DETAIL_SECTION).map((track) => track.id));
  if (all.length <= FEW_TRACKS) return details;
  for (const group of BRIEF_GROUPS) {
    const members = all.filter((track) => track.group === group);
    if (members.length <= BRIEF_TRACKS + 1) continue;
    const lesser = [...members].sort((a, b) => b.total_ns - a.total_ns).slice(BRIEF_TRACKS);
    for (const track of lesser) if (!track.mark) details.add(track.id);
  }
  return details;
});

/** Brings a track into view, even if its group is collapsed or a filter hides it. */
export function reveal(id: number | null): void {
  const track = recording.value?.tracks.find((candidate) => candidate.id === id);
  if (!track) return;
  if (collapsedGroups.value.has(track.group)) collapsedGroups.value = toggled(collapsedGroups.value, track.group);
  if (hiddenTracks.value.has(track.id)) hiddenTracks.value = toggled(hiddenTracks.value, track.id);
  if (detailTracks.value.has(track.id) && !detailedGroups.value.has(track.group))
    detailedGroups.value = toggled(detailedGroups.value, track.group);
  if (!shownTracks.value.some((shown) => shown.id === track.id)) trackFilter.value = "";
  revealedTrack.value = track.id;
}

/** Selects a thread, whose waits in the range are then listed. */
export function selectThread(thread: number, label: string, range: Range): void {
  selection.value = { kind: "thread", thread, label, start: range.start, end: range.end };
  markedRange.value = null;
  tab.value = "what";
}

/** Visible tracks in display order: pinned first, then by group. */
export const shownTracks = computed<Track[]>(() => {
  const all = recording.value?.tracks ?? [];
  const words = trackFilter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (track: Track) => {
    const text = `${track.group} ${track.section} ${track.name} ${track.note}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const isShown = (track: Track) =>
    !detailTracks.value.has(track.id) ||
    detailedGroups.value.has(track.group) ||
    pinnedTracks.value.has(track.id) ||
    words.length > 0;
  const kept = all.filter((track) => !hiddenTracks.value.has(track.id) && isShown(track) && matches(track));
  for (const [id, beforeId] of trackMoves.value) {
    const source = kept.findIndex((track) => track.id === id);
    const target = kept.findIndex((track) => track.id === beforeId);
    if (source < 0 || target < 0 || kept[source]?.group !== kept[target]?.group) continue;
    const [track] = kept.splice(source, 1);
    if (track)
      kept.splice(
        kept.findIndex((candidate) => candidate.id === beforeId),
        0,
        track,
      );
  }
  const rank = (track: Track) => {
    const index = groupOrder.value.indexOf(track.group);
    return index < 0
      ? groupOrder.value.length +
          FIRST_GROUPS.indexOf(track.group) +
          (FIRST_GROUPS.includes(track.group) ? 0 : FIRST_GROUPS.length + 1)
      : index;
  };
  kept.sort((a, b) => rank(a) - rank(b));
  const pins = [...pinnedTracks.value];
  const pinnedFirst = kept
    .filter((track) => pinnedTracks.value.has(track.id))
    .sort((a, b) => pins.indexOf(a.id) - pins.indexOf(b.id));
  const others = kept.filter((track) => !pinnedTracks.value.has(track.id) && !collapsedGroups.value.has(track.group));
  return [...pinnedFirst, ...others];
});

/** Encodes the view as the fragment of an address, with or without the saved views. */
export function address(withSaved = true): string {
  const parts = new URLSearchParams();
  const { start, end } = view.value;
  const defaultRange = homeRange.value;
  if (recordingIndex.value > 0) parts.set("recording", String(recordingIndex.value));
  if (transitionIndex.value !== (recording.value?.first ?? 0)) parts.set("transition", String(transitionIndex.value));
  if (start !== defaultRange.start || end !== defaultRange.end) parts.set("range", `${seconds(start)}~${seconds(end)}`);
  if (markedRange.value) parts.set("mark", `${seconds(markedRange.value.start)}~${seconds(markedRange.value.end)}`);
  const chosen = selection.value;
  if (chosen?.kind === "phase") parts.set("phase", chosen.name);
  if (chosen?.kind === "finding") parts.set("finding", String(chosen.index));
  if (chosen?.kind === "slice") {
    parts.set(
      "slice",
      [
        chosen.track,
        chosen.start,
        chosen.end,
        chosen.tone,
        chosen.count,
        chosen.thread,
        chosen.process,
        chosen.label,
      ].join("~"),
    );
  }
  if (chosen?.kind === "thread") parts.set("thread", [chosen.thread, chosen.start, chosen.end, chosen.label].join("~"));
  if (chain.value) parts.set("chain", [chain.value.thread, chain.value.start, chain.value.end].join("~"));
  if (shownProcess.value)
    parts.set("process", [shownProcess.value.process, shownProcess.value.time, shownProcess.value.name].join("~"));
  if (removedFindings.value.size) parts.set("whatif", [...removedFindings.value].join("~"));
  if (tab.value !== firstTab.value) parts.set("tab", tab.value);
  if (trackFilter.value) parts.set("filter", trackFilter.value);
  if (pinnedTracks.value.size) parts.set("pin", [...pinnedTracks.value].join("~"));
  if (hiddenTracks.value.size) parts.set("hide", [...hiddenTracks.value].join("~"));
  if (collapsedGroups.value.size) parts.set("fold", [...collapsedGroups.value].join("~"));
  if (trackMoves.value.length) parts.set("move", trackMoves.value.map((move) => move.join(".")).join("~"));
  if (groupOrder.value.length) parts.set("groups", groupOrder.value.join("~"));
  if (showsFullSleep.value) parts.set("asleep", "whole");
  if (tableSubject.value !== "processor") parts.set("about", tableSubject.value);
  if (groupBy.value.length) parts.set("by", groupBy.value.join("~"));
  if (hiddenColumns.value.size) parts.set("without", [...hiddenColumns.value].join("~"));
  if (barColumn.value) parts.set("draw", barColumn.value);
  if (sortColumn.value) parts.set("sort", sortColumn.value);
  if (sortsAscending.value) parts.set("order", "up");
  if (eventFilter.value) parts.set("where", eventFilter.value);
  if (detailedGroups.value.size) parts.set("detail", [...detailedGroups.value].join("~"));
  if (hiddenTones.value.size) parts.set("without-tones", [...hiddenTones.value].join("~"));
  if (flameShowsWaits.value) parts.set("flame", "waits");
  if (!showsPair.value) parts.set("pair", "off");
  if (theme.value) parts.set("theme", theme.value);
  if (withSaved) for (const saved of savedViews.value) parts.append("saved", `${saved.name}~${saved.address}`);
  return parts.toString();
}

/** Maximum number of saved views, to keep the address short. */
const MAX_SAVED = 40;

function parseRange(text: string | null): Range | null {
  const [start, end] = (text ?? "").split("~").map(Number);
  return start !== undefined && end !== undefined && Number.isFinite(start) && Number.isFinite(end) && start < end
    ? { start: start * 1e9, end: end * 1e9 }
    : null;
}

function parseSlice(parts: string[]): Selection | null {
  const [track, start, end, tone, count, thread, process] = parts.slice(0, 7).map(Number);
  if (
    track === undefined ||
    start === undefined ||
    end === undefined ||
    tone === undefined ||
    count === undefined ||
    thread === undefined ||
    process === undefined
  )
    return null;
  if (![track, start, end, tone, count, thread, process].every(Number.isFinite) || start > end) return null;
  return { kind: "slice", track, start, end, tone, count, thread, process, label: parts.slice(7).join("~") };
}

function parseThread(parts: string[]): Selection | null {
  const [thread, start, end] = parts.slice(0, 3).map(Number);
  if (!thread || start === undefined || end === undefined || !Number.isFinite(end - start) || start > end) return null;
  return { kind: "thread", thread, start, end, label: parts.slice(3).join("~") };
}

/** Restores a view from the fragment of an address; invalid values are ignored. */
export function applyAddress(fragment: string): void {
  const parts = new URLSearchParams(fragment);
  const index = (name: string, length: number, fallback = 0) => {
    const value = Number(parts.get(name) ?? fallback);
    return Number.isInteger(value) && value >= 0 && value < length ? value : fallback;
  };
  const numbers = (name: string) =>
    new Set((parts.get(name) ?? "").split("~").filter(Boolean).map(Number).filter(Number.isInteger));
  recordingIndex.value = index("recording", page.value.recordings.length);
  transitionIndex.value = index("transition", recording.value?.transitions.length ?? 0, recording.value?.first ?? 0);
  showsFullSleep.value = parts.get("asleep") === "whole";
  const range = parseRange(parts.get("range"));
  view.value = range ? clamped(range) : homeRange.value;
  markedRange.value = parseRange(parts.get("mark"));
  const phase = parts.get("phase");
  const finding = parts.get("finding");
  const slice = parts.get("slice")?.split("~");
  if (phase) selection.value = { kind: "phase", name: phase };
  else if (finding && transition.value?.findings[Number(finding)])
    selection.value = { kind: "finding", index: Number(finding) };
  else if (slice) selection.value = parseSlice(slice);
  else selection.value = parseThread(parts.get("thread")?.split("~") ?? []);
  const [chainThread, chainStart, chainEnd] = (parts.get("chain") ?? "").split("~").map(Number);
  chain.value =
    chainThread &&
    chainStart !== undefined &&
    chainEnd !== undefined &&
    chainStart < chainEnd &&
    Number.isFinite(chainEnd - chainStart)
      ? { thread: chainThread, start: chainStart, end: chainEnd }
      : null;
  const [process, time, ...name] = (parts.get("process") ?? "").split("~");
  shownProcess.value =
    Number(process) > 0 && Number.isFinite(Number(time))
      ? { process: Number(process), time: Number(time), name: name.join("~") }
      : null;
  removedFindings.value = numbers("whatif");
  tab.value = tabs.value.find(([name]) => name === parts.get("tab"))?.[0] ?? firstTab.value;
  trackFilter.value = parts.get("filter") ?? "";
  pinnedTracks.value = numbers("pin");
  hiddenTracks.value = numbers("hide");
  collapsedGroups.value = new Set((parts.get("fold") ?? "").split("~").filter(Boolean));
  const names = (name: string) =>
    (parts.get(name) ?? "").split("~").filter((text) => /^[a-z_0-9]+$/.test(text) || text.startsWith("field:"));
  tableSubject.value =
    page.value.legend.subjects.find((subject) => subject.name === parts.get("about"))?.name ?? "processor";
  groupBy.value = names("by");
  eventFilter.value = parts.get("where") ?? "";
  detailedGroups.value = new Set(names("detail"));
  hiddenTones.value = numbers("without-tones");
  hiddenColumns.value = new Set(names("without"));
  barColumn.value = names("draw")[0] ?? "";
  sortColumn.value = names("sort")[0] ?? "";
  sortsAscending.value = parts.get("order") === "up";
  flameShowsWaits.value = parts.get("flame") === "waits";
  showsPair.value = parts.get("pair") !== "off";
  groupOrder.value = names("groups");
  const pairs = (parts.get("move") ?? "").split("~").map((text) => text.split(".").map(Number));
  trackMoves.value = pairs.filter(
    (pair): pair is [number, number] => pair.length === 2 && pair.every(Number.isInteger),
  );
  const received = parts
    .getAll("saved")
    .slice(0, MAX_SAVED)
    .map((text) => ({ name: text.split("~")[0] ?? "", address: text.slice(text.indexOf("~") + 1) }));
  const newViews = received.filter((view) => view.name && !savedViews.value.some((saved) => saved.name === view.name));
  if (newViews.length) savedViews.value = [...savedViews.value, ...newViews].slice(0, MAX_SAVED);
  const requestedTheme = parts.get("theme");
  theme.value = requestedTheme === "light" || requestedTheme === "dark" ? requestedTheme : "";
}

/** Lists the events of a range in the range table. */
export function showEvents(range: Range): void {
  markedRange.value = range;
  selection.value = null;
  tableSubject.value = "events";
  groupBy.value = ["each"];
  eventFilter.value = "";
  barColumn.value = "";
  sortColumn.value = "";
  tab.value = "use";
}
