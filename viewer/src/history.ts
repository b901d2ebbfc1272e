/** What was shown before, to undo: every view is an address. */

import { address, follow } from "./state";

const MAX = 200;
const past: string[] = [];
const future: string[] = [];
let current: string | null = null;

/** Notes what is shown once it has come to rest. */
export function settle(): void {
  const now = address(false);
  if (now === current) return;
  if (current !== null) past.push(current);
  if (past.length > MAX) past.shift();
  future.length = 0;
  current = now;
}

export function undo(): void {
  settle();
  const before = past.pop();
  if (before === undefined || current === null) return;
  future.push(current);
  current = before;
  follow(before);
}

export function redo(): void {
  const next = future.pop();
  if (next === undefined || current === null) return;
  past.push(current);
  current = next;
  follow(next);
}
