/** Undo and redo. Each entry is a view, stored as an address. */

import { address, applyAddress } from "./state";

const MAX_ENTRIES = 200;
const past: string[] = [];
const future: string[] = [];
let current: string | null = null;

/** Adds the current view to the history if it changed. Called once the view has settled. */
export function recordView(): void {
  const view = address(false);
  if (view === current) return;
  if (current !== null) past.push(current);
  if (past.length > MAX_ENTRIES) past.shift();
  future.length = 0;
  current = view;
}

export function undo(): void {
  recordView();
  const previous = past.pop();
  if (previous === undefined || current === null) return;
  future.push(current);
  current = previous;
  applyAddress(previous);
}

export function redo(): void {
  const next = future.pop();
  if (next === undefined || current === null) return;
  past.push(current);
  current = next;
  applyAddress(next);
}
