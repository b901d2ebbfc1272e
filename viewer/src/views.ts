/** Saved views: stored in the address and, per recording, in the browser. */

import { effect } from "@preact/signals";
import { address, page, savedViews, type SavedView } from "./state";

const storageKey = () => `onoff views of ${page.value.recordings.map((recording) => recording.name).join(", ")}`;

/** Loads saved views from the browser. Browsers without storage for this page are fine. */
export function restoreViews(): void {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey()) ?? "[]") as unknown;
    if (!Array.isArray(stored)) return;
    const isView = (value: unknown): value is SavedView =>
      typeof value === "object" &&
      value !== null &&
      typeof (value as SavedView).name === "string" &&
      typeof (value as SavedView).address === "string";
    savedViews.value = stored.filter(isView);
  } catch {
    savedViews.value = [];
  }
}

/** Stores saved views in the browser whenever they change. */
export function persistViews(): void {
  effect(() => {
    const text = JSON.stringify(savedViews.value);
    try {
      localStorage.setItem(storageKey(), text);
    } catch {
      // The address still contains them.
    }
  });
}

/** Saves the current view under a name, replacing a view of the same name. */
export function saveView(name: string): void {
  const cleanName = name.replaceAll("~", " ").trim();
  if (!cleanName) return;
  savedViews.value = [
    ...savedViews.value.filter((view) => view.name !== cleanName),
    { name: cleanName, address: address(false) },
  ];
}

export function deleteView(name: string): void {
  savedViews.value = savedViews.value.filter((view) => view.name !== name);
}
