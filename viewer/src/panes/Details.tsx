/** The tabs below the lanes: details, breakdown, usage, findings and data quality. */

import type { ComponentChildren } from "preact";
import type { AccountEntry, Phase, Tick, UsageRow } from "../data";
import {
  goTo,
  markedRange,
  page,
  phaseAt,
  recording,
  reveal,
  selectedRange,
  selection,
  shownProcess,
  tab,
  tabs,
  toneTitle,
  transition,
  view,
  phaseDuration,
} from "../state";
import { Compare } from "./Compare";
import { Flame } from "./Flame";
import { Ranges } from "./Ranges";
import { CopyButtons, Table, type Cell } from "./Table";
import { Waits } from "./Waits";
import { Why } from "./Why";
import { bytes, formatCost, duration } from "../time";
import { RemoveFinding } from "../WhatIf";

export function Details() {
  const body = {
    what: <SelectionDetails />,
    account: <Breakdown />,
    findings: <Findings />,
    use: page.value.served ? <Ranges /> : <PhaseUsage />,
    trust: <DataQuality />,
    compare: <Compare />,
    why: <Why />,
    flame: <Flame />,
  }[tab.value];
  const isPending = recording.value?.is_partial && tab.value !== "what" && tab.value !== "trust";
  const switchTab = (event: KeyboardEvent) => {
    const offset = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!offset) return;
    const index = tabs.value.findIndex(([name]) => name === tab.value);
    const next = tabs.value[(index + offset + tabs.value.length) % tabs.value.length];
    if (!next) return;
    tab.value = next[0];
    document.getElementById(`tab-${next[0]}`)?.focus();
  };
  return (
    <section class="details" aria-label="Details">
      <div class="tabs" role="tablist" onKeyDown={switchTab}>
        {tabs.value.map(([name, title]) => (
          <button
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={tab.value === name}
            aria-controls="pane"
            tabIndex={tab.value === name ? 0 : -1}
            onClick={() => (tab.value = name)}
          >
            {title}
            {name === "findings" && !recording.value?.is_partial && <em>{transition.value?.findings.length ?? 0}</em>}
            {name === "trust" && <em>{recording.value?.losses.length ?? 0}</em>}
          </button>
        ))}
      </div>
      <div class="pane" id="pane" role="tabpanel" aria-labelledby={`tab-${tab.value}`} tabIndex={0}>
        {isPending ? <p class="pending">Being read: {page.value.reading}</p> : body}
      </div>
    </section>
  );
}

const formatRange = (start: number, end: number) => `${duration(end - start)}, ${duration(start)} to ${duration(end)}`;

/** The selected phase, or the phase that contains most of the selection or view. */
function currentPhase(): Phase | undefined {
  const chosen = selection.value;
  if (chosen?.kind === "phase") return transition.value?.phases.find((phase) => phase.name === chosen.name);
  return phaseAt(selectedRange() ?? view.value);
}

