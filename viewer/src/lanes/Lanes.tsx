/**
 * The lanes: track names next to one canvas. Only visible tracks are drawn, so the number of tracks does not matter.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Track } from "../data";
import { gridTimes, pixelScale, rangeFraction, compressionRatio, timeAtFraction } from "../fold";
import { laneRevision, cachedArrows, cachedLane, entireRecordingPixels, loadLanes, loadArrows } from "../source";
import {
  BRIEF_TRACKS,
  collapsedGroups,
  DETAIL_SECTION,
  detailTracks,
  detailedGroups,
  goTo,
  groupTitle,
  moveGroupToTop,
  hiddenTones,
  hiddenTracks,
  markedRange,
  moveTrack,
  pan,
  pinnedTracks,
  recording,
  reveal,
  revealedTrack,
  selection,
  shownProcess,
  shownTracks,
  showRecording,
  showsPair,
  page,
  tab,
  theme,
  toggled,
  trackFilter,
  transition,
  view,
  zoom,
  type Range,
} from "../state";
import { axisLabel, axisStep } from "../time";
import {
  drawArrows,
  drawLane,
  drawPaired,
  drawPairedPhases,
  laneAxis,
  pairAxes,
  readColors,
  sharesAt,
  sliceAtPoint,
  laneHeight,
  ROW,
  type Hit,
  type Hover,
} from "./draw";
import { otherRange, pair, type Pair } from "./pair";
import { Rows } from "./Rows";
import { Tip } from "./Tip";

const HEAD = 20;

interface Item {
  top: number;
  height: number;
  head?: string;
  track?: Track;
  /** A track of the other recording of a comparison. */
  other?: Track;
  /** True if the item is the other recording's phases. */
  isPhases?: boolean;
}

/** Positions of group headings and tracks, top to bottom. */
function layout(tracks: Track[], paired: Pair | null): { items: Item[]; height: number } {
  const items: Item[] = [];
  let top = 0;
  let group = "";
  const add = (height: number, item: Partial<Item>) => {
    items.push({ top, height, ...item });
    top += height;
  };
  const head = (name: string) => add(HEAD, { head: name });
  const addTrack = (name: "track" | "other", track: Track | undefined) => {
    if (track) add(laneHeight(track.kind, track.rows), { [name]: track });
  };
  const missing = new Map<string, Track[]>();
  for (const track of shownOthers(paired?.others ?? [])) {
    missing.set(track.group, [...(missing.get(track.group) ?? []), track]);
  }
  /** Ends a group with the tracks that only the other recording has. */
  const finish = (name: string) => {
    for (const track of missing.get(name) ?? []) addTrack("other", track);
    missing.delete(name);
  };
  if (paired) add(HEAD, { isPhases: true });
  for (const track of tracks) {
    const trackGroup = pinnedTracks.value.has(track.id) ? "pinned" : track.group;
    if (trackGroup !== group) {
      finish(group);
      group = trackGroup;
      head(group);
    }
    addTrack("track", track);
    addTrack("other", paired?.counterparts.get(track.id));
  }
  finish(group);
  for (const name of missing.keys()) {
    head(name);
    finish(name);
  }
  const present = new Set<string>(recording.value?.tracks.map((track) => track.group));
  for (const folded of collapsedGroups.value) if (present.has(folded)) head(folded);
  return { items, height: top };
}

