/** Explains what is under the pointer: an interval, or the shares of a strip. */

import { toneTitle } from "../state";
import { duration } from "../time";
import type { Hover } from "./draw";

interface Props extends Hover {
  size: { width: number; height: number };
}

export function Tip({ x, y, time, hit, shares, size }: Props) {
  const style = {
    left: `${Math.max(0, Math.min(x + 14, size.width - 260))}px`,
    top: `${Math.max(0, Math.min(y + 14, size.height - 24 - 20 * (hit ? 2 : shares.length)))}px`,
  };
  if (hit) {
    return (
      <div class="tip" style={style}>
        <b>{hit.label}</b>
        <span>
          {duration(hit.end - hit.start)}, {duration(hit.start)} to {duration(hit.end)}
        </span>
        <span>{hit.count > 1 ? `${hit.count} intervals in this pixel; showing the longest` : toneTitle(hit.tone)}</span>
      </div>
    );
  }
  return (
    <div class="tip" style={style}>
      <b>{duration(time)}</b>
      {shares.map(([name, percent]) => (
        <span>
          {percent.toFixed(0)} % {name}
        </span>
      ))}
    </div>
  );
}
