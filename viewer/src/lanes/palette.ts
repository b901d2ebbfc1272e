/** Colors and patterns of tones. Each tone has both, so that none is told apart by color alone. */

import { TONES, type Tone } from "../data";

type Pattern = "solid" | "rising" | "falling" | "dots" | "cross" | "bars";

const LOOK: Record<Tone, [light: string, dark: string, pattern: Pattern, means: string]> = {
  present: ["#b9c2d0", "#465163", "solid", "alive"],
  container: ["#8fb3e0", "#38618f", "falling", "container: the host process starts"],
  load: ["#5b8fd6", "#4f86cf", "bars", "image load"],
  initialize: ["#1f5fb4", "#7db2f5", "solid", "starts or stops"],
  blocked: ["#b3432b", "#e5785d", "solid", "driver blocks its caller"],
  pended: ["#e6a68f", "#8a4735", "rising", "pended: completes later"],
  ran: ["#2e8b57", "#57b884", "solid", "ran"],
  ready: ["#c9a227", "#d9b84a", "dots", "ready, but no processor was free"],
  disk: ["#7a4fb5", "#ab86e0", "bars", "waited for a disk"],
  timer: ["#d07c1f", "#eb9c45", "rising", "waited for a timer"],
  interrupt: ["#c2417a", "#e873a5", "falling", "waited for a device"],
  service: ["#2b8a99", "#59bccb", "rising", "waited for a service"],
  unknown: ["#9a9a9a", "#737373", "cross", "not known"],
  notified: ["#4a6fa5", "#86a7d8", "solid", "notified, until it answered"],
  work: ["#527a5f", "#7fae8f", "solid", "work"],
  failed: ["#c01818", "#ff6b6b", "cross", "failed or timed out"],
};

export const toneName = (tone: number): Tone => TONES[tone] ?? "unknown";
export const toneMeans = (tone: number): string => LOOK[toneName(tone)][3];

export function toneColor(tone: number, dark: boolean): string {
  const [light, darker] = LOOK[toneName(tone)];
  return dark ? darker : light;
}

const made = new Map<string, CanvasPattern | string>();

/** What to fill time at low priority with: a hatched strip. */
export function lowFill(context: CanvasRenderingContext2D, color: string, line: string): CanvasPattern | string {
  const name = `low${color}${line}`;
  const known = made.get(name);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const draw = tile.getContext("2d");
  if (!draw) return color;
  draw.fillStyle = color;
  draw.fillRect(0, 0, 6, 6);
  draw.strokeStyle = line;
  draw.lineWidth = 1.4;
  draw.beginPath();
  for (const at of [-6, 0, 6]) (draw.moveTo(at, 6), draw.lineTo(at + 6, 0));
  draw.stroke();
  const fill = context.createPattern(tile, "repeat") ?? color;
  made.set(name, fill);
  return fill;
}

/** What to fill a tone with: its color, overlaid with its pattern. */
export function toneFill(context: CanvasRenderingContext2D, tone: number, dark: boolean): CanvasPattern | string {
  const name = `${tone}${dark}`;
  const known = made.get(name);
  if (known) return known;
  const color = toneColor(tone, dark);
  const pattern = LOOK[toneName(tone)][2];
  let fill: CanvasPattern | string = color;
  if (pattern !== "solid") {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const draw = tile.getContext("2d");
    if (draw) {
      draw.fillStyle = color;
      draw.fillRect(0, 0, 8, 8);
      draw.strokeStyle = draw.fillStyle = dark ? "#0007" : "#fff9";
      draw.lineWidth = 1.6;
      draw.beginPath();
      if (pattern === "rising" || pattern === "cross") for (const at of [-8, 0, 8]) (draw.moveTo(at, 8), draw.lineTo(at + 8, 0));
      if (pattern === "falling" || pattern === "cross") for (const at of [-8, 0, 8]) (draw.moveTo(at, 0), draw.lineTo(at + 8, 8));
      if (pattern === "bars") for (const at of [2, 6]) (draw.moveTo(at, 0), draw.lineTo(at, 8));
      draw.stroke();
      if (pattern === "dots") for (const [x, y] of [[1, 1], [5, 5]] as const) draw.fillRect(x, y, 2, 2);
      fill = context.createPattern(tile, "repeat") ?? color;
    }
  }
  made.set(name, fill);
  return fill;
}
