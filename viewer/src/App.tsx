/** The page, top to bottom: header, phases, findings, lanes, details. */

import type { Transition } from "./data";
import { Compare } from "./panes/Compare";
import { Details, showFinding } from "./panes/Details";
import { Drop, NotShown } from "./Drop";
import { Lanes } from "./lanes/Lanes";
import { Legend } from "./Legend";
import { Keys, Palette, Views } from "./Palette";
import { PrintTables } from "./PrintTables";
import { Overview, Ribbon } from "./Ribbon";
import { hasReader, reading } from "./reader";
import { serverError } from "./source";
import {
  chain,
  shownProcess,
  trackFilter,
  goTo,
  goToBreadcrumb,
  homeRange,
  rangeName,
  page,
  recording,
  recordingIndex,
  savedViews,
  selection,
  sheet,
  showRecording,
  tab,
  breadcrumbs,
  removedFindings,
  transition,
  transitionIndex,
  view,
  entireRange,
} from "./state";
import { formatCost, duration } from "./time";
import { RemoveFinding } from "./WhatIf";

const NO_TRANSITION =
  "This recording contains neither the start nor the end of a boot, shutdown or sleep. It is shown as far as it goes.";

export function App() {
  const current = recording.value;
  if (!current && page.value.comparison) return <ComparisonOnly />;
  if (!current) return <Drop />;
  const findings = transition.value?.findings ?? [];
  return (
    <main>
      <header>
        <h1>{current.name}</h1>
        <span class="machine">{current.machine}</span>
        {page.value.recordings.length > 1 && (
          <select
            aria-label="Recording"
            value={recordingIndex.value}
            onChange={(event) =>
              page.value.comparison
                ? showRecording(Number(event.currentTarget.value))
                : choose(
                    Number(event.currentTarget.value),
                    page.value.recordings[Number(event.currentTarget.value)]?.first ?? 0,
                  )
            }
          >
            {page.value.recordings.map((choice, index) => (
              <option value={index}>{choice.name}</option>
            ))}
          </select>
        )}
        {current.transitions.length > 1 && (
          <select
            aria-label="Transition"
            value={transitionIndex.value}
            onChange={(event) => choose(recordingIndex.value, Number(event.currentTarget.value))}
          >
            {current.transitions.map((choice, index) => (
              <option value={index}>{choice.title}</option>
            ))}
          </select>
        )}
        <button
          type="button"
          class={current.losses.length || current.beyond_axis ? "trust bad" : "trust"}
          onClick={() => (tab.value = "trust")}
        >
          {current.is_partial
            ? `Reading ${page.value.reading}`
            : current.losses.length
              ? `⚠ ${current.losses.length} ${current.losses.length === 1 ? "loss" : "losses"}`
              : "✓ no losses"}
          {current.missing.length ? `, ${current.missing.length} not recorded` : ""}
          {current.beyond_axis ? ", isolated times" : ""}
        </button>
        <span class="grow" />
        {hasReader && (
          <button type="button" onClick={() => (page.value = { ...page.value, recordings: [] })}>
            Open files
          </button>
        )}
        <button type="button" onClick={() => (sheet.value = "views")}>
          Saved views{savedViews.value.length ? ` (${savedViews.value.length})` : ""}
        </button>
        <button type="button" onClick={() => (sheet.value = "palette")}>
          Search <kbd>/</kbd>
        </button>
        <button type="button" onClick={() => (sheet.value = "keys")} aria-label="Keyboard shortcuts">
          <kbd>?</kbd>
        </button>
      </header>
      {reading.value && !current.is_partial && <p role="status">Reading {reading.value} …</p>}
      <NotShown />
      {serverError.value && (
        <p class="lost" role="alert">
          {serverError.value}
        </p>
      )}
      <p class="headline">{page.value.comparison?.answer[0] ?? answer(transition.value)}</p>
      <Ribbon />
      {current.is_partial && <p class="chips pending">Findings follow when everything is read.</p>}
      {findings.length > 0 && (
        <nav class="chips" aria-label="Findings">
          {findings.slice(0, 6).map((finding, index) => (
            <span class="chip">
              <RemoveFinding finding={finding} index={index} />
              <button
                type="button"
                title={finding.evidence}
                aria-pressed={selection.value?.kind === "finding" && selection.value.index === index}
                onClick={() => showFinding(index)}
              >
                <b>{formatCost(finding, "?")}</b> {finding.title}
              </button>
            </span>
          ))}
        </nav>
      )}
      <div class="bar">
        <input
          type="search"
          aria-label="Filter tracks"
          placeholder="Filter tracks"
          value={trackFilter.value}
          onInput={(event) => (trackFilter.value = event.currentTarget.value)}
        />
        <Overview />
        <nav class="crumbs" aria-label="Zoom history">
          <button type="button" onClick={() => goTo(entireRange.value)}>
            Everything
          </button>
          {breadcrumbs.value.length > 3 && <small>…</small>}
          {breadcrumbs.value
            .map((range, index) => ({ range, index }))
            .slice(-3)
            .map(({ range, index }) => (
              <button type="button" class="crumb" onClick={() => goToBreadcrumb(index)}>
                {rangeName(range)} ▸
              </button>
            ))}
          <span>
            {duration(view.value.start)} to {duration(view.value.end)} ({duration(view.value.end - view.value.start)})
          </span>
        </nav>
      </div>
      {current.is_partial ? <p class="lanes pending">Lanes follow when everything is read.</p> : <Legend />}
      {!current.is_partial && <Lanes />}
      <Details />
      {sheet.value === "palette" && <Palette />}
      {sheet.value === "keys" && <Keys />}
      {sheet.value === "views" && <Views />}
      <PrintTables />
    </main>
  );
}

/** The length of the transition, and what to fix first. */
function answer(current: Transition | undefined): string {
  if (!current) return NO_TRANSITION;
  return [current.headline[0] ?? current.title, current.fix_first].filter(Boolean).join(" ");
}

/** A comparison without lanes: network boots, firmware tables, saved baselines. */
function ComparisonOnly() {
  return (
    <main class="alone">
      <header>
        <h1>{page.value.comparison?.sides.map((side) => side.name).join(" and ")}</h1>
      </header>
      <div class="pane">
        <Compare />
      </div>
    </main>
  );
}

function choose(newRecording: number, newTransition: number): void {
  recordingIndex.value = newRecording;
  transitionIndex.value = newTransition;
  selection.value = null;
  removedFindings.value = new Set();
  breadcrumbs.value = [];
  chain.value = shownProcess.value = null;
  view.value = homeRange.value;
}
