import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./App";
import { readPage } from "./data";
import { recordView } from "./history";
import { followReading } from "./growing";
import { onKey } from "./keys";
import { hasReader, openDropped } from "./reader";
import { address, applyAddress, page, theme } from "./state";
import { persistViews, restoreViews } from "./views";
import "./style.css";

const root = document.getElementById("page");
if (root) {
  try {
    page.value = readPage(document.getElementById("page-data")?.textContent ?? "");
    restoreViews();
    applyAddress(location.hash.slice(1));
    persistViews();
    let timer = 0;
    effect(() => {
      const next = address();
      // The address may name tracks that are not read yet.
      if (page.value.reading) return;
      clearTimeout(timer);
      // Browsers limit how often the address may change.
      timer = window.setTimeout(() => {
        history.replaceState(null, "", `#${next}`);
        recordView();
      }, 200);
    });
    effect(() => {
      document.documentElement.dataset["theme"] = theme.value;
    });
    addEventListener("hashchange", () => applyAddress(location.hash.slice(1)));
    addEventListener("keydown", onKey);
    if (hasReader) {
      addEventListener("dragover", (event) => event.preventDefault());
      addEventListener("drop", (event) => {
        event.preventDefault();
        void openDropped(event.dataTransfer);
      });
    }
    effect(() => {
      const name = page.value.recordings[0]?.name;
      document.title = name ? `${name} · onoff` : "onoff";
    });
    render(<App />, root);
    void followReading();
  } catch (error) {
    root.textContent = `Cannot show this page: ${error instanceof Error ? error.message : String(error)}`;
  }
}