export function Lanes() {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [scroll, setScroll] = useState(0);
  const [size, setSize] = useState({ width: 800, height: 400 });
  const [hover, setHover] = useState<Hover | null>(null);
  const drag = useRef<{ x: number; start: number; pan: boolean; moved: boolean } | null>(null);
  const tracks = shownTracks.value;
  const paired = pair.value;
  const { items, height } = layout(tracks, paired);
  const visible = items.filter((item) => item.top < scroll + size.height && item.top + item.height > scroll);
  const range = view.value;
  // Subscribe to new lane data, because the drawing effect below does not.
  void laneRevision.value;
  // A fold hides part of the range, so request more pixels to keep the resolution outside it.
  const pixels = Math.min(16_384, Math.max(64, Math.round(size.width * compressionRatio(range))));

  useLayoutEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return;
    const measure = () => {
      setSize({ width: element.clientWidth, height: element.clientHeight });
      // The ribbon above leaves room for the scroll bar of the lanes, so that times line up.
      const bar = scroller.current ? scroller.current.offsetWidth - scroller.current.clientWidth : 0;
      document.documentElement.style.setProperty("--bar", `${bar}px`);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const item = items.find((candidate) => candidate.track && candidate.track.id === revealedTrack.value);
    if (!item) return;
    revealedTrack.value = null;
    scroller.current?.scrollTo({ top: Math.max(0, item.top - HEAD - size.height / 4) });
  });

  useEffect(() => {
    const timer = setTimeout(
      () =>
        void loadLanes(
          visible.flatMap((item) => (item.track ? [item.track.id] : [])),
          range,
          pixels,
        ).then(() => {
          const other = paired && otherRange(paired.pieces, range);
          const others = visible.flatMap((item) => (item.other ? [item.other.id] : []));
          if (other) void loadLanes(others, other, pairPixels(other, range, pixels), paired.index);
          if (visible.some((item) => item.track?.group === "critical_path")) return loadArrows(range, pixels);
          return undefined;
        }),
      15,
    );
    return () => clearTimeout(timer);
  });

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    void theme.value;
    void hiddenTones.value;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const colors = readColors(element, context);
    const position = pixelScale(range, size.width);
    const step = axisStep((range.end - range.start) / compressionRatio(range), size.width);
    context.fillStyle = colors.line;
    for (const time of gridTimes(range, step)) context.fillRect(position(time), 0, 1, size.height);
    for (const phase of transition.value?.phases ?? []) context.fillRect(position(phase.end_ns) - 1, 0, 2, size.height);
    const axis = laneAxis(range, size.width);
    for (const item of visible) {
      const bounds = { top: item.top - scroll, height: item.height };
      if (item.isPhases && paired) drawPairedPhases(context, paired, axis, bounds, colors);
      if (item.other && paired)
        drawPaired(context, pairedLane(paired, item.other, range), paired, axis, bounds, colors);
      const cached = item.track && cachedLane(item.track.id, entireRecordingPixels(range, pixels));
      if (cached) drawLane(context, cached.lane, axis, bounds, colors);
    }
    const fillBand = (start: number, end: number, fill: string) => {
      context.fillStyle = fill;
      context.fillRect(position(start), 0, Math.max(1, position(end) - position(start)), size.height);
    };
    for (const fold of recording.value?.folds ?? [])
      fillBand(fold.start_ns, fold.end_ns, colors.dark ? "#ffffff18" : "#00000014");
    context.fillStyle = colors.bad;
    for (const tick of transition.value?.ticks ?? []) {
      const x = position(tick.time_ns);
      if (x >= 0 && x <= size.width) for (let top = 0; top < size.height; top += 6) context.fillRect(x, top, 1, 3);
    }
    const centers = new Map(
      items.flatMap((item) =>
        item.track ? [[item.track.id, item.top - scroll + Math.min(item.height, ROW + 6) / 2] as const] : [],
      ),
    );
    drawArrows(context, cachedArrows(range, pixels), centers, range, size, colors.text);
    for (const gap of recording.value?.gaps ?? [])
      fillBand(gap.start_ns, gap.end_ns, colors.dark ? "#ff8f8f30" : "#a1181820");
    if (markedRange.value)
      fillBand(markedRange.value.start, markedRange.value.end, colors.dark ? "#ffffff1c" : "#1f5fb41c");
    const chosen = selection.value;
    if (chosen?.kind === "slice") {
      const item = visible.find((candidate) => candidate.track?.id === chosen.track);
      if (item) {
        context.strokeStyle = colors.text;
        context.lineWidth = 2;
        context.strokeRect(
          position(chosen.start) - 1,
          item.top - scroll + 1,
          Math.max(3, position(chosen.end) - position(chosen.start) + 2),
          item.height - 3,
        );
      }
    }
  });

  const pointerPosition = (event: MouseEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  };
  const timeAt = (px: number) => timeAtFraction(px / size.width, range);
  const pairedLane = (other: Pair, track: Track, shown: Range) =>
    cachedLane(track.id, entireRecordingPixels(shown, pixels, other.index), other.index)?.lane;
  const itemAt = (
    px: number,
    py: number,
  ): { track?: Track; other?: Track; hit: Hit | null; shares: [string, number][] } => {
    const item = visible.find(
      (candidate) => py + scroll >= candidate.top && py + scroll < candidate.top + candidate.height,
    );
    const bounds = { top: (item?.top ?? 0) - scroll, height: item?.height ?? 0 };
    if (item?.other && paired) {
      const lane = pairedLane(paired, item.other, range);
      const part = pairAxes(paired, laneAxis(range, size.width)).find(({ left, right }) => px >= left && px <= right);
      const hit = lane && part ? sliceAtPoint(lane, part, bounds, px, py) : null;
      return { other: item.other, hit, shares: [] };
    }
    if (!item?.track) return { hit: null, shares: [] };
    const cached = cachedLane(item.track.id, entireRecordingPixels(range, pixels));
    const hit = cached ? sliceAtPoint(cached.lane, laneAxis(range, size.width), bounds, px, py) : null;
    return { track: item.track, hit, shares: cached ? sharesAt(cached.lane, timeAt(px)) : [] };
  };

  const onWheel = (event: WheelEvent) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(event.deltaY * 0.0022), timeAt(pointerPosition(event).x));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan((event.deltaX || event.deltaY) / size.width);
    }
  };

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const { x } = pointerPosition(event);
    drag.current = { x, start: timeAt(x), pan: event.shiftKey, moved: false };
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    const { x, y } = pointerPosition(event);
    const dragged = drag.current;
    if (dragged) {
      if (Math.abs(x - dragged.x) > 3) dragged.moved = true;
      if (!dragged.moved) return;
      if (dragged.pan) {
        pan((dragged.x - x) / size.width);
        dragged.x = x;
      } else {
        const time = timeAt(x);
        markedRange.value = { start: Math.min(dragged.start, time), end: Math.max(dragged.start, time) };
        selection.value = null;
        if (tab.value === "findings" || tab.value === "trust") tab.value = "use";
      }
      return;
    }
    const { hit, shares, other } = itemAt(x, y);
    const named = hit && other && paired ? { ...hit, label: `${paired.side}: ${hit.label}` } : hit;
    setHover({ x, y, hit: named, shares, time: timeAt(x) });
  };
  const onPointerUp = (event: PointerEvent) => {
    const dragged = drag.current;
    drag.current = null;
    if (!dragged || dragged.moved) return;
    const { x, y } = pointerPosition(event);
    const { track, other, hit } = itemAt(x, y);
    markedRange.value = null;
    if (other && hit && paired) {
      showRecording(paired.index);
      selection.value = { kind: "slice", track: other.id, ...hit };
      reveal(other.id);
    } else if (track && hit) {
      selection.value = { kind: "slice", track: track.id, ...hit };
      if (track.group === "processes" && hit.process)
        shownProcess.value = { process: hit.process, time: hit.start, name: hit.label };
      if (track.group === "critical_path") tab.value = "why";
      else if (tab.value !== "what" && tab.value !== "use" && tab.value !== "why" && tab.value !== "flame")
        tab.value = "what";
    } else selection.value = null;
  };
  const onDoubleClick = (event: MouseEvent) => {
    const { x, y } = pointerPosition(event);
    const { hit } = itemAt(x, y);
    if (hit)
      goTo({ start: hit.start - (hit.end - hit.start) * 0.15, end: hit.end + (hit.end - hit.start) * 0.15 + 1_000 });
    else if (markedRange.value) goTo(markedRange.value);
  };

  const step = axisStep((range.end - range.start) / compressionRatio(range), size.width);
  const labels = gridTimes(range, step).map((time) => ({
    left: rangeFraction(time, range) * 100,
    text: axisLabel(Math.abs(time) < step / 1000 ? 0 : time, step),
  }));

  return (
    <section class="lanes" aria-label="Lanes">
      <div class="axis">
        <div class="corner">
          {tracks.length} tracks
          {page.value.recordings.length > 1 && page.value.comparison && (
            <button
              type="button"
              aria-pressed={showsPair.value}
              title="Draw the lanes of both recordings, each phase at the start of the same phase (o)"
              onClick={() => (showsPair.value = !showsPair.value)}
            >
              both
            </button>
          )}
        </div>
        <div class="ticks" aria-hidden="true">
          {labels.map((label) => (
            <span style={{ left: `${label.left}%` }}>{label.text}</span>
          ))}
        </div>
      </div>
      <Rows />
      <div
        class="scroller"
        ref={scroller}
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
        tabIndex={0}
        role="group"
        aria-label="Tracks; scroll for more"
      >
        <div class="content" style={{ height: `${height}px` }}>
          <div class="names">
            {visible.map((item) =>
              item.track ? (
                <Name item={item} track={item.track} />
              ) : item.other || item.isPhases ? (
                <OtherName item={item} paired={paired} />
              ) : (
                <GroupHead name={item.head ?? ""} top={item.top} />
              ),
            )}
          </div>
        </div>
        <div class="drawing" style={{ top: `${scroll}px` }}>
          <canvas
            ref={canvas}
            role="img"
            aria-label="Lanes as a picture; the tables below show the same data"
            style={{ width: `${size.width}px`, height: `${size.height}px` }}
            onWheel={onWheel}
            onPointerDown={onPointerDown}
            onPointerMove={onPointerMove}
            onPointerUp={onPointerUp}
            onPointerLeave={() => setHover(null)}
            onDblClick={onDoubleClick}
          />
          {hover && (hover.hit || hover.shares.length > 0) && <Tip {...hover} size={size} />}
        </div>
      </div>
    </section>
  );
}

