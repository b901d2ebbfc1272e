/** The predicted transition without the chosen findings, below the measured phases. */

import { useEffect, useState } from "preact/hooks";
import type { Finding, PredictedDuration, WhatIf } from "./data";
import { cssBounds } from "./Ribbon";
import { fetchWhatIf } from "./source";
import { recordingIndex, removedFindings, toggled, transition, transitionIndex, type Range } from "./state";
import { duration } from "./time";

/** Differences below this are not shown as a range, ns. Must match `MIN_SHOWN_NS` in the Rust code. */
const MIN_SHOWN_NS = 1e6;

const formatRange = ({ ns, min_ns, max_ns }: PredictedDuration) =>
  `${duration(ns)}${max_ns - min_ns < MIN_SHOWN_NS ? "" : ` (${duration(min_ns)} to ${duration(max_ns)})`}`;

/** Checkbox that predicts the transition without a finding; nothing for a finding without a prediction. */
export function RemoveFinding({ finding, index }: { finding: Finding; index: number }) {
  if (finding.changes.length === 0) return null;
  const label = `Predict without: ${finding.title}`;
  return (
    <input
      type="checkbox"
      aria-label={label}
      title={label}
      checked={removedFindings.value.has(index)}
      onChange={() => (removedFindings.value = toggled(removedFindings.value, index))}
    />
  );
}

export function WhatIfRow({ range }: { range: Range }) {
  const findings = [...removedFindings.value]
    .filter((index) => transition.value?.findings[index]?.changes.length)
    .sort((a, b) => a - b);
  const key = `${recordingIndex.value}/${transitionIndex.value}/${findings.join(",")}`;
  const [state, setState] = useState<{ key: string; answer?: WhatIf; error?: string }>({ key: "" });
  useEffect(() => {
    if (findings.length === 0) return;
    // Answers may arrive in another order than the questions.
    let isCurrent = true;
    fetchWhatIf(findings).then(
      (answer) => isCurrent && setState({ key, answer }),
      (error: Error) => isCurrent && setState({ key, error: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  if (findings.length === 0) return null;
  const { answer, error } = state.key === key ? state : { answer: undefined, error: undefined };
  return (
    <>
      <div
        class="label"
        title="Predicted duration of each phase, drawn from the start of the measured phase. Hatched: time saved."
      >
        Predicted
      </div>
      <div class="track predicted">
        {answer?.predicted &&
          transition.value?.phases.map((phase) => {
            const row = answer.phases.find((candidate) => candidate.name === phase.name);
            if (!row?.predicted) return null;
            const end = phase.start_ns + row.predicted.ns;
            const [kept, saved] = [
              cssBounds(range, phase.start_ns, end),
              cssBounds(range, end, phase.start_ns + row.measured_ns),
            ];
            const text = `${phase.title}: ${formatRange(row.predicted)} instead of ${duration(row.measured_ns)}`;
            return (
              <>
                {saved && <span class="saved" style={saved} title={text} />}
                {kept && (
                  <span class={`shade${phase.shade}`} style={kept} title={text} role="img" aria-label={text}>
                    {duration(row.predicted.ns)}
                  </span>
                )}
              </>
            );
          })}
      </div>
      <p class="prediction" role="status">
        {answer?.predicted && (
          <b>
            {duration(answer.measured_ns)} → {formatRange(answer.predicted)}{" "}
          </b>
        )}
        {answer
          ? [answer.headline, ...answer.reasons, answer.first_culprit && `First culprit then: ${answer.first_culprit}.`]
              .filter(Boolean)
              .join(" ")
          : (error ?? "Predicting …")}{" "}
        {answer && <code>onoff what-if FILE {answer.arguments}</code>}{" "}
        <button type="button" onClick={() => (removedFindings.value = new Set())}>
          Clear
        </button>
      </p>
    </>
  );
}
