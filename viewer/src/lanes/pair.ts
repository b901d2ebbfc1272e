/** The other recording of a comparison, below the lanes of the shown one: its phases begin where theirs begin. */

import { computed } from "@preact/signals";
import type { Recording, Track } from "../data";
import { page, phaseDuration, recording, recordingIndex, showsPair, transition, type Range } from "../state";

/** A phase that both recordings have. */
export interface Piece {
  title: string;
  /** Times on the shown axis at which the other recording's phase is drawn, ns. */
  start: number;
  end: number;
  /** End of the shown recording's phase, ns. */
  phaseEnd: number;
  /** True if the other recording's phase goes on after the shown one has ended. */
  continues: boolean;
  /** Time on the shown axis minus time in the other recording, ns. */
  offset: number;
  /** Duration of the other recording's phase, ns. */
  duration: number;
  /** Duration of the shown phase minus the duration of the other, ns. */
  difference: number;
}

export interface Pair {
  /** Index of the other recording. */
  index: number;
  recording: Recording;
  /** Name of its side, such as `baseline`. */
  side: string;
  isBaseline: boolean;
  pieces: Piece[];
  /** Its tracks by the number of the shown track with the same name. */
  counterparts: ReadonlyMap<number, Track>;
  /** Its tracks that the shown recording does not have. */
  others: Track[];
}

const name = (track: Track): string => [track.group, track.section, track.name].join("\n");

/** The other recording, if the page compares two and both have the transition. */
export const pair = computed<Pair | null>(() => {
  const sides = page.value.comparison?.sides ?? [];
  const sideIndex = sides.findIndex((side) => side.recording !== null && side.recording !== recordingIndex.value);
  const side = sides[sideIndex];
  const index = side?.recording;
  if (!showsPair.value || !side || index === null || index === undefined) return null;
  const other = page.value.recordings[index];
  const shown = transition.value;
  const same = other?.transitions.filter((candidate) => candidate.kind === shown?.kind) ?? [];
  const otherTransition = same.find((candidate) => candidate.number === shown?.number) ?? same[0];
  if (!other || !shown || !otherTransition) return null;
  const pieces = shown.phases.flatMap((phase): Piece[] => {
    const otherPhase = otherTransition.phases.find((candidate) => candidate.name === phase.name);
    if (!otherPhase) return [];
    const length = otherPhase.end_ns - otherPhase.start_ns;
    return [
      {
        title: phase.title,
        start: phase.start_ns,
        end: Math.min(phase.end_ns, phase.start_ns + length),
        phaseEnd: phase.end_ns,
        continues: length > phase.end_ns - phase.start_ns,
        offset: phase.start_ns - otherPhase.start_ns,
        duration: phaseDuration(otherPhase),
        difference: phaseDuration(phase) - phaseDuration(otherPhase),
      },
    ];
  });
  const byName = new Map(other.tracks.map((track) => [name(track), track]));
  const counterparts = new Map<number, Track>();
  for (const track of recording.value?.tracks ?? []) {
    const counterpart = byName.get(name(track));
    if (counterpart) counterparts.set(track.id, counterpart);
    byName.delete(name(track));
  }
  const others = [...byName.values()];
  return { index, recording: other, side: side.name, isBaseline: sideIndex === 0, pieces, counterparts, others };
});

/** The part of a piece that a range shows, on the shown axis; null if it shows none. */
export function visiblePart(piece: Piece, range: Range): Range | null {
  const [start, end] = [Math.max(piece.start, range.start), Math.min(piece.end, range.end)];
  return start < end ? { start, end } : null;
}

/** The range of the other recording from which a range of the shown one draws; null if there is none. */
export function otherRange(pieces: Piece[], range: Range): Range | null {
  const parts = pieces.flatMap((piece) => {
    const part = visiblePart(piece, range);
    return part ? [{ start: part.start - piece.offset, end: part.end - piece.offset }] : [];
  });
  if (parts.length === 0) return null;
  return { start: Math.min(...parts.map((part) => part.start)), end: Math.max(...parts.map((part) => part.end)) };
}
