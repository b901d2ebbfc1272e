import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./App";
import { readPage } from "./data";
import { settle } from "./history";
import { onKey } from "./keys";
import { address, follow, page, theme } from "./state";
import { keepViews, recallViews } from "./views";
import "./style.css";

const root = document.getElementById("page");
if (root) {
  try {
    page.value = readPage(document.getElementById("page-data")?.textContent ?? "");
    recallViews();
    follow(location.hash.slice(1));
    keepViews();
    let timer = 0;
    effect(() => {
      const next = address();
      clearTimeout(timer);
      // Browsers refuse an address that changes too often.
      timer = window.setTimeout(() => {
        history.replaceState(null, "", `#${next}`);
        settle();
      }, 200);
    });
    effect(() => {
      document.documentElement.dataset["theme"] = theme.value;
    });
    addEventListener("hashchange", () => follow(location.hash.slice(1)));
    addEventListener("keydown", onKey);
    document.title = `${page.value.recordings[0]?.name ?? "onoff"} · onoff`;
    render(<App />, root);
  } catch (error) {
    root.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  }
}
