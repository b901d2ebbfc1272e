/** The critical path as sentences, for the selected step, interval, phase or range. */

import { useEffect, useState } from "preact/hooks";
import type { Step, Steps } from "../data";
import { fetchSteps } from "../source";
import {
  goTo,
  markedRange,
  phaseAt,
  page,
  recording,
  selectedRange,
  selection,
  showEvents,
  stepTone,
  toneTitle,
  view,
  type Range,
} from "../state";
import { CopyButtons } from "./Table";
import { duration } from "../time";

/** Range of the listed steps: for a selected step, the surrounding steps are included. */
function pathRange(): Range {
  const chosen = selection.value;
  const track =
    chosen?.kind === "slice" ? recording.value?.tracks.find((candidate) => candidate.id === chosen.track) : undefined;
  const range = selectedRange() ?? view.value;
  if (chosen?.kind === "phase") return range;
  if (track?.group !== "critical_path") return range;
  const margin = Math.max((range.end - range.start) * 4, 20e6);
  return { start: range.start - margin, end: range.end + margin };
}

export function Why() {
  const range = pathRange();
  const [steps, setSteps] = useState<Steps | null>(null);
  const [open, setOpen] = useState<Step | null>(null);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      fetchSteps(range).then(
        (answer) => current && setSteps(answer),
        () => current && setSteps(null),
      );
    }, 60);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [range.start, range.end, recording.value]);
  const chosen = selection.value;
  const isChosen = (step: Step) =>
    chosen?.kind === "slice" &&
    chosen.start < step.end_ns &&
    chosen.end > step.start_ns &&
    Math.min(chosen.end, step.end_ns) - Math.max(chosen.start, step.start_ns) > 0;
  useEffect(() => {
    document.querySelector(".chain [aria-current='true']")?.scrollIntoView({ block: "nearest" });
  }, [steps, chosen]);
  if (!steps) return <p class="hint">Loading…</p>;
  if (steps.steps.length === 0) {
    return (
      <p>
        No critical path in this range: it is not part of a phase with a critical path, or context switches and
        ready-thread events were not recorded.
      </p>
    );
  }
  const phase = phaseAt(range);
  return (
    <div>
      <p class="hint wide">
        Critical path{phase ? ` to the end of ${phase.title}` : ""}, {duration(range.start)} to {duration(range.end)}
        {steps.omitted ? `; ${steps.omitted} shorter steps not listed` : ""}.
        {page.value.served ? "" : " This file contains the longest steps of each phase."}{" "}
        <CopyButtons
          rows={() => [
            ["Start", "Duration", "Kind", "Step", "Certainty"],
            ...steps.steps.map((step) => [
              duration(step.start_ns),
              duration(step.end_ns - step.start_ns),
              step.kind.replace("_", " "),
              step.sentence,
              step.certainty,
            ]),
          ]}
        />
      </p>
      <ol class="chain">
        {steps.steps.map((step) => (
          <li aria-current={isChosen(step)}>
            <span class="when">{duration(step.start_ns)}</span>
            <b>{duration(step.end_ns - step.start_ns)}</b>
            <span class={`kind tone${stepTone(step.kind)}`} title={toneTitle(stepTone(step.kind))}>
              {step.kind.replace("_", " ")}
            </span>
            <button type="button" class="link" onClick={() => show(step)}>
              {step.sentence}
            </button>
            <span class="hint">
              {step.certainty === "missing" ? " unknown" : step.certainty === "inferred" ? " inferred" : ""}
            </span>
            {page.value.served && (
              <button
                type="button"
                class="evidence"
                onClick={() => showEvents({ start: step.start_ns, end: step.end_ns + 1 })}
              >
                events
              </button>
            )}
            <button
              type="button"
              class="evidence"
              aria-expanded={open === step}
              onClick={() => setOpen(open === step ? null : step)}
            >
              evidence
            </button>
            {open === step && (
              <div class="raw">
                {step.more.map((line) => (
                  <code>{line}</code>
                ))}
                <span>
                  Events:{" "}
                  <code>{`onoff events ${quoted(recording.value?.name ?? "FILE")} --range ${Math.floor(step.start_ns)}ns ${Math.ceil(step.end_ns) + 1}ns`}</code>
                </span>
              </div>
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Quotes a file name for a POSIX shell. */
function quoted(name: string): string {
  const file = name.replace(/^(baseline|candidate): /, "");
  return /^[\w.+-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
}

function show(step: Step): void {
  const length = Math.max(step.end_ns - step.start_ns, 1_000);
  markedRange.value = { start: step.start_ns, end: step.end_ns };
  selection.value = null;
  goTo({ start: step.start_ns - length * 0.6, end: step.end_ns + length * 0.6 });
}
