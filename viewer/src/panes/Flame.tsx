/** Flame graphs of a range: CPU samples, or waits on the critical path. */

import { useEffect, useState } from "preact/hooks";
import type { Flame as Graph, FlameNode } from "../data";
import { fetchFlame } from "../source";
import { flameShowsWaits, page, phaseAt, recording, selectedRange, view } from "../state";
import { duration } from "../time";

const ROW = 18;

export function Flame() {
  const range = selectedRange() ?? view.value;
  const kind = flameShowsWaits.value ? "waits" : "samples";
  const [graph, setGraph] = useState<Graph | null>(null);
  const [focus, setFocus] = useState<FlameNode | null>(null);
  useEffect(() => {
    let current = true;
    setFocus(null);
    const timer = setTimeout(() => {
      fetchFlame(range, kind).then(
        (answer) => current && setGraph(answer),
        () => current && setGraph(null),
      );
    }, 60);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [range.start, range.end, kind, recording.value]);
  const phase = phaseAt(range);
  return (
    <div>
      <p class="choices" role="group" aria-label="Data">
        <button type="button" aria-pressed={kind === "samples"} onClick={() => (flameShowsWaits.value = false)}>
          Samples
        </button>
        <button type="button" aria-pressed={kind === "waits"} onClick={() => (flameShowsWaits.value = true)}>
          Waits
        </button>
        <span class="hint">
          {kind === "samples" ? "CPU time by process and module." : "Critical path by chain of waits."}{" "}
          {page.value.served
            ? `${duration(range.start)} to ${duration(range.end)}`
            : `Entire phase${phase ? ` ${phase.title}` : ""}; run onoff view FILE for any range`}
        </span>
      </p>
      {!graph ? (
        <p class="hint">Loading…</p>
      ) : graph.nothing ? (
        <p>{graph.nothing}</p>
      ) : (
        <FlameGraph graph={graph} focus={focus} setFocus={setFocus} />
      )}
    </div>
  );
}

function FlameGraph({
  graph,
  focus,
  setFocus,
}: {
  graph: Graph;
  focus: FlameNode | null;
  setFocus: (node: FlameNode | null) => void;
}) {
  const start = focus?.start_ns ?? 0;
  const length = focus?.ns ?? graph.total_ns;
  const depth = Math.max(...graph.nodes.map((node) => node.depth)) + 1;
  const shown = graph.nodes.filter(
    (node) => node.start_ns < start + length && node.start_ns + node.ns > start && (node.ns / length) * 1_000 >= 1,
  );
  return (
    <div>
      <p class="hint">
        {duration(graph.total_ns)} total{graph.omitted ? `; ${graph.omitted} frames too narrow to draw` : ""}.
        {focus && (
          <>
            {" "}
            Showing {focus.name}, {duration(focus.ns)}.{" "}
            <button type="button" onClick={() => setFocus(null)}>
              Show all
            </button>
          </>
        )}
      </p>
      <div class="flame" style={{ height: `${depth * (ROW + 1)}px` }}>
        {shown.map((node) => {
          const left = Math.max(0, (node.start_ns - start) / length);
          const right = Math.min(1, (node.start_ns + node.ns - start) / length);
          const share = ((node.ns / graph.total_ns) * 100).toFixed(1);
          return (
            <button
              type="button"
              class={`shade${shadeOf(node.name)}`}
              style={{ left: `${left * 100}%`, width: `${(right - left) * 100}%`, top: `${node.depth * (ROW + 1)}px` }}
              title={`${node.name}\n${duration(node.ns)}, ${share} %`}
              aria-label={`${node.name}, ${duration(node.ns)}, ${share} %, level ${node.depth + 1}`}
              onClick={() => setFocus(node)}
            >
              {right - left > 0.02 ? node.name : ""}
            </button>
          );
        })}
      </div>
    </div>
  );
}

/** Shade of a name. Equal names have equal shades. */
function shadeOf(name: string): number {
  let sum = 0;
  for (let index = 0; index < name.length; index += 1) sum = (sum * 31 + name.charCodeAt(index)) >>> 0;
  return sum % 5;
}
