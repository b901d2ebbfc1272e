/** The phases over the whole width, the search for the end of PostBoot below them, and time limits as ticks. */

import { shareOf } from "./fold";
import type { Band, Phase } from "./data";
import { baselineOf, goTo, page, recording, recordingIndex, selection, tab, transition, view, whole, type Range } from "./state";
import { duration } from "./time";

/** What a phase took, as every verb says it: without the idle time that ends it and the time in which a person was waited for. */
export const took = (phase: Phase): number => phase.end_ns - phase.start_ns - phase.idle_ns - phase.person_ns;

const place = (range: Range, start: number, end: number) => {
  const left = Math.max(0, shareOf(start, range));
  const right = Math.min(1, shareOf(end, range));
  return right <= left ? null : { left: `${left * 100}%`, width: `${(right - left) * 100}%` };
};

function explain(phase: Phase): string {
  const how = phase.certainty === "measured" ? "measured" : phase.certainty === "inferred" ? "inferred" : "not known";
  const long = phase.is_open ? `at least ${duration(took(phase))}` : `${duration(took(phase))}${phase.idle_ns ? `, then ${duration(phase.idle_ns)} of idle time` : ""}`;
  const ends = phase.is_open ? "Its end is not in the recording." : phase.rule ? `Ends with: ${phase.rule} (${how}).` : "Not known what set its end.";
  return [`${phase.title}: ${long}`, phase.explains, ends, phase.event]
    .filter(Boolean)
    .join("\n");
}

export function Ribbon() {
  const it = transition.value;
  if (!it) return null;
  const range = view.value;
  const chosen = selection.value;
  return (
    <section class="ribbon" aria-label="Phases">
      <div class="label">Phases</div>
      <div class="track">
        {it.phases.map((phase, index) => {
          const style = place(range, phase.start_ns, phase.end_ns);
          if (!style) return null;
          return (
            <button
              type="button"
              class={`phase shade${index % 6} ${phase.certainty} ${phase.start_ns < 0 ? "before" : ""} ${phase.is_open ? "open" : ""}`}
              style={style}
              title={explain(phase)}
              aria-pressed={chosen?.of === "phase" && chosen.name === phase.name}
              aria-label={`${phase.title}, ${phase.is_open ? "at least " : ""}${duration(took(phase))}, ${phase.certainty === "missing" ? "end not known" : phase.certainty}`}
              onClick={() => {
                selection.value = { of: "phase", name: phase.name };
                if (tab.value === "findings" || tab.value === "trust") tab.value = "account";
              }}
              onDblClick={() => goTo({ start: phase.start_ns, end: phase.end_ns })}
            >
              <span>{phase.title}</span> <span class="long">{phase.is_open ? "≥ " : ""}{duration(took(phase))}</span>
            </button>
          );
        })}
        <Folds range={range} />
        {it.ticks.map((tick) => {
          const at = shareOf(tick.time_ns, range);
          const said = `${duration(tick.time_ns)}: ${tick.label}`;
          return at < 0 || at > 1 ? null : <span class="tick" style={{ left: `${at * 100}%` }} title={said} role="img" aria-label={said} />;
        })}
      </div>
      <BaselineRow range={range} />
      {it.band && <BandRow band={it.band} range={range} />}
    </section>
  );
}

/** How long each phase took in the baseline, from the same start: what sticks out was longer, what falls short was shorter. */
function BaselineRow({ range }: { range: Range }) {
  const comparison = page.value.comparison;
  const medians = baselineOf.value;
  const own = comparison?.sides.findIndex((side) => side.recording === recordingIndex.value);
  if (!comparison || own !== 1 || medians.size === 0) return null;
  return (
    <>
      <div class="label" title="The median of each phase in the baseline, drawn from the start of the same phase here.">{comparison.sides[0]?.name ?? "baseline"}</div>
      <div class="track before">
        {transition.value?.phases.map((phase, index) => {
          const was = medians.get(phase.name);
          const style = was === undefined ? null : place(range, phase.start_ns, phase.start_ns + was);
          if (was === undefined || !style) return null;
          const by = took(phase) - was;
          const said = `${phase.title}: ${duration(was)} in the baseline, ${duration(took(phase))} here (${by > 0 ? "+" : ""}${duration(by)})`;
          return <span class={`was shade${index % 6} ${index % 2 ? "low" : ""}`} style={style} title={said} role="img" aria-label={said} />;
        })}
      </div>
    </>
  );
}

