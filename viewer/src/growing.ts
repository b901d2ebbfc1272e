/** Follows a page that grows while the program reads large files: first the phases, then everything. */

import { batch } from "@preact/signals";
import { readPage, type Page } from "./data";
import { clearCaches, serverError } from "./source";
import { address, applyAddress, page, recordingIndex, transitionIndex, view } from "./state";
import { restoreViews } from "./views";

/** The address of the page as it was last shown, before anybody chose anything on it. */
let shownAddress = "";

/** Shows a page with more content. Keeps what the user has chosen meanwhile. */
export function showNewer(next: Page, wanted: string, isOther = page.value.recordings.length === 0): void {
  // The first picture does not know the tracks that the address names, so it is applied again with everything.
  const applies = isOther || address() === shownAddress;
  const [from, to] = [view.value.start, view.value.end];
  batch(() => {
    clearCaches();
    page.value = next;
    restoreViews();
    if (applies) applyAddress(wanted);
    else view.value = { start: from, end: to };
    if (transitionIndex.value >= (next.recordings[recordingIndex.value]?.transitions.length ?? 0))
      transitionIndex.value = 0;
  });
  if (applies) shownAddress = address();
}

/** Asks the server for the rest of the page until everything is read. */
export async function followReading(): Promise<void> {
  const wanted = location.hash.slice(1);
  while (page.value.served && page.value.reading) {
    let next: Page;
    try {
      const response = await fetch(`page?after=${page.value.revision}`, { credentials: "same-origin" });
      if (!response.ok) throw new Error(`HTTP status ${response.status}`);
      next = readPage(await response.text());
    } catch (error) {
      serverError.value = `onoff stopped while it was reading (${error instanceof Error ? error.message : String(error)}).`;
      page.value = { ...page.value, reading: "" };
      return;
    }
    if (next.revision !== page.value.revision) showNewer(next, wanted);
    else page.value = { ...page.value, reading: next.reading, not_shown: next.not_shown };
  }
}
