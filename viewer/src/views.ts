/** Saved views: stored in the address and, per recording, in the browser. */

import { effect } from "@preact/signals";
import { address, page, saved, type SavedView } from "./state";

const storageKey = () => `onoff views of ${page.value.recordings.map((each) => each.name).join(", ")}`;

/** Loads saved views from the browser. Browsers without storage for this page are fine. */
export function restoreViews(): void {
  try {
    const known = JSON.parse(localStorage.getItem(storageKey()) ?? "[]") as unknown;
    if (!Array.isArray(known)) return;
    const isView = (each: unknown): each is SavedView =>
      typeof each === "object" && each !== null && typeof (each as SavedView).name === "string" && typeof (each as SavedView).address === "string";
    saved.value = known.filter(isView);
  } catch {
    saved.value = [];
  }
}

/** Stores saved views in the browser whenever they change. */
export function persistViews(): void {
  effect(() => {
    const text = JSON.stringify(saved.value);
    try {
      localStorage.setItem(storageKey(), text);
    } catch {
      // The address still contains them.
    }
  });
}

/** Saves the current view under a name, replacing a view of the same name. */
export function saveView(name: string): void {
  const clean = name.replaceAll("~", " ").trim();
  if (!clean) return;
  saved.value = [...saved.value.filter((each) => each.name !== clean), { name: clean, address: address(false) }];
}

export function deleteView(name: string): void {
  saved.value = saved.value.filter((each) => each.name !== name);
}
