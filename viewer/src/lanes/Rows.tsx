/**
 * Rows above the lanes, on the same time axis: the chain of threads that a wait depended on, as a stair, or one process
 * with its CPU usage, disk usage and threads.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Rows as Content } from "../data";
import { rangeFraction, timeAtFraction } from "../fold";
import { fetchChain, fetchProcess } from "../source";
import { chain, hiddenTones, page, recordingIndex, selectThread, shownProcess, theme, view } from "../state";
import {
  drawArrows,
  drawLane,
  laneAxis,
  laneHeight,
  readColors,
  ROW,
  sharesAt,
  sliceAtPoint,
  type Hover,
} from "./draw";
import { Tip } from "./Tip";

/** Delay before the rows of a process are fetched again after the view changed, ms. */
const DELAY = 120;

export function Rows() {
  const wait = chain.value;
  const subject = shownProcess.value;
  const range = view.value;
  const [loaded, setLoaded] = useState<{ key: string; content?: Content; error?: string }>({ key: "" });
  const area = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const [hover, setHover] = useState<Hover | null>(null);
  const isServed = page.value.served;
  const what = wait
    ? `chain ${wait.thread} ${wait.start} ${wait.end}`
    : subject
      ? `process ${subject.process} ${subject.time}`
      : "";
  const key = what && `${recordingIndex.value} ${what} ${wait ? "" : `${range.start} ${range.end} ${width}`}`;

  useEffect(() => {
    if (!key || !isServed) return undefined;
    let isCurrent = true;
    const timer = setTimeout(
      () => {
        const answer = wait
          ? fetchChain(wait.thread, wait)
          : subject
            ? fetchProcess(subject.process, subject.time, range, Math.max(64, Math.round(width)))
            : null;
        answer?.then(
          (content) => isCurrent && setLoaded({ key, content }),
          (error: Error) => isCurrent && setLoaded({ key, error: error.message }),
        );
      },
      loaded.key ? DELAY : 0,
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key, isServed]);

  const isSame = loaded.key.startsWith(`${recordingIndex.value} ${what} `);
  const content = isSame ? loaded.content : undefined;
  let height = 0;
  const tops = (content?.rows ?? []).map((row) => {
    const top = height;
    height += laneHeight(row.lane.kind, row.lane.kind === "slices" ? row.lane.rows.length : 1);
    return { top, height: height - top };
  });

  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    setWidth(element.clientWidth);
    observer.observe(element);
    return () => observer.disconnect();
  }, [what]);

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !content) return;
    void [theme.value, hiddenTones.value];
    const ratio = window.devicePixelRatio || 1;
    [element.width, element.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colors = readColors(element, context);
    const axis = laneAxis(range, width);
    content.rows.forEach((row, index) => {
      const bounds = tops[index];
      if (bounds) drawLane(context, row.lane, axis, bounds, colors);
    });
    const centers = new Map(tops.map((bounds, index) => [index, bounds.top + Math.min(bounds.height, ROW + 6) / 2]));
    drawArrows(context, content.arrows, centers, range, { width, height }, colors.text);
  });

  if (!what) return null;
  const close = () => {
    chain.value = null;
    shownProcess.value = wait ? subject : null;
  };
  const at = (event: MouseEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    const [x, y] = [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
    const index = tops.findIndex((bounds) => y >= bounds.top && y < bounds.top + bounds.height);
    const [row, bounds] = [content?.rows[index], tops[index]];
    const time = timeAtFraction(x / width, range);
    const hit = row && bounds ? sliceAtPoint(row.lane, laneAxis(range, width), bounds, x, y) : null;
    return { x, y, hit, row, time, shares: row ? sharesAt(row.lane, time) : [] };
  };
  const title = content?.title ?? (wait ? `Thread ${wait.thread}` : (subject?.name ?? ""));
  const visible =
    rangeFraction(wait?.start ?? range.start, range) <= 1 && rangeFraction(wait?.end ?? range.end, range) >= 0;
  return (
    <section class="rows" aria-label={wait ? "Chain of the wait" : "Process"}>
      <div class="rows-title">
        <b>{title}</b>
        <span class="hint">
          {!isServed
            ? "This file contains no single threads. Open the recording with: onoff view FILE"
            : loaded.error && isSame
              ? loaded.error
              : !content
                ? "Loading…"
                : content.rows.length === 0
                  ? "nothing recorded in this range"
                  : wait
                    ? "each thread waited for the one below it"
                    : ""}
          {content?.omitted ? ` ${content.omitted} more threads are not drawn.` : ""}
          {visible ? "" : " Outside the view."}
        </span>
        <button type="button" aria-label={`Close ${title}`} onClick={close}>
          ×
        </button>
      </div>
      <div class="rows-scroller" tabIndex={0} role="group" aria-label={`${title}: threads`}>
        <div class="rows-names" style={{ height: `${height}px` }}>
          {content?.rows.map((row, index) => (
            <div
              class="name"
              style={{ top: `${tops[index]?.top ?? 0}px`, height: `${tops[index]?.height ?? 0}px` }}
              title={[row.name, row.note].filter(Boolean).join("\n")}
            >
              {row.thread ? (
                <button
                  type="button"
                  class="link text"
                  onClick={() => selectThread(row.thread ?? 0, row.name, wait ?? range)}
                >
                  {row.name}
                </button>
              ) : (
                <span class="text">
                  {row.name} <small>{row.note.split("; ")[1] ?? ""}</small>
                </span>
              )}
            </div>
          ))}
        </div>
        <div class="rows-drawing" ref={area}>
          <canvas
            ref={canvas}
            role="img"
            aria-label={`${title} as a picture; the details below list the same`}
            style={{ width: `${width}px`, height: `${height}px` }}
            onPointerMove={(event) => setHover(at(event))}
            onPointerLeave={() => setHover(null)}
            onClick={(event) => {
              const { hit, row } = at(event);
              if (hit && row) selectThread(hit.thread || row.thread || 0, row.name, hit);
            }}
          />
          {hover && (hover.hit || hover.shares.length > 0) && (
            <Tip {...hover} size={{ width, height: Math.max(height, 90) }} />
          )}
        </div>
      </div>
    </section>
  );
}
