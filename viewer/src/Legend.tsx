/** The legend of the lanes, which is also a filter: a click fades the intervals of a color, or brings them back. */

import { toneSwatch } from "./lanes/palette";
import { hiddenTones, page, recording, recordingIndex, shownTracks, toggled } from "./state";
import { cachedLane, laneRevision } from "./source";

/** Tones of the loaded lanes of visible tracks. */
function presentTones(): number[] {
  void laneRevision.value;
  const found = new Set<number>(hiddenTones.value);
  for (const track of shownTracks.value) {
    if (track.kind !== "slices") continue;
    const lane = cachedLane(track.id, 1_600)?.lane;
    if (lane?.kind === "slices") for (const row of lane.rows) for (const tone of row.tone) found.add(tone);
  }
  return [...found].sort((a, b) => a - b);
}

export function Legend() {
  if (!recording.value) return null;
  void recordingIndex.value;
  const tones = presentTones();
  if (tones.length === 0) return null;
  return (
    <div class="legend" role="group" aria-label="Legend; press a color to fade its intervals">
      {tones.map((tone) => (
        <button
          type="button"
          aria-pressed={!hiddenTones.value.has(tone)}
          title={hiddenTones.value.has(tone) ? "Show these intervals" : "Fade these intervals"}
          onClick={() => (hiddenTones.value = toggled(hiddenTones.value, tone))}
        >
          <i style={{ background: toneSwatch(tone) }} />
          {page.value.legend.tones[tone]?.title ?? "unknown"}
        </button>
      ))}
      {hiddenTones.value.size > 0 && (
        <button type="button" class="link" onClick={() => (hiddenTones.value = new Set())}>
          Show all
        </button>
      )}
    </div>
  );
}
