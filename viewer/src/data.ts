/** What the page is given: the answers of onoff, and which lanes there are. Times are nanoseconds on the recording's axis. */

export type Certainty = "measured" | "inferred" | "missing";

export interface Phase {
  name: string;
  /** Its name for people. */
  title: string;
  start_ns: number;
  end_ns: number;
  /** Whether its end is not in the recording: then `end_ns` is where that ends. */
  is_open: boolean;
  /** Idle time that ends it and is no part of what it took. */
  idle_ns: number;
  /** What set the end, as a sentence. */
  rule: string;
  event: string;
  certainty: Certainty;
  /** What the phase is, for who meets the name for the first time. */
  explains: string;
  account: AccountEntry[];
  usage: Usage;
  /** The longest steps of its path, and its flame graphs of samples and of waits; empty where a server has them. */
  steps: Steps;
  flames: Flame[];
}

/** A step of the critical path as a sentence. */
export interface Step {
  start_ns: number;
  end_ns: number;
  kind: string;
  sentence: string;
  certainty: Certainty;
  more: string[];
}

export interface Steps {
  steps: Step[];
  left_out: number;
}

export interface FlameNode {
  name: string;
  depth: number;
  start_ns: number;
  ns: number;
}

export interface Flame {
  total_ns: number;
  nodes: FlameNode[];
  left_out: number;
  nothing: string;
}

/** A list of one of the program's verbs, for a range. */
export interface RangeTable {
  columns: { name: string; title: string; number: boolean }[];
  rows: string[][];
  numbers: (number | null)[][];
  spans: [number, number][];
  of: number;
  left_out: string;
  nothing: string;
}

/** One thread made another one ready: from track to track. */
export interface Arrow {
  time_ns: number;
  from: number;
  to: number;
  count: number;
}

/** Who held a phase, and how long. The entries of a phase sum to its length. */
export interface AccountEntry {
  subject: string;
  kind: string;
  ns: number;
  did: string;
  certainty: Certainty;
  stretches: [number, number][];
}

export interface UsageRow {
  name: string;
  detail: string;
  ns: number;
  count: number;
  bytes: number;
}

/** Who used the processors and disks in a phase. */
export interface Usage {
  processors: UsageRow[];
  disks: UsageRow[];
  files: UsageRow[];
}

export interface Finding {
  code: string;
  title: string;
  cost_ns: number | null;
  evidence: string;
  advice: string;
  certainty: Certainty;
  start_ns: number | null;
  end_ns: number | null;
}

/** The search for the end of PostBoot: slices, each idle or busy. */
export interface Band {
  required_ns: number;
  slices: { start_ns: number; end_ns: number; state: "idle" | "busy"; idle_so_far_ns: number; note: string }[];
}

export interface Tick {
  time_ns: number;
  label: string;
}

/** A time in which the computer slept; of no length where the recording's clock stood still. */
export interface Fold {
  start_ns: number;
  end_ns: number;
  slept_ns: number | null;
  text: string;
}

export interface Transition {
  kind: string;
  variant: string;
  title: string;
  headline: string[];
  start_ns: number;
  end_ns: number;
  phases: Phase[];
  /** What is known of phases that have no place on the axis. */
  unplaced: string[];
  band: Band | null;
  ticks: Tick[];
  findings: Finding[];
}

export interface Track {
  id: number;
  group: string;
  section: string;
  name: string;
  note: string;
  kind: "slices" | "shares";
  rows: number;
  total_ns: number;
  /** What became of it, in a comparison. */
  mark: { verdict: string; text: string } | null;
}

export interface Loss {
  name: string;
  severity: string;
  count: number;
  means: string;
}

export interface Recording {
  name: string;
  machine: string;
  start_ns: number;
  duration_ns: number;
  transitions: Transition[];
  /** Which of them is shown first. */
  first: number;
  folds: Fold[];
  tracks: Track[];
  losses: Loss[];
  missing: { what: string; record: string }[];
  /** Lanes drawn beforehand, by resolution; empty where a server draws them. */
  drawn: { pixels: number; lanes: DrawnLane[]; arrows: Arrow[] }[];
}

export interface Side {
  name: string;
  runs: { name: string; set_apart: string[] }[];
  /** The recording that is the run nearest to the median; `null` when its file is not at hand. */
  recording: number | null;
  shown_run: number | null;
}

export interface Explanation {
  phase: string;
  sentence: string;
  difference_ns: number;
  parts: { name: string; kind: string; change: string; was_ns: number; is_ns: number; difference_ns: number }[];
  against_ns: number;
  not_explained_ns: number;
}

/** A measure of both sides: a value for each run. */
export interface Measure {
  key: string;
  label: string;
  unit: string;
  values: (number | null)[][];
  medians: (number | null)[];
  difference: number | null;
  percent: number | null;
  interval: [number, number] | null;
  noise: number | null;
  p_value: number | null;
  verdict: string;
}

export interface Measures {
  category: string;
  title: string;
  of: number;
  rows: Measure[];
}

export interface Comparison {
  answer: string[];
  sides: Side[];
  explanations: Explanation[];
  lists: Measures[];
  moved: string[];
}

export interface Page {
  version: string;
  /** Whether a server draws lanes and sums ranges; otherwise all there is stands in the page. */
  served: boolean;
  recordings: Recording[];
  comparison: Comparison | null;
}

export interface DrawnRow {
  start_ns: number[];
  end_ns: number[];
  label: number[];
  tone: number[];
  count: number[];
}

export type DrawnLane =
  | { kind: "slices"; labels: string[]; rows: DrawnRow[]; hidden: number }
  | { kind: "shares"; start_ns: number; end_ns: number; busy: number[]; low: number[] };

/** Tones by their number, as `onoff-view` numbers them. */
export const TONES = [
  "present", "container", "load", "initialise", "blocked", "pended", "ran", "ready",
  "disk", "timer", "interrupt", "service", "unknown", "notified", "work", "failed",
] as const;
export type Tone = (typeof TONES)[number];

export const GROUPS: Record<string, string> = {
  firmware: "Firmware",
  network: "Network boot",
  processors: "Processors",
  disks: "Disks",
  critical_path: "Critical path",
  devices: "Devices and drivers",
  services: "Services",
  session: "Session and policy",
  notifications: "Notifications",
  power: "Power requests",
  processes: "Processes",
  log: "Log",
};

export function readPage(text: string): Page {
  const page = JSON.parse(text) as Page;
  if (typeof page !== "object" || page === null || !Array.isArray(page.recordings)) {
    throw new Error("this page holds no recording");
  }
  return page;
}