function SelectionDetails() {
  const chosen = selection.value;
  const current = transition.value;
  if (chosen?.kind === "slice") {
    const track = recording.value?.tracks.find((candidate) => candidate.id === chosen.track);
    const phase = phaseAt({ start: chosen.start, end: chosen.end + 1 });
    const within = { start: Math.max(chosen.start, view.value.start), end: Math.min(chosen.end, view.value.end) };
    return (
      <div class="columns selected">
        <Facts
          title={chosen.label}
          rows={[
            ["Time", formatRange(chosen.start, chosen.end)],
            [
              "State",
              chosen.count > 1
                ? `${chosen.count} intervals in one pixel; showing the longest. Zoom in to see each.`
                : toneTitle(chosen.tone),
            ],
            ["Track", [track?.section, track?.name].filter(Boolean).join(" · ")],
            ["", track?.note ?? ""],
            ["Phase", phase?.title ?? ""],
            ["Critical path", phase ? pathSubjects(phase, chosen.start, chosen.end) : ""],
          ]}
        >
          {chosen.process > 0 && (
            <button
              type="button"
              onClick={() =>
                (shownProcess.value = {
                  process: chosen.process,
                  time: chosen.start,
                  name: `process ${chosen.process}`,
                })
              }
            >
              Show its CPU, disks and threads
            </button>
          )}
        </Facts>
        {chosen.thread > 0 && chosen.end > chosen.start && <Waits thread={chosen.thread} process={0} range={chosen} />}
        {chosen.thread > 0 && chosen.end === chosen.start && (
          <Waits thread={chosen.thread} process={0} range={aroundSlice(chosen)} />
        )}
        {chosen.thread === 0 && chosen.process > 0 && within.start < within.end && (
          <Waits thread={0} process={chosen.process} range={within} />
        )}
      </div>
    );
  }
  if (chosen?.kind === "thread") {
    return (
      <div class="columns selected">
        <Facts
          title={chosen.label || `thread ${chosen.thread}`}
          rows={[
            ["Range", formatRange(chosen.start, chosen.end)],
            ["Phase", phaseAt(chosen)?.title ?? ""],
          ]}
        />
        <Waits thread={chosen.thread} process={0} range={chosen} />
      </div>
    );
  }
  if (chosen?.kind === "phase") {
    const phase = currentPhase();
    if (!phase) return <p>This phase does not exist here.</p>;
    return (
      <Facts
        title={phase.title}
        rows={[
          ["", phase.explains],
          ["Time", formatRange(phase.start_ns, phase.end_ns)],
          [
            "Duration",
            phase.is_open
              ? `at least ${duration(phaseDuration(phase))}: its end is not in the recording`
              : phase.idle_ns
                ? `${duration(phaseDuration(phase))}, then ${duration(phase.idle_ns)} of idle time`
                : duration(phaseDuration(phase)),
          ],
          ["Ends with", phase.rule],
          ["Event", phase.event],
          ["Certainty", phase.certainty === "missing" ? "unknown" : phase.certainty],
          [
            "Largest contributor",
            phase.account[0] ? `${phase.account[0].subject}, ${duration(phase.account[0].ns)}` : "",
          ],
        ]}
      />
    );
  }
  if (markedRange.value)
    return (
      <Facts
        title="Selected range"
        rows={[
          ["Time", formatRange(markedRange.value.start, markedRange.value.end)],
          ["", "“Range” shows CPU and disk usage, “Critical path” shows the waits. Press F to zoom in, Esc to clear."],
        ]}
      />
    );
  return (
    <div>
      <h2>{current?.title}</h2>
      {current?.headline.map((line) => (
        <p>{line}</p>
      ))}
      {(current?.unplaced.length ?? 0) > 0 && (
        <ul>
          {current?.unplaced.map((line) => (
            <li>{line}</li>
          ))}
        </ul>
      )}
      {(current?.still_running.length ?? 0) > 0 && <h2>Still running when the recording ended</h2>}
      <Times ticks={current?.still_running ?? []} />
      <Times ticks={current?.ticks ?? []} />
      <p class="hint">
        Click a phase or an interval for details. Drag to select a range. Press ? for keyboard shortcuts.
      </p>
    </div>
  );
}