/** Number of tracks of a group if it has more than it shows at first; otherwise 0. */
function trackCount(group: string): number {
  const members = recording.value?.tracks.filter((track) => track.group === group) ?? [];
  return members.some((track) => detailTracks.value.has(track.id)) ? members.length : 0;
}

function GroupHead({ name, top }: { name: string; top: number }) {
  const title = name === "pinned" ? "Pinned" : groupTitle(name);
  return (
    <div class="group" style={{ top: `${top}px` }}>
      <button
        type="button"
        class="fold"
        aria-expanded={!collapsedGroups.value.has(name)}
        onClick={() => name !== "pinned" && (collapsedGroups.value = toggled(collapsedGroups.value, name))}
      >
        {title}
      </button>
      {trackCount(name) > 0 && (
        <button
          type="button"
          class="detail"
          aria-label={`${title}: ${detailedGroups.value.has(name) ? "fewer tracks" : `all ${trackCount(name)} tracks`}`}
          aria-pressed={detailedGroups.value.has(name)}
          onClick={() => (detailedGroups.value = toggled(detailedGroups.value, name))}
        >
          {detailedGroups.value.has(name) ? "fewer" : `all ${trackCount(name)}`}
        </button>
      )}
      {name !== "pinned" && (
        <button
          type="button"
          class="up"
          aria-label={`Move ${title} to the top`}
          title="Move this group to the top"
          onClick={() => moveGroupToTop(name)}
        >
          ↑
        </button>
      )}
    </div>
  );
}

