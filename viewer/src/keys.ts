/** Keyboard shortcuts. Everything that works with the pointer also works with the keyboard. */

import { nearest, neighbor } from "./lanes/draw";
import { timeAtFraction } from "./fold";
import { redo, undo } from "./history";
import { cachedLane, entireRecordingPixels } from "./source";
import {
  chain,
  goBack,
  goTo,
  hiddenTracks,
  markedRange,
  page,
  pan,
  pinnedTracks,
  recordingIndex,
  removedFindings,
  reveal,
  selectedRange,
  selection,
  sheet,
  showEvents,
  shownProcess,
  shownTracks,
  showRecording,
  showsPair,
  shiftTrack,
  tab,
  tabs,
  toggled,
  transition,
  view,
  entireRange,
  zoom,
} from "./state";

function stepPhase(offset: number): void {
  const phases = transition.value?.phases ?? [];
  const chosen = selection.value;
  const index =
    chosen?.kind === "phase"
      ? phases.findIndex((phase) => phase.name === chosen.name)
      : offset > 0
        ? -1
        : phases.length;
  const next = phases[Math.max(0, Math.min(phases.length - 1, index + offset))];
  if (next) selection.value = { kind: "phase", name: next.name };
}

function stepSlice(forward: boolean): void {
  const chosen = selection.value;
  if (chosen?.kind !== "slice") return;
  const cached = cachedLane(chosen.track, entireRecordingPixels(view.value, 1_600));
  const next = cached && neighbor(cached.lane, chosen.start, forward);
  if (!next) return;
  selection.value = { kind: "slice", track: chosen.track, ...next };
  const { start, end } = view.value;
  if (next.start < start || next.end > end) {
    const middle = (next.start + next.end) / 2;
    goTo({ start: middle - (end - start) / 2, end: middle + (end - start) / 2 });
  }
}

/** Selects the slice of the next or previous track that is nearest to the selection, or to the middle of the view. */
function stepTrack(offset: number): void {
  const chosen = selection.value;
  const tracks = shownTracks.value.filter((track) => track.kind === "slices");
  const from =
    chosen?.kind === "slice" ? tracks.findIndex((track) => track.id === chosen.track) : offset > 0 ? -1 : tracks.length;
  const range = view.value;
  const time =
    chosen?.kind === "slice" ? Math.min(Math.max(chosen.start, range.start), range.end) : timeAtFraction(0.5, range);
  for (let index = from + offset; index >= 0 && index < tracks.length; index += offset) {
    const track = tracks[index];
    const cached = track && cachedLane(track.id, entireRecordingPixels(range, 1_600));
    const hit = cached && nearest(cached.lane, time, range);
    // Lanes outside the screen are not loaded yet: scroll there first.
    if (track && !cached) {
      reveal(track.id);
      return;
    }
    if (!track || !hit) continue;
    selection.value = { kind: "slice", track: track.id, ...hit };
    reveal(track.id);
    return;
  }
}

/** Moves the end of the selected range, which starts in the middle of the view. */
function growRange(direction: number): void {
  const step = (view.value.end - view.value.start) / 50;
  const middle = timeAtFraction(0.5, view.value);
  const range = markedRange.value ?? { start: middle, end: middle };
  const end = Math.min(range.end + direction * step, entireRange.value.end);
  markedRange.value = end > range.start ? { start: range.start, end } : null;
  selection.value = null;
}

/** Follows the selection: opens the first link of its details. */
function follow(): void {
  tab.value = "what";
  setTimeout(() => document.querySelector<HTMLElement>(".waits tbody button")?.focus(), 300);
}

export function onKey(event: KeyboardEvent): void {
  const target = event.target instanceof HTMLElement ? event.target : null;
  const typing = target?.matches("input, textarea, select") ?? false;
  if ((event.key === "/" && !typing) || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "p")) {
    event.preventDefault();
    sheet.value = "palette";
    return;
  }
  if (!typing && !sheet.value && (event.ctrlKey || event.metaKey) && ["z", "y"].includes(event.key.toLowerCase())) {
    event.preventDefault();
    if (event.key.toLowerCase() === "y" || event.shiftKey) redo();
    else undo();
    return;
  }
  if (typing || sheet.value || event.ctrlKey || event.metaKey || event.altKey) return;
  const middle = timeAtFraction(0.5, view.value);
  const chosen = selection.value;
  const actions: Record<string, () => void> = {
    w: () => zoom(0.7, middle),
    s: () => zoom(1 / 0.7, middle),
    a: () => pan(-0.15),
    d: () => pan(0.15),
    f: () => {
      const range = selectedRange();
      if (range)
        goTo({
          start: range.start - (range.end - range.start) * 0.1,
          end: range.end + (range.end - range.start) * 0.1,
        });
    },
    ".": () => stepSlice(true),
    ",": () => stepSlice(false),
    "]": () => stepPhase(1),
    "[": () => stepPhase(-1),
    p: () => chosen?.kind === "slice" && (pinnedTracks.value = toggled(pinnedTracks.value, chosen.track)),
    h: () =>
      chosen?.kind === "slice" &&
      ((hiddenTracks.value = toggled(hiddenTracks.value, chosen.track)), (selection.value = null)),
    b: () => page.value.comparison && page.value.recordings.length > 1 && showRecording(1 - recordingIndex.value),
    o: () => page.value.comparison && (showsPair.value = !showsPair.value),
    x: () =>
      chosen?.kind === "finding" &&
      transition.value?.findings[chosen.index]?.changes.length &&
      (removedFindings.value = toggled(removedFindings.value, chosen.index)),
    u: undo,
    y: redo,
    v: () => (sheet.value = "views"),
    e: () => {
      const range = selectedRange();
      if (range) showEvents(range);
    },
    ArrowUp: () => (event.shiftKey ? chosen?.kind === "slice" && shiftTrack(chosen.track, true) : stepTrack(-1)),
    ArrowDown: () => (event.shiftKey ? chosen?.kind === "slice" && shiftTrack(chosen.track, false) : stepTrack(1)),
    ArrowLeft: () => (event.shiftKey ? growRange(-1) : stepSlice(false)),
    ArrowRight: () => (event.shiftKey ? growRange(1) : stepSlice(true)),
    Enter: follow,
    Backspace: goBack,
    "0": () => goTo(entireRange.value),
    Escape: () =>
      chain.value
        ? (chain.value = null)
        : shownProcess.value
          ? (shownProcess.value = null)
          : ((selection.value = null), (markedRange.value = null)),
    "?": () => (sheet.value = "keys"),
  };
  tabs.value.forEach(([name], index) => (actions[String(index + 1)] = () => (tab.value = name)));
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  // Buttons, tabs and scrolled areas use these keys themselves.
  const isTaken = target?.matches("button, a, summary, [role='tab'], .pane, .pane *") ?? false;
  if (!action || (isTaken && (event.key === "Enter" || event.key.startsWith("Arrow")))) return;
  event.preventDefault();
  action();
}