/** Times with what happened then; each goes to its time. */
function Times({ ticks }: { ticks: Tick[] }) {
  if (ticks.length === 0) return null;
  return (
    <dl>
      {ticks.map((tick) => (
        <div>
          <dt>
            <button type="button" class="link" onClick={() => goTo(around(tick.time_ns))}>
              {duration(tick.time_ns)}
            </button>
          </dt>
          <dd>{tick.label}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The view around an event, which has no duration: the waits of its thread at that time. */
function aroundSlice(slice: { start: number }): { start: number; end: number } {
  const half = (view.value.end - view.value.start) / 2;
  return { start: slice.start - half, end: slice.start + half };
}

/** A tenth of the view, centered on a time. */
function around(time: number): { start: number; end: number } {
  const half = (view.value.end - view.value.start) / 20;
  return { start: time - half, end: time + half };
}

function pathSubjects(phase: Phase, start: number, end: number): string {
  const parts = new Map<string, number>();
  for (const entry of phase.account) {
    for (const [intervalStart, intervalEnd] of entry.intervals) {
      const covered = Math.min(end, intervalEnd) - Math.max(start, intervalStart);
      if (covered > 0) parts.set(entry.subject, (parts.get(entry.subject) ?? 0) + covered);
    }
  }
  return [...parts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 4)
    .map(([subject, ns]) => `${subject} ${duration(ns)}`)
    .join(", ");
}

function Facts({ title, rows, children }: { title: string; rows: [string, string][]; children?: ComponentChildren }) {
  return (
    <div class="facts">
      <h2>{title}</h2>
      <dl>
        {rows
          .filter(([, text]) => text)
          .map(([name, text]) => (
            <div>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
      </dl>
      {children}
    </div>
  );
}

function longestInterval(entry: AccountEntry): [number, number] | undefined {
  return [...entry.intervals].sort((a, b) => b[1] - b[0] - (a[1] - a[0]))[0];
}

function Breakdown() {
  const phase = currentPhase();
  if (!phase) return <p>Select a phase to see its breakdown.</p>;
  if (phase.account.length === 0)
    return <p>No breakdown of {phase.title}: context switches and ready-thread events were not recorded.</p>;
  const length = phase.end_ns - phase.start_ns;
  return (
    <Table
      title={`${phase.title}: ${duration(length)} by subject`}
      head={["Subject", "Kind", "Time", "Share", "Details", "Certainty"]}
      rows={phase.account.map((entry) => [
        entry.subject,
        entry.kind,
        { text: duration(entry.ns), number: entry.ns },
        { text: `${((entry.ns / length) * 100).toFixed(1)} %`, number: (entry.ns / length) * 100 },
        entry.actions,
        entry.certainty === "missing" ? "unknown" : entry.certainty,
      ])}
      onSelect={(index) => {
        const entry = phase.account[index];
        const longest = entry && longestInterval(entry);
        if (longest) {
          const [start, end] = longest;
          markedRange.value = { start, end };
          goTo({ start: start - (end - start) * 0.2, end: end + (end - start) * 0.2 });
        }
      }}
    />
  );
}

function Findings() {
  const findings = transition.value?.findings ?? [];
  if (findings.length === 0) return <p>No findings above the thresholds.</p>;
  return (
    <div>
      <p class="choices">
        <CopyButtons
          rows={() => [
            ["Cost", "Finding", "Evidence", "Advice", "Rule"],
            ...findings.map((finding) => [
              formatCost(finding, "unknown"),
              finding.title,
              finding.evidence,
              finding.advice,
              finding.code,
            ]),
          ]}
        />
      </p>
      <ol class="findings">
        {findings.map((finding, index) => (
          <li aria-current={selection.value?.kind === "finding" && selection.value.index === index}>
            <RemoveFinding finding={finding} index={index} />{" "}
            <button type="button" class="link" onClick={() => showFinding(index)}>
              <b>{formatCost(finding, "cost unknown")}</b> {finding.title}
            </button>
            <p>{finding.evidence}</p>
            <p class="advice">{finding.advice}</p>
            <p class="hint">
              {finding.code}
              {finding.certainty === "inferred" ? ", inferred" : ""}; known false positives: {finding.explained_by}
            </p>
          </li>
        ))}
      </ol>
    </div>
  );
}

export function showFinding(index: number): void {
  const finding = transition.value?.findings[index];
  if (!finding) return;
  selection.value = { kind: "finding", index };
  reveal(finding.track);
  tab.value = "findings";
  if (finding.start_ns !== null && finding.end_ns !== null) {
    const length = Math.max(finding.end_ns - finding.start_ns, 1_000);
    markedRange.value = { start: finding.start_ns, end: finding.end_ns };
    goTo({ start: finding.start_ns - length * 0.2, end: finding.end_ns + length * 0.2 });
  }
}

/** Usage without a server: the totals of the phase that contains most of the range. */
function PhaseUsage() {
  const range = selectedRange() ?? view.value;
  const phase = phaseAt(range);
  if (!phase) return <p>No phase in this range.</p>;
  const rows = (list: UsageRow[]): Cell[][] =>
    list.map((row) => [
      row.name,
      row.detail,
      { text: duration(row.ns), number: row.ns },
      row.count ? { text: String(row.count), number: row.count } : "",
      row.bytes ? { text: bytes(row.bytes), number: row.bytes } : "",
    ]);
  const head = ["Name", "Detail", "Time", "Requests", "Bytes"];
  return (
    <div>
      <p class="hint">
        {phase.title} (this file contains totals per phase; run onoff view FILE for any range and grouping)
      </p>
      <div class="columns">
        <Table
          title="CPU by process"
          head={head.slice(0, 3)}
          rows={rows(phase.usage.processors).map((row) => row.slice(0, 3))}
        />
        <Table title="Disks by process" head={head} rows={rows(phase.usage.disks)} />
        <Table title="Disks by file" head={head} rows={rows(phase.usage.files)} />
      </div>
    </div>
  );
}

function DataQuality() {
  const current = recording.value;
  const section = (title: string, children: ComponentChildren) => (
    <div>
      <h2>{title}</h2>
      {children}
    </div>
  );
  return (
    <div>
      {current?.beyond_axis && section("Isolated times", <p>{current.beyond_axis}</p>)}
      {current?.gaps.length
        ? section(
            "Where the recorder lost all events (inferred from the silence)",
            <p class="choices">
              {current.gaps.slice(0, 60).map((gap) => (
                <button
                  type="button"
                  onClick={() =>
                    goTo({
                      start: gap.start_ns - (gap.end_ns - gap.start_ns),
                      end: gap.end_ns + (gap.end_ns - gap.start_ns),
                    })
                  }
                >
                  {duration(gap.start_ns)}: {duration(gap.end_ns - gap.start_ns)}
                </button>
              ))}
            </p>,
          )
        : null}
      {section(
        current?.losses.length ? "Losses" : "No losses",
        <dl>
          {current?.losses.map((loss) => (
            <div>
              <dt>
                {loss.count} · {loss.severity}
              </dt>
              <dd>
                <b>{loss.name}</b>: {loss.means}
              </dd>
            </div>
          ))}
        </dl>,
      )}
      {current?.missing.length
        ? section(
            "Not recorded, and how to record it",
            <dl>
              {current.missing.map((item) => (
                <div>
                  <dt>{item.what}</dt>
                  <dd>{item.record}</dd>
                </div>
              ))}
            </dl>,
          )
        : null}
    </div>
  );
}
