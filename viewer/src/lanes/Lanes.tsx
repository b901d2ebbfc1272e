/**
 * The lanes: track names next to one canvas. Only visible tracks are drawn, so the number of tracks does not matter.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Arrow, Track } from "../data";
import { gridOf, scaleOf, fractionOf, compressionOf, timeAtFraction } from "../fold";
import { laneRevision, cachedArrows, cachedLane, pixelsOfWhole, loadLanes, loadArrows } from "../source";
import {
  collapsed, goTo, groupFirst, hidden, marked, moveTrack, pan, pinned, recording, selection, shownTracks, tab, theme, toggled, transition, view, zoom,
  groupTitle, toneTitle,
} from "../state";
import { axisLabel, axisStep, duration } from "../time";
import { drawLane, hitLane, laneHeight, ROW, type Hit, type Colors } from "./draw";
import { lowFill } from "./palette";

const HEAD = 22;

interface Item {
  top: number;
  height: number;
  head?: string;
  track?: Track;
}

/** Positions of group headings and tracks, top to bottom. */
function layout(tracks: Track[]): { items: Item[]; height: number } {
  const items: Item[] = [];
  let top = 0;
  let group = "";
  const head = (name: string) => {
    items.push({ top, height: HEAD, head: name });
    top += HEAD;
  };
  for (const track of tracks) {
    const its = pinned.value.has(track.id) ? "pinned" : track.group;
    if (its !== group) {
      group = its;
      head(group);
    }
    const height = laneHeight(track.kind, track.rows);
    items.push({ top, height, track });
    top += height;
  }
  const present = new Set<string>(recording.value?.tracks.map((track) => track.group));
  for (const folded of collapsed.value) if (present.has(folded)) head(folded);
  return { items, height: top };
}

function readColors(element: Element, context: CanvasRenderingContext2D): Colors {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return { dark: value("--dark") === "1", text: value("--text"), strip: value("--strip"), low: lowFill(context, value("--strip-low"), value("--strip")), line: value("--line"), bad: value("--bad") };
}

/** Draws an arrow from the readying thread's track to the readied thread's track. */
function drawArrows(context: CanvasRenderingContext2D, arrows: Arrow[], items: Item[], position: (time: number) => number, scroll: number, size: { width: number; height: number }, colors: Colors): void {
  if (arrows.length === 0) return;
  const middle = new Map<number, number>();
  for (const item of items) if (item.track) middle.set(item.track.id, item.top - scroll + Math.min(item.height, ROW + 6) / 2);
  context.strokeStyle = context.fillStyle = colors.text;
  context.lineWidth = 1;
  for (const arrow of arrows) {
    const from = middle.get(arrow.from);
    const to = middle.get(arrow.to);
    const at = Math.round(position(arrow.time_ns)) + 0.5;
    if (from === undefined || to === undefined || at < 0 || at > size.width) continue;
    if (Math.max(from, to) < 0 || Math.min(from, to) > size.height) continue;
    const down = to > from ? 1 : -1;
    const tip = to - down * (ROW / 2 - 2);
    context.globalAlpha = arrow.count > 1 ? 0.9 : 0.6;
    context.beginPath();
    context.moveTo(at, from);
    context.lineTo(at, tip);
    context.stroke();
    context.beginPath();
    context.moveTo(at, tip + down * 2);
    context.lineTo(at - 3, tip - down * 4);
    context.lineTo(at + 3, tip - down * 4);
    context.fill();
  }
  context.globalAlpha = 1;
}

