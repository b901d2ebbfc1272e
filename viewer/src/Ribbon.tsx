/** The phases as a ribbon, with timeouts as ticks and the search for the end of PostBoot below. */

import { rangeFraction } from "./fold";
import type { Band, Phase } from "./data";
import {
  baselineMedians,
  goTo,
  page,
  phaseDuration,
  recording,
  recordingIndex,
  selection,
  tab,
  transition,
  view,
  entireRange,
  type Range,
} from "./state";
import { duration } from "./time";
import { WhatIfRow } from "./WhatIf";

export const cssBounds = (range: Range, start: number, end: number) => {
  const left = Math.max(0, rangeFraction(start, range));
  const right = Math.min(1, rangeFraction(end, range));
  return right <= left ? null : { left: `${left * 100}%`, width: `${(right - left) * 100}%` };
};

/** The text of a phase: title, duration, and the idle time that does not count. */
const phaseText = (phase: Phase): string =>
  [
    phase.title,
    `${phase.is_open ? "≥ " : ""}${duration(phaseDuration(phase))}`,
    phase.idle_ns > 0 ? `${duration(phase.idle_ns)} idle, not counted` : "",
  ]
    .filter(Boolean)
    .join(" ");

function explain(phase: Phase): string {
  const certainty =
    phase.certainty === "measured" ? "measured" : phase.certainty === "inferred" ? "inferred" : "unknown";
  const length = phase.is_open
    ? `at least ${duration(phaseDuration(phase))}`
    : `${duration(phaseDuration(phase))}${phase.idle_ns ? `, then ${duration(phase.idle_ns)} of idle time` : ""}`;
  const ends = phase.is_open
    ? "Its end is not in the recording."
    : phase.rule
      ? `Ends with: ${phase.rule} (${certainty}).`
      : "End: unknown.";
  return [`${phase.title}: ${length}`, phase.explains, ends, phase.event].filter(Boolean).join("\n");
}

export function Ribbon() {
  const current = transition.value;
  if (!current) return null;
  const range = view.value;
  const chosen = selection.value;
  return (
    <section class="ribbon" aria-label="Phases">
      <div class="label">Phases</div>
      <div class="track">
        {current.phases.map((phase) => {
          const style = cssBounds(range, phase.start_ns, phase.end_ns);
          if (!style) return null;
          return (
            <button
              type="button"
              class={`phase shade${phase.shade} ${phase.certainty} ${phase.start_ns < 0 ? "before" : ""} ${phase.is_open ? "open" : ""}`}
              style={style}
              title={explain(phase)}
              aria-pressed={chosen?.kind === "phase" && chosen.name === phase.name}
              aria-label={`${phaseText(phase)}, ${phase.certainty === "missing" ? "end unknown" : phase.certainty}`}
              onClick={() => {
                selection.value = { kind: "phase", name: phase.name };
                if (tab.value === "findings" || tab.value === "trust") tab.value = "account";
              }}
              onDblClick={() => goTo({ start: phase.start_ns, end: phase.end_ns })}
            >
              <span>{phase.title}</span>{" "}
              <span class="long">
                {phase.is_open ? "≥ " : ""}
                {duration(phaseDuration(phase))}
              </span>{" "}
              {phase.idle_ns > 0 && <IdleTail phase={phase} range={range} />}
            </button>
          );
        })}
        <Folds range={range} />
        <Gaps range={range} />
        {current.ticks.map((tick) => {
          const position = rangeFraction(tick.time_ns, range);
          const text = `${duration(tick.time_ns)}: ${tick.label}`;
          return position < 0 || position > 1 ? null : (
            <span class="tick" style={{ left: `${position * 100}%` }} title={text} role="img" aria-label={text} />
          );
        })}
      </div>
      <WhatIfRow range={range} />
      <BaselineRow range={range} />
      {current.band && <BandRow band={current.band} range={range} />}
    </section>
  );
}

/** The idle time at the end of a phase, which does not count as part of it. */
function IdleTail({ phase, range }: { phase: Phase; range: Range }) {
  const shown = { start: Math.max(phase.start_ns, range.start), end: Math.min(phase.end_ns, range.end) };
  const style = cssBounds(shown, phase.end_ns - phase.idle_ns, phase.end_ns);
  return (
    style && (
      <span class="uncounted" style={style}>
        {duration(phase.idle_ns)} idle, not counted
      </span>
    )
  );
}

