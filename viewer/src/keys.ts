/** Keyboard shortcuts. Everything that works with the pointer also works with the keyboard. */

import { neighbor } from "./lanes/draw";
import { timeAtFraction } from "./fold";
import { redo, undo } from "./history";
import { cachedLane, entireRecordingPixels } from "./source";
import {
  goBack, goTo, hiddenTracks, markedRange, page, pan, pinnedTracks, recordingIndex, removedFindings, selectedRange, selection, sheet, showEvents, showRecording, shiftTrack, tab, tabs, toggled, transition, view, entireRange, zoom,
} from "./state";

function stepPhase(offset: number): void {
  const phases = transition.value?.phases ?? [];
  const chosen = selection.value;
  const index = chosen?.kind === "phase" ? phases.findIndex((phase) => phase.name === chosen.name) : offset > 0 ? -1 : phases.length;
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
      if (range) goTo({ start: range.start - (range.end - range.start) * 0.1, end: range.end + (range.end - range.start) * 0.1 });
    },
    ".": () => stepSlice(true),
    ",": () => stepSlice(false),
    "]": () => stepPhase(1),
    "[": () => stepPhase(-1),
    p: () => chosen?.kind === "slice" && (pinnedTracks.value = toggled(pinnedTracks.value, chosen.track)),
    h: () => chosen?.kind === "slice" && ((hiddenTracks.value = toggled(hiddenTracks.value, chosen.track)), (selection.value = null)),
    b: () => page.value.comparison && page.value.recordings.length > 1 && showRecording(1 - recordingIndex.value),
    x: () => chosen?.kind === "finding" && transition.value?.findings[chosen.index]?.changes.length && (removedFindings.value = toggled(removedFindings.value, chosen.index)),
    u: undo,
    y: redo,
    v: () => (sheet.value = "views"),
    e: () => {
      const range = selectedRange();
      if (range) showEvents(range);
    },
    ArrowUp: () => event.shiftKey && chosen?.kind === "slice" && shiftTrack(chosen.track, true),
    ArrowDown: () => event.shiftKey && chosen?.kind === "slice" && shiftTrack(chosen.track, false),
    Backspace: goBack,
    "0": () => goTo(entireRange.value),
    Escape: () => ((selection.value = null), (markedRange.value = null)),
    "?": () => (sheet.value = "keys"),
  };
  tabs.value.forEach(([name], index) => (actions[String(index + 1)] = () => (tab.value = name)));
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || (event.key.startsWith("Arrow") && !event.shiftKey)) return;
  event.preventDefault();
  action();
}
