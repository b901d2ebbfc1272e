/** Tables added to the printout: phases with their largest contributors, and findings. */

import { recording, transition, phaseDuration } from "./state";
import { formatCost, duration } from "./time";

export function PrintTables() {
  const current = transition.value;
  if (!current) return null;
  return (
    <section class="printed" aria-hidden="true">
      {current.headline.slice(1).map((line) => (
        <p>{line}</p>
      ))}
      <table>
        <thead>
          <tr>
            <th>Phase</th>
            <th>Start</th>
            <th>Duration</th>
            <th>Ends with</th>
            <th>Blamed on</th>
          </tr>
        </thead>
        <tbody>
          {current.phases.map((phase) => (
            <tr>
              <td>{phase.title}</td>
              <td>{duration(phase.start_ns)}</td>
              <td>
                {phase.is_open ? "at least " : ""}
                {duration(phaseDuration(phase))}
              </td>
              <td>
                {phase.rule}
                {phase.certainty === "inferred" ? " (inferred)" : ""}
              </td>
              <td>
                {phase.account
                  .filter((entry) => entry.kind !== "idle")
                  .slice(0, 3)
                  .map((entry) => `${entry.subject} ${duration(entry.ns)}`)
                  .join(", ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {current.findings.length > 0 && (
        <ol>
          {current.findings.map((finding) => (
            <li>
              <b>{formatCost(finding, "cost unknown")}</b> {finding.title}: {finding.advice}
            </li>
          ))}
        </ol>
      )}
      <p>
        {recording.value?.losses.length
          ? `Losses: ${recording.value.losses.map((loss) => `${loss.count} ${loss.name}`).join(", ")}.`
          : "No losses."}
      </p>
    </section>
  );
}