/** Median duration of each phase in the baseline, drawn from the start of the same phase in this run. */
function BaselineRow({ range }: { range: Range }) {
  const comparison = page.value.comparison;
  const medians = baselineMedians.value;
  const sideIndex = comparison?.sides.findIndex((side) => side.recording === recordingIndex.value);
  if (!comparison || sideIndex !== 1 || medians.size === 0) return null;
  return (
    <>
      <div
        class="label"
        title="Median duration of each phase in the baseline, drawn from the start of the same phase in this run."
      >
        {comparison.sides[0]?.name ?? "baseline"}
      </div>
      <div class="track before">
        {transition.value?.phases.map((phase, index) => {
          const median = medians.get(phase.name);
          const style = median === undefined ? null : cssBounds(range, phase.start_ns, phase.start_ns + median);
          if (median === undefined || !style) return null;
          const difference = phaseDuration(phase) - median;
          const text = `${phase.title}: ${duration(median)} in the baseline, ${duration(phaseDuration(phase))} in this run (${difference > 0 ? "+" : ""}${duration(difference)})`;
          return (
            <span
              class={`was shade${phase.shade} ${index % 2 ? "low" : ""}`}
              style={style}
              title={text}
              role="img"
              aria-label={text}
            />
          );
        })}
      </div>
    </>
  );
}

/** Time asleep: a hatched strip at its folded width, or a thin mark where the recording's clock stopped. */
function Folds({ range }: { range: Range }) {
  return (
    <>
      {recording.value?.folds.map((fold) => {
        const left = rangeFraction(fold.start_ns, range);
        const right = rangeFraction(fold.end_ns, range);
        if (right < 0 || left > 1) return null;
        const [visibleLeft, visibleRight] = [Math.max(0, left), Math.min(1, right)];
        return (
          <span
            class="asleep"
            style={{ left: `${visibleLeft * 100}%`, width: `${Math.max(0, visibleRight - visibleLeft) * 100}%` }}
            title={fold.text}
            role="img"
            aria-label={fold.text}
          >
            <b>asleep{fold.slept_ns === null ? "" : ` ${duration(fold.slept_ns)}`}</b>
          </span>
        );
      })}
    </>
  );
}

/** Time in which the recorder lost all events. */
function Gaps({ range }: { range: Range }) {
  return (
    <>
      {recording.value?.gaps.map((gap) => {
        const style = cssBounds(range, gap.start_ns, gap.end_ns);
        const text = `No event for ${duration(gap.end_ns - gap.start_ns)} from ${duration(gap.start_ns)}: the recorder lost events`;
        return style && <span class="gap" style={style} title={text} role="img" aria-label={text} />;
      })}
    </>
  );
}

function BandRow({ band, range }: { band: Band; range: Range }) {
  const first = band.slices[0];
  const last = band.slices[band.slices.length - 1];
  if (!first || !last || !cssBounds(range, first.start_ns, last.end_ns)) return null;
  const cells = band.slices.filter((slice) => slice.end_ns > range.start && slice.start_ns < range.end);
  // Merge neighbors with the same state: there can be more cells than pixels.
  const runs: typeof cells = [];
  for (const cell of cells) {
    const previous = runs[runs.length - 1];
    if (previous && previous.state === cell.state && previous.end_ns === cell.start_ns) {
      runs[runs.length - 1] = { ...cell, start_ns: previous.start_ns };
    } else runs.push(cell);
  }
  return (
    <>
      <div
        class="label"
        title="Each slice is idle or busy; low-priority work does not count as busy. The boot ends once the required idle time has accumulated."
      >
        Idle so far
      </div>
      <div
        class="track band"
        role="img"
        aria-label={`${duration(last.idle_so_far_ns)} of ${duration(band.required_ns)} idle time accumulated`}
      >
        {runs.map((cell) => (
          <span
            class={`cell ${cell.state}`}
            style={cssBounds(range, cell.start_ns, cell.end_ns) ?? {}}
            title={`${duration(cell.start_ns)} to ${duration(cell.end_ns)}: ${cell.state}${cell.note ? `, ${cell.note}` : ""}\n${duration(cell.idle_so_far_ns)} of ${duration(band.required_ns)} idle time accumulated`}
          >
            {cell.state === "idle" ? duration(cell.idle_so_far_ns) : ""}
          </span>
        ))}
        <svg class="sum" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
          <polyline points={idleTimePolyline(band, range)} />
        </svg>
      </div>
    </>
  );
}

/** Polyline of the accumulated idle time: zero at the bottom, the required amount at the top. */
function idleTimePolyline(band: Band, range: Range): string {
  const stride = Math.max(1, Math.ceil(band.slices.length / 400));
  const kept = band.slices.filter((_, index) => index % stride === 0 || index === band.slices.length - 1);
  const height = (ns: number) => (1 - Math.min(1, ns / Math.max(1, band.required_ns))).toFixed(3);
  const points = kept.map(
    (slice) => `${rangeFraction(slice.end_ns, range).toFixed(5)},${height(slice.idle_so_far_ns)}`,
  );
  return [`${rangeFraction(band.slices[0]?.start_ns ?? 0, range).toFixed(5)},1`, ...points].join(" ");
}

export function Overview() {
  const all = entireRange.value;
  const range = view.value;
  const style = cssBounds(all, range.start, range.end);
  return (
    <div class="overview" aria-hidden="true">
      {transition.value?.phases.map((phase) => (
        <span class={`shade${phase.shade}`} style={cssBounds(all, phase.start_ns, phase.end_ns) ?? {}} />
      ))}
      <i style={style ?? {}} />
    </div>
  );
}
