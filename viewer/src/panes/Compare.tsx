/** Comparison of two sets of runs: measures with a dot per run, and the subjects that explain the difference. */

import type { Explanation, Measure, Measures, Side } from "../data";
import { goTo, page, recordingIndex, selection, showRecording, transition } from "../state";
import { bytes, duration } from "../time";

const value = (unit: string, amount: number | null): string =>
  amount === null
    ? "–"
    : unit === "ns"
      ? duration(amount)
      : unit === "bytes"
        ? `${amount < 0 ? "-" : ""}${bytes(Math.abs(amount))}`
        : String(amount);
const signed = (unit: string, amount: number): string => `${amount > 0 ? "+" : ""}${value(unit, amount)}`;
const VERDICTS: Record<string, string> = { same: "within noise", unknown: "" };

/** File name of a run, with its folder if another run has the same file name. */
function shortName(name: string, all: string[]): string {
  const parts = name.split(/[\\/]/);
  const fileName = parts[parts.length - 1] ?? name;
  const isAmbiguous = all.filter((other) => other.split(/[\\/]/).pop() === fileName).length > 1;
  return isAmbiguous ? parts.slice(-2).join("/") : fileName;
}

export function Compare() {
  const comparison = page.value.comparison;
  if (!comparison) return <p>No comparison. Create one with: onoff view --baseline OLD… --candidate NEW…</p>;
  return (
    <div class="compare">
      <h2>{comparison.answer[0]}</h2>
      {comparison.answer.slice(1).map((line) => (
        <p>{line}</p>
      ))}
      {comparison.explanations.some((explanation) => explanation.parts.length > 0) && (
        <section>
          <h2>Explanation of the difference</h2>
          {comparison.explanations
            .filter((explanation) => explanation.difference_ns !== 0)
            .map((explanation, _, all) => (
              <ExplanationBar explanation={explanation} largest={Math.max(...all.map(totalChange))} />
            ))}
        </section>
      )}
      <Legend sides={comparison.sides} />
      {comparison.lists.map((list) => (
        <List list={list} />
      ))}
      {comparison.moved.length > 0 && (
        <section>
          <h2>Changed order in every run</h2>
          <ul>
            {comparison.moved.map((line) => (
              <li>{line}</li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

const totalChange = (explanation: Explanation): number =>
  explanation.parts.reduce((sum, part) => sum + Math.abs(part.difference_ns), 0) +
  Math.abs(explanation.unexplained_ns) +
  Math.abs(explanation.opposing_ns);

/** A sentence, and a bar of parts that add up to the difference. */
function ExplanationBar({ explanation, largest }: { explanation: Explanation; largest: number }) {
  const total = totalChange(explanation);
  const widthOf = (ns: number) => `${(Math.abs(ns) / Math.max(1, total)) * 100}%`;
  const show = () => {
    const phase = transition.value?.phases.find((candidate) => candidate.name === explanation.phase);
    selection.value = { kind: "phase", name: explanation.phase };
    if (phase) goTo({ start: phase.start_ns, end: phase.end_ns });
  };
  return (
    <div class="explained">
      <p>
        {explanation.sentence}{" "}
        <button type="button" class="link" onClick={show}>
          Show {explanation.phase}
        </button>
      </p>
      <div class="parts" aria-hidden="true" style={{ width: `${(total / Math.max(1, largest)) * 100}%` }}>
        {explanation.parts.map((part, index) => (
          <span
            class={`shade${index % 5} ${part.difference_ns < 0 ? "less" : ""}`}
            style={{ width: widthOf(part.difference_ns) }}
            title={`${part.name} (${part.kind}): ${duration(part.after_ns)}, was ${duration(part.before_ns)}`}
          >
            {part.name} {signed("ns", part.difference_ns)}
          </span>
        ))}
        {explanation.opposing_ns !== 0 && (
          <span
            class="less"
            style={{ width: widthOf(explanation.opposing_ns) }}
            title="Subjects that changed in the opposite direction"
          >
            others {signed("ns", explanation.opposing_ns)}
          </span>
        )}
        {explanation.unexplained_ns !== 0 && (
          <span
            class="left"
            style={{ width: widthOf(explanation.unexplained_ns) }}
            title="Not attributed to any subject"
          >
            unexplained {duration(Math.abs(explanation.unexplained_ns))}
          </span>
        )}
      </div>
    </div>
  );
}

function Legend({ sides }: { sides: Side[] }) {
  const names = sides.flatMap((side) => side.runs.map((run) => run.name));
  return (
    <dl class="sides">
      {sides.map((side, index) => (
        <div>
          <dt>
            <svg width="14" height="12" aria-hidden="true">
              <Dot side={index} x={7} y={6} />
            </svg>{" "}
            {side.name}, {side.runs.length} {side.runs.length === 1 ? "run" : "runs"}
          </dt>
          <dd>
            {side.runs.map((run, runIndex) => (
              <span class={run.exclusions.length ? "apart" : ""} title={[run.name, ...run.exclusions].join("\n")}>
                {shortName(run.name, names)}
                {run.exclusions.length ? ` (excluded: ${run.exclusions.join("; ")})` : ""}
                {side.shown_run === runIndex && side.recording !== null ? " (lanes shown)" : ""}
                {runIndex + 1 < side.runs.length ? ", " : ""}
              </span>
            ))}
            {side.recording !== null && side.recording !== recordingIndex.value && (
              <>
                {" "}
                <button type="button" onClick={() => side.recording !== null && showRecording(side.recording)}>
                  Show lanes
                </button>
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Marker of a run: ring for the baseline, filled square for the candidate, so that color is not needed. */
function Dot({
  side,
  x,
  y,
  title,
  isExcluded,
}: {
  side: number;
  x: number;
  y: number;
  title?: string;
  isExcluded?: boolean;
}) {
  const className = `dot side${side}${isExcluded ? " apart" : ""}`;
  return side === 0 ? (
    <circle class={className} cx={x} cy={y} r={3.4}>
      {title && <title>{title}</title>}
    </circle>
  ) : (
    <rect class={className} x={x - 3.2} y={y - 3.2} width={6.4} height={6.4}>
      {title && <title>{title}</title>}
    </rect>
  );
}

const DOTS_WIDTH = 300;

/** A dot for each run on a scale from zero, and a line at each median. */
function Dots({ row }: { row: Measure }) {
  const sides = page.value.comparison?.sides ?? [];
  const largest = Math.max(1, ...row.values.flat().map((amount) => amount ?? 0));
  const x = (amount: number) => 6 + (Math.max(0, amount) / largest) * (DOTS_WIDTH - 12);
  const label = sides
    .map(
      (side, index) => `${side.name}: ${(row.values[index] ?? []).map((amount) => value(row.unit, amount)).join(", ")}`,
    )
    .join("; ");
  return (
    <svg class="dots" width={DOTS_WIDTH} height={30} role="img" aria-label={label}>
      <line x1={6} y1={15} x2={DOTS_WIDTH - 6} y2={15} />
      {row.values.map((values, side) => {
        const y = side === 0 ? 8 : 22;
        const median = row.medians[side];
        return (
          <g>
            {median !== null && median !== undefined && (
              <line class={`median side${side}`} x1={x(median)} y1={y - 6} x2={x(median)} y2={y + 6} />
            )}
            {values.map((amount, runIndex) => {
              if (amount === null) return null;
              const run = sides[side]?.runs[runIndex];
              const reason = run?.exclusions.join("; ") ?? "";
              return (
                <Dot
                  side={side}
                  x={x(amount)}
                  y={y}
                  isExcluded={reason !== ""}
                  title={`${run?.name ?? ""}: ${value(row.unit, amount)}${reason ? ` (excluded: ${reason})` : ""}`}
                />
              );
            })}
          </g>
        );
      })}
    </svg>
  );
}

function List({ list }: { list: Measures }) {
  const sides = page.value.comparison?.sides ?? [];
  const isComplete = list.rows.length === list.of;
  return (
    <figure class="table">
      <figcaption>
        {list.title}
        {isComplete ? "" : ` (${list.rows.length} of ${list.of} changed)`}
      </figcaption>
      <table>
        <thead>
          <tr>
            <th scope="col">Measure</th>
            <th scope="col">Runs (scale from 0)</th>
            {sides.map((side) => (
              <th scope="col" class="number">
                {side.name}
              </th>
            ))}
            <th scope="col" class="number">
              Change
            </th>
            <th scope="col" class="number">
              95 % interval
            </th>
            <th scope="col" class="number">
              Noise
            </th>
            <th scope="col" class="number">
              p
            </th>
            <th scope="col">Verdict</th>
          </tr>
        </thead>
        <tbody>
          {list.rows.map((row) => (
            <tr class={row.verdict}>
              <th scope="row" title={row.key}>
                {row.label}
              </th>
              <td>
                <Dots row={row} />
              </td>
              {row.medians.map((median) => (
                <td class="number">{value(row.unit, median)}</td>
              ))}
              <td class="number">
                {row.difference === null ? "" : signed(row.unit, row.difference)}
                {row.percent === null || Math.abs(row.percent) > 9_999
                  ? ""
                  : ` (${row.percent > 0 ? "+" : ""}${row.percent.toFixed(1)} %)`}
              </td>
              <td class="number">
                {row.interval ? `${signed(row.unit, row.interval[0])} to ${signed(row.unit, row.interval[1])}` : ""}
              </td>
              <td class="number">{row.noise === null ? "" : value(row.unit, row.noise)}</td>
              <td class="number">
                {row.p_value === null ? "" : row.p_value < 0.001 ? "<0.001" : row.p_value.toFixed(3)}
              </td>
              <td>{VERDICTS[row.verdict] ?? row.verdict}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
