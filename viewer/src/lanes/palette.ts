/** Colors and patterns of tones. Each tone has both, so that tones can be distinguished without color. */

import { page } from "../state";

type Pattern = "solid" | "rising" | "falling" | "dots" | "cross" | "bars";

const UNKNOWN: [light: string, dark: string, pattern: Pattern] = ["#9a9a9a", "#737373", "cross"];

const STYLES: Record<string, [light: string, dark: string, pattern: Pattern]> = {
  present: ["#b9c2d0", "#465163", "solid"],
  container: ["#8fb3e0", "#38618f", "falling"],
  load: ["#5b8fd6", "#4f86cf", "bars"],
  initialize: ["#1f5fb4", "#7db2f5", "solid"],
  blocked: ["#b3432b", "#e5785d", "solid"],
  pended: ["#e6a68f", "#8a4735", "rising"],
  ran: ["#2e8b57", "#57b884", "solid"],
  ready: ["#c9a227", "#d9b84a", "dots"],
  disk: ["#7a4fb5", "#ab86e0", "bars"],
  timer: ["#d07c1f", "#eb9c45", "rising"],
  interrupt: ["#c2417a", "#e873a5", "falling"],
  service: ["#2b8a99", "#59bccb", "rising"],
  unknown: UNKNOWN,
  notified: ["#4a6fa5", "#86a7d8", "solid"],
  work: ["#527a5f", "#7fae8f", "solid"],
  failed: ["#c01818", "#ff6b6b", "cross"],
  thread: ["#a9b4c6", "#5a677b", "falling"],
};

const styleOf = (tone: number) => STYLES[page.value.legend.tones[tone]?.name ?? ""] ?? UNKNOWN;

export function toneColor(tone: number, dark: boolean): string {
  const [light, darker] = styleOf(tone);
  return dark ? darker : light;
}

/** Color of a tone in the current theme, for the legend. */
export const toneSwatch = (tone: number): string => {
  const [light, dark] = styleOf(tone);
  return `light-dark(${light}, ${dark})`;
};

const fillCache = new Map<string, CanvasPattern | string>();

/** Hatched fill for low-priority CPU time. */
export function lowPriorityFill(
  context: CanvasRenderingContext2D,
  color: string,
  line: string,
): CanvasPattern | string {
  const name = `low${color}${line}`;
  const cached = fillCache.get(name);
  if (cached) return cached;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const draw = tile.getContext("2d");
  if (!draw) return color;
  draw.fillStyle = color;
  draw.fillRect(0, 0, 6, 6);
  draw.strokeStyle = line;
  draw.lineWidth = 1.4;
  draw.beginPath();
  for (const x of [-6, 0, 6]) draw.moveTo(x, 6), draw.lineTo(x + 6, 0);
  draw.stroke();
  const fill = context.createPattern(tile, "repeat") ?? color;
  fillCache.set(name, fill);
  return fill;
}

/** Fill of a tone: its color, overlaid with its pattern. */
export function toneFill(context: CanvasRenderingContext2D, tone: number, dark: boolean): CanvasPattern | string {
  const name = `${tone}${dark}`;
  const cached = fillCache.get(name);
  if (cached) return cached;
  const color = toneColor(tone, dark);
  const pattern = styleOf(tone)[2];
  let fill: CanvasPattern | string = color;
  if (pattern !== "solid") {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const draw = tile.getContext("2d");
    if (draw) {
      draw.fillStyle = color;
      draw.fillRect(0, 0, 8, 8);
      draw.strokeStyle = draw.fillStyle = dark ? "#0006" : "#fff7";
      draw.lineWidth = 1.6;
      draw.beginPath();
      if (pattern === "rising" || pattern === "cross")
        for (const x of [-8, 0, 8]) draw.moveTo(x, 8), draw.lineTo(x + 8, 0);
      if (pattern === "falling" || pattern === "cross")
        for (const x of [-8, 0, 8]) draw.moveTo(x, 0), draw.lineTo(x + 8, 8);
      if (pattern === "bars") for (const x of [2, 6]) draw.moveTo(x, 0), draw.lineTo(x, 8);
      draw.stroke();
      if (pattern === "dots")
        for (const [x, y] of [
          [1, 1],
          [5, 5],
        ] as const)
          draw.fillRect(x, y, 2, 2);
      fill = context.createPattern(tile, "repeat") ?? color;
    }
  }
  fillCache.set(name, fill);
  return fill;
}
