/** Undo and redo. Each entry is a view, stored as an address. */

import { address, applyAddress } from "./state";

const MAX = 200;
const past: string[] = [];
const future: string[] = [];
let current: string | null = null;

/** Adds the current view to the history if it changed. Called once the view has settled. */
export function recordView(): void {
  const now = address(false);
  if (now === current) return;
  if (current !== null) past.push(current);
  if (past.length > MAX) past.shift();
  future.length = 0;
  current = now;
}

export function undo(): void {
  recordView();
  const before = past.pop();
  if (before === undefined || current === null) return;
  future.push(current);
  current = before;
  applyAddress(before);
}

export function redo(): void {
  const next = future.pop();
  if (next === undefined || current === null) return;
  past.push(current);
  current = next;
  applyAddress(next);
}