/** The time asleep: a torn strip, as wide as it is drawn; a mark where the recording's clock stood still. */
function Folds({ range }: { range: Range }) {
  return (
    <>
      {recording.value?.folds.map((fold) => {
        const left = shareOf(fold.start_ns, range);
        const right = shareOf(fold.end_ns, range);
        if (right < 0 || left > 1) return null;
        const [from, to] = [Math.max(0, left), Math.min(1, right)];
        return (
          <span class="asleep" style={{ left: `${from * 100}%`, width: `${Math.max(0, to - from) * 100}%` }} title={fold.text} role="img" aria-label={fold.text}>
            <b>asleep{fold.slept_ns === null ? "" : ` ${duration(fold.slept_ns)}`}</b>
          </span>
        );
      })}
    </>
  );
}

function BandRow({ band, range }: { band: Band; range: Range }) {
  const first = band.slices[0];
  const last = band.slices[band.slices.length - 1];
  if (!first || !last || !place(range, first.start_ns, last.end_ns)) return null;
  const cells = band.slices.filter((slice) => slice.end_ns > range.start && slice.start_ns < range.end);
  // More cells than pixels would be drawn for nothing; neighbors of one state become one.
  const runs: typeof cells = [];
  for (const cell of cells) {
    const before = runs[runs.length - 1];
    if (before && before.state === cell.state && before.end_ns === cell.start_ns) {
      runs[runs.length - 1] = { ...cell, start_ns: before.start_ns };
    } else runs.push(cell);
  }
  return (
    <>
      <div class="label" title="Each slice is idle or busy; work at low priority does not count as busy. The boot is over when enough idle time is found.">
        Idle so far
      </div>
      <div class="track band" role="img" aria-label={`${duration(last.idle_so_far_ns)} of ${duration(band.required_ns)} idle time found`}>
        {runs.map((cell) => (
          <span
            class={`cell ${cell.state}`}
            style={place(range, cell.start_ns, cell.end_ns) ?? {}}
            title={`${duration(cell.start_ns)} to ${duration(cell.end_ns)}: ${cell.state}${cell.note ? `, ${cell.note}` : ""}\n${duration(cell.idle_so_far_ns)} of ${duration(band.required_ns)} idle time found`}
          >
            {cell.state === "idle" ? duration(cell.idle_so_far_ns) : ""}
          </span>
        ))}
        <svg class="sum" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
          <polyline points={sum(band, range)} />
        </svg>
      </div>
    </>
  );
}

/** The running sum of idle time, from nothing at the bottom to all that is required at the top. */
function sum(band: Band, range: Range): string {
  const every = Math.max(1, Math.ceil(band.slices.length / 400));
  const kept = band.slices.filter((_, at) => at % every === 0 || at === band.slices.length - 1);
  const height = (ns: number) => (1 - Math.min(1, ns / Math.max(1, band.required_ns))).toFixed(3);
  const points = kept.map((slice) => `${shareOf(slice.end_ns, range).toFixed(5)},${height(slice.idle_so_far_ns)}`);
  return [`${shareOf(band.slices[0]?.start_ns ?? 0, range).toFixed(5)},1`, ...points].join(" ");
}

export function Overview() {
  const all = whole.value;
  const range = view.value;
  const style = place(all, range.start, range.end);
  return (
    <div class="overview" aria-hidden="true">
      {transition.value?.phases.map((phase, index) => (
        <span class={`shade${index % 6}`} style={place(all, phase.start_ns, phase.end_ns) ?? {}} />
      ))}
      <i style={style ?? {}} />
    </div>
  );
}