/** Pixels of the other recording's range, at the same resolution as `range`. */
const pairPixels = (other: Range, range: Range, pixels: number): number =>
  Math.min(
    16_384,
    Math.max(64, Math.round((pixels * (other.end - other.start)) / Math.max(1, range.end - range.start))),
  );

/** Tracks of the other recording without a counterpart: those with most time of each group, unless it shows all. */
function shownOthers(others: Track[]): Track[] {
  const words = trackFilter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (track: Track) => words.every((word) => `${track.group} ${track.name}`.toLowerCase().includes(word));
  const counts = new Map<string, number>();
  return [...others]
    .sort((a, b) => b.total_ns - a.total_ns)
    .filter((track) => {
      if (!matches(track) || collapsedGroups.value.has(track.group) || track.section === DETAIL_SECTION) return false;
      counts.set(track.group, (counts.get(track.group) ?? 0) + 1);
      return detailedGroups.value.has(track.group) || (counts.get(track.group) ?? 0) <= BRIEF_TRACKS;
    });
}

/** Name of a lane of the other recording. */
function OtherName({ item, paired }: { item: Item; paired: Pair | null }) {
  const isMatched = item.isPhases || [...(paired?.counterparts.values() ?? [])].includes(item.other as Track);
  const text = isMatched ? paired?.side : `${item.other?.name}, only in ${paired?.side}`;
  return (
    <div
      class="name other"
      style={{ top: `${item.top}px`, height: `${item.height}px` }}
      title={[item.other?.name ?? "Phases", `${paired?.side}: ${paired?.recording.name}`].join("\n")}
    >
      <span class="text">{item.isPhases ? `${text}: phases` : text}</span>
    </div>
  );
}

function Name({ item, track }: { item: Item; track: Track }) {
  const isPinned = pinnedTracks.value.has(track.id);
  return (
    <div
      class="name"
      style={{ top: `${item.top}px`, height: `${item.height}px` }}
      title={[track.name, track.note].filter(Boolean).join("\n")}
      draggable
      onDragStart={(event) => event.dataTransfer?.setData("text/plain", String(track.id))}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        const draggedTrack = Number(event.dataTransfer?.getData("text/plain"));
        if (Number.isInteger(draggedTrack)) drop(draggedTrack, track.id);
      }}
    >
      <span class="section">{track.section === DETAIL_SECTION ? "" : track.section}</span>
      <span class="text">{track.name}</span>
      {track.mark && (
        <em
          class={`mark ${track.mark.verdict}`}
          title={`${track.mark.verdict}: ${track.mark.text}, candidate vs. baseline`}
        >
          {track.mark.text}
        </em>
      )}
      <button
        type="button"
        aria-pressed={isPinned}
        aria-label={`Pin ${track.name}`}
        onClick={() => (pinnedTracks.value = toggled(pinnedTracks.value, track.id))}
      >
        {isPinned ? "●" : "○"}
      </button>
      <button
        type="button"
        aria-label={`Hide ${track.name}`}
        onClick={() => (hiddenTracks.value = toggled(hiddenTracks.value, track.id))}
      >
        ×
      </button>
    </div>
  );
}

/** Moves a dragged track before the track that it was dropped on, among pinned tracks or within its group. */
function drop(track: number, before: number): void {
  if (track === before) return;
  if (pinnedTracks.value.has(track) && pinnedTracks.value.has(before)) {
    const order = [...pinnedTracks.value].filter((pinned) => pinned !== track);
    order.splice(order.indexOf(before), 0, track);
    pinnedTracks.value = new Set(order);
  } else moveTrack(track, before);
}