export function Lanes() {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [scroll, setScroll] = useState(0);
  const [size, setSize] = useState({ width: 800, height: 400 });
  const [hover, setHover] = useState<{ x: number; y: number; hit: Hit | null; time: number } | null>(null);
  const drag = useRef<{ x: number; start: number; pan: boolean; moved: boolean } | null>(null);
  const tracks = shownTracks.value;
  const { items, height } = layout(tracks);
  const visible = items.filter((item) => item.top < scroll + size.height && item.top + item.height > scroll);
  const range = view.value;
  // Subscribes to new lane data: the drawing effect below does not.
  void laneRevision.value;
  // A fold hides part of the range, so request more pixels to keep the resolution outside it.
  const pixels = Math.min(16_384, Math.max(64, Math.round(size.width * compressionOf(range))));

  useLayoutEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return;
    const measure = () => {
      setSize({ width: element.clientWidth, height: element.clientHeight });
      // The ribbon above the lanes leaves room for their scroll bar, so that times line up.
      const bar = scroller.current ? scroller.current.offsetWidth - scroller.current.clientWidth : 0;
      document.documentElement.style.setProperty("--bar", `${bar}px`);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const timer = setTimeout(() => void loadLanes(visible.flatMap((item) => (item.track ? [item.track.id] : [])), range, pixels).then(() => {
      if (visible.some((item) => item.track?.group === "critical_path")) return loadArrows(range, pixels);
      return undefined;
    }), 15);
    return () => clearTimeout(timer);
  });

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    void theme.value;
    const ratio = window.devicePixelRatio || 1;
    const [width, tall] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== width || element.height !== tall) [element.width, element.height] = [width, tall];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const colors = readColors(element, context);
    const position = scaleOf(range, size.width);
    const step = axisStep((range.end - range.start) / compressionOf(range), size.width);
    context.fillStyle = colors.line;
    for (const at of gridOf(range, step)) context.fillRect(position(at), 0, 1, size.height);
    for (const phase of transition.value?.phases ?? []) context.fillRect(position(phase.end_ns) - 1, 0, 2, size.height);
    for (const item of visible) {
      if (!item.track) continue;
      const cached = cachedLane(item.track.id, pixelsOfWhole(range, pixels));
      if (cached) drawLane(context, cached.lane, range, size.width, { top: item.top - scroll, height: item.height }, colors);
    }
    const band = (from: number, to: number, fill: string) => {
      context.fillStyle = fill;
      context.fillRect(position(from), 0, Math.max(1, position(to) - position(from)), size.height);
    };
    for (const fold of recording.value?.folds ?? []) band(fold.start_ns, fold.end_ns, colors.dark ? "#ffffff18" : "#00000014");
    context.fillStyle = colors.bad;
    for (const tick of transition.value?.ticks ?? []) {
      const at = position(tick.time_ns);
      if (at >= 0 && at <= size.width) for (let top = 0; top < size.height; top += 6) context.fillRect(at, top, 1, 3);
    }
    drawArrows(context, cachedArrows(range, pixels), items, (time) => position(time), scroll, size, colors);
    if (marked.value) band(marked.value.start, marked.value.end, colors.dark ? "#ffffff1c" : "#1f5fb41c");
    const chosen = selection.value;
    if (chosen?.of === "slice") {
      const item = visible.find((each) => each.track?.id === chosen.track);
      if (item) {
        context.strokeStyle = colors.text;
        context.lineWidth = 2;
        context.strokeRect(position(chosen.start) - 1, item.top - scroll + 1, Math.max(3, position(chosen.end) - position(chosen.start) + 2), item.height - 3);
      }
    }
  });

  const local = (event: MouseEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  };
  const timeAt = (px: number) => timeAtFraction(px / size.width, range);
  const at = (px: number, py: number): { track?: Track; hit: Hit | null } => {
    const item = visible.find((each) => py + scroll >= each.top && py + scroll < each.top + each.height);
    if (!item?.track) return { hit: null };
    const cached = cachedLane(item.track.id, pixelsOfWhole(range, pixels));
    const hit = cached ? hitLane(cached.lane, range, size.width, { top: item.top - scroll, height: item.height }, px, py) : null;
    return { track: item.track, hit };
  };

  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(event.deltaY * 0.0022), timeAt(local(event).x));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan((event.deltaX || event.deltaY) / size.width);
    }
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const { x } = local(event);
    drag.current = { x, start: timeAt(x), pan: event.shiftKey, moved: false };
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const { x, y } = local(event);
    const dragged = drag.current;
    if (dragged) {
      if (Math.abs(x - dragged.x) > 3) dragged.moved = true;
      if (!dragged.moved) return;
      if (dragged.pan) {
        pan((dragged.x - x) / size.width);
        dragged.x = x;
      } else {
        const time = timeAt(x);
        marked.value = { start: Math.min(dragged.start, time), end: Math.max(dragged.start, time) };
        selection.value = null;
        if (tab.value === "findings" || tab.value === "trust") tab.value = "use";
      }
      return;
    }
    setHover({ x, y, hit: at(x, y).hit, time: timeAt(x) });
  };
  const up = (event: PointerEvent) => {
    const dragged = drag.current;
    drag.current = null;
    if (!dragged || dragged.moved) return;
    const { x, y } = local(event);
    const { track, hit } = at(x, y);
    marked.value = null;
    if (track && hit) {
      selection.value = { of: "slice", track: track.id, ...hit };
      if (track.group === "critical_path") tab.value = "why";
      else if (tab.value !== "what" && tab.value !== "use" && tab.value !== "why" && tab.value !== "flame") tab.value = "what";
    } else selection.value = null;
  };
  const doubled = (event: MouseEvent) => {
    const { x, y } = local(event);
    const { hit } = at(x, y);
    if (hit) goTo({ start: hit.start - (hit.end - hit.start) * 0.15, end: hit.end + (hit.end - hit.start) * 0.15 + 1_000 });
    else if (marked.value) goTo(marked.value);
  };

  const step = axisStep((range.end - range.start) / compressionOf(range), size.width);
  const labels = gridOf(range, step).map((time) => ({ left: fractionOf(time, range) * 100, text: axisLabel(Math.abs(time) < step / 1000 ? 0 : time, step) }));

  return (
    <section class="lanes" aria-label="Lanes">
      <div class="axis" aria-hidden="true">
        <div class="corner">{tracks.length} tracks</div>
        <div class="ticks">{labels.map((label) => <span style={{ left: `${label.left}%` }}>{label.text}</span>)}</div>
      </div>
      <div class="scroller" ref={scroller} onScroll={(event) => setScroll(event.currentTarget.scrollTop)} tabIndex={0} role="group" aria-label="Tracks; scroll for more">
        <div class="content" style={{ height: `${height}px` }}>
          <div class="names">
            {visible.map((item) =>
              item.track ? (
                <Name item={item} track={item.track} />
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
            onWheel={wheel}
            onPointerDown={down}
            onPointerMove={move}
            onPointerUp={up}
            onPointerLeave={() => setHover(null)}
            onDblClick={doubled}
          />
          {hover?.hit && (
            <div class="tip" style={{ left: `${Math.min(hover.x + 14, size.width - 260)}px`, top: `${Math.min(hover.y + 14, size.height - 70)}px` }}>
              <b>{hover.hit.label}</b>
              <span>{duration(hover.hit.end - hover.hit.start)}, {duration(hover.hit.start)} to {duration(hover.hit.end)}</span>
              <span>{hover.hit.count > 1 ? `${hover.hit.count} intervals in this pixel; showing the longest` : toneTitle(hover.hit.tone)}</span>
            </div>
          )}
        </div>
      </div>
    </section>
  );
}

function GroupHead({ name, top }: { name: string; top: number }) {
  const title = name === "pinned" ? "Pinned" : groupTitle(name);
  return (
    <div class="group" style={{ top: `${top}px` }}>
      <button type="button" class="fold" aria-expanded={!collapsed.value.has(name)} onClick={() => name !== "pinned" && (collapsed.value = toggled(collapsed.value, name))}>
        {title}
      </button>
      {name !== "pinned" && (
        <button type="button" class="up" aria-label={`Move ${title} to the top`} title="Move this group to the top" onClick={() => groupFirst(name)}>↑</button>
      )}
    </div>
  );
}

function Name({ item, track }: { item: Item; track: Track }) {
  const isPinned = pinned.value.has(track.id);
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
        const other = Number(event.dataTransfer?.getData("text/plain"));
        if (Number.isInteger(other)) drop(other, track.id);
      }}
    >
      <span class="section">{track.section}</span>
      <span class="text">{track.name}</span>
      {track.mark && <em class={`mark ${track.mark.verdict}`} title={`${track.mark.verdict}: ${track.mark.text}, candidate vs. baseline`}>{track.mark.text}</em>}
      <button type="button" aria-pressed={isPinned} aria-label={`Pin ${track.name}`} onClick={() => (pinned.value = toggled(pinned.value, track.id))}>
        {isPinned ? "●" : "○"}
      </button>
      <button type="button" aria-label={`Hide ${track.name}`} onClick={() => (hidden.value = toggled(hidden.value, track.id))}>×</button>
    </div>
  );
}

/** Moves a dragged track before the one it was dropped on, among pinned tracks or within its group. */
function drop(track: number, before: number): void {
  if (track === before) return;
  if (pinned.value.has(track) && pinned.value.has(before)) {
    const order = [...pinned.value].filter((each) => each !== track);
    order.splice(order.indexOf(before), 0, track);
    pinned.value = new Set(order);
  } else moveTrack(track, before);
}
