/** Views with a name: they are part of the address, and the browser remembers them for the recording. */

import { effect } from "@preact/signals";
import { address, page, saved, type SavedView } from "./state";

const place = () => `onoff views of ${page.value.recordings.map((each) => each.name).join(", ")}`;

/** Reads what the browser remembers; a browser that remembers nothing for such pages is no fault. */
export function recallViews(): void {
  try {
    const known = JSON.parse(localStorage.getItem(place()) ?? "[]") as unknown;
    if (!Array.isArray(known)) return;
    const isView = (each: unknown): each is SavedView =>
      typeof each === "object" && each !== null && typeof (each as SavedView).name === "string" && typeof (each as SavedView).address === "string";
    saved.value = known.filter(isView);
  } catch {
    saved.value = [];
  }
}

/** Has the browser remember from now on. */
export function keepViews(): void {
  effect(() => {
    const text = JSON.stringify(saved.value);
    try {
      localStorage.setItem(place(), text);
    } catch {
      // The address has them all the same.
    }
  });
}

/** Gives the present view a name; one of that name is replaced. */
export function saveView(name: string): void {
  const clean = name.replaceAll("~", " ").trim();
  if (!clean) return;
  saved.value = [...saved.value.filter((each) => each.name !== clean), { name: clean, address: address(false) }];
}

export function forgetView(name: string): void {
  saved.value = saved.value.filter((each) => each.name !== name);
}
