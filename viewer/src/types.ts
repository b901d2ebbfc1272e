// What the page is given: made from docs/src/reference/onoff.schema.json by tools/json_reference.py, not by hand.

/** Everything the page shows. */
export interface Page {
  /** Version of the program that wrote it. */
  version: string;
  /** Whether a server draws lanes and sums ranges. */
  served: boolean;
  /** Names of tones, groups of tracks, steps and tables. */
  legend: PageLegend;
  /** The recordings. */
  recordings: PageRecording[];
  /** What differs between two sets of runs, of which the recordings are one each. */
  comparison: PageComparison | null;
}

/** A table. */
export interface PageTable {
  /** Its columns. */
  columns: PageColumn[];
  /** Its rows, as a person reads them. */
  rows: string[][];
  /** The same as numbers, to sort by and to draw; `null` where a cell is none. */
  numbers: ((number | null)[])[];
  /** Where a row is about intervals on the path, when the longest was, ns. */
  spans: [number, number][];
  /** Rows that there are. */
  of: number;
  /** What the rows leave out; empty when nothing. */
  left_out: string;
  /** Why there is none; empty when there are. */
  nothing: string;
}

/** The names that the page shows. */
export interface PageLegend {
  /** Tones by number. */
  tones: PageName[];
  /** Groups of tracks. */
  groups: PageName[];
  /** Kinds of steps on the critical path. */
  steps: PageStepKind[];
  /** Tables of a time range. */
  subjects: Subject[];
}

/** A recording. */
export interface PageRecording {
  /** Name: that of its file. */
  name: string;
  /** Operating system, processors, memory, when it was recorded. */
  machine: string;
  /** Where the axis begins, ns: 0, or earlier where the firmware's times are known. */
  start_ns: number;
  /** Length of the axis, ns. */
  duration_ns: number;
  /** What it holds. */
  transitions: PageTransition[];
  /** Which of them the page shows first. */
  first: number;
  /** Times in which the computer slept: drawn short, however long they are. */
  folds: PageFold[];
  /** Its tracks. */
  tracks: PageTrack[];
  /** What was lost. */
  losses: PageLoss[];
  /** What was not recorded. */
  missing: PageMissing[];
  /** Lanes drawn beforehand; empty where a server draws. */
  drawn: PageDrawn[];
}

/** Two sets of runs. */
export interface PageComparison {
  /** The answer in sentences. */
  answer: string[];
  /** The sides, the baseline first. */
  sides: PageSide[];
  /** What explains the difference of each phase, the largest first. */
  explanations: PageExplanation[];
  /** Lists of measures. */
  lists: PageMeasures[];
  /** What happened in another order, as sentences. */
  moved: string[];
}

/** A column. */
export interface PageColumn {
  /** Its name, as `--sort` and CSV have it. */
  name: string;
  /** Its title. */
  title: string;
  /** Whether it holds numbers. */
  number: boolean;
}

/** A name and how people read it. */
export interface PageName {
  /**  */
  name: string;
  /**  */
  title: string;
}

/** A kind of step on the critical path. */
export interface PageStepKind {
  /**  */
  name: string;
  /** Number of the tone that it is drawn in. */
  tone: number;
}

/** What a table can be about. */
export interface Subject {
  /**  */
  name: string;
  /**  */
  title: string;
  /** What it can be grouped by. */
  groups: string[];
}

/** A transition. */
export interface PageTransition {
  /** `boot`, `shutdown`, `suspend`, `netboot`. */
  kind: string;
  /** Which of its kind, e.g. `fast_startup`. */
  variant: string;
  /** Its name on the page. */
  title: string;
  /** The answer in a few sentences, the shortest first. */
  headline: string[];
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
  /** Its phases, in order. */
  phases: PagePhase[];
  /** What is known of phases, and of tables and captures, that have no place on the axis. */
  unplaced: string[];
  /** The search for the end of the last phase. */
  band: PageBand | null;
  /** Time limits. */
  ticks: PageTick[];
  /** What to change, what costs most first. */
  findings: PageFinding[];
}

/** A time in which the computer slept. */
export interface PageFold {
  /** Start, ns. */
  start_ns: number;
  /** End, ns; the start where the recording's clock stood still. */
  end_ns: number;
  /** How long it slept, ns; `None` when not known. */
  slept_ns: number | null;
  /** The same as a phrase, with what says so. */
  text: string;
}

/** A track. */
export interface PageTrack {
  /** Number: its place in the list. */
  id: number;
  /** What it is about. */
  group: TrackGroup;
  /** Within the group. */
  section: string;
  /** Name. */
  name: string;
  /** More of it. */
  note: string;
  /** What its lane shows. */
  kind: LaneKind;
  /** Rows. */
  rows: number;
  /** Sum of its times, ns. */
  total_ns: number;
  /** What became of it, in a comparison. */
  mark: PageMark | null;
}

/** Something lost. */
export interface PageLoss {
  /** Name of the counter. */
  name: string;
  /** Severity. */
  severity: string;
  /** How often. */
  count: number;
  /** What it means. */
  means: string;
}

/** Something not recorded. */
export interface PageMissing {
  /** What is not known without it. */
  what: string;
  /** How to record it. */
  record: string;
}

/** Every lane of a recording at one resolution. */
export interface PageDrawn {
  /** Pixels over the whole recording. */
  pixels: number;
  /** Lanes, in the order of the tracks. */
  lanes: DrawnLane[];
  /** Who made whom ready. */
  arrows: DrawnArrow[];
}

/** One side. */
export interface PageSide {
  /** Name. */
  name: string;
  /** Its runs. */
  runs: PageRun[];
  /** Number of the page's recording that is the run nearest to the median; `None` when its file is not at hand. */
  recording: number | null;
  /** Which run that is. */
  shown_run: number | null;
}

/** What explains the difference of a phase, by the account. */
export interface PageExplanation {
  /** The phase. */
  phase: string;
  /** All of it in one sentence. */
  sentence: string;
  /** Candidate less baseline, ns. */
  difference_ns: number;
  /** Whose time it is. */
  parts: PagePart[];
  /** Time of those that differ the other way, ns. */
  against_ns: number;
  /** What is left, ns. */
  not_explained_ns: number;
}

/** The measures of a category. */
export interface PageMeasures {
  /** `total`, `phase`, `service`, as in the keys. */
  category: string;
  /** Title. */
  title: string;
  /** Measures of the category, with those that are not listed because they do not differ. */
  of: number;
  /** The listed ones. */
  rows: PageMeasure[];
}

/** A phase. */
export interface PagePhase {
  /** Name, as JSON has it. */
  name: string;
  /** Its name for people. */
  title: string;
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
  /** Whether its end is not in the recording: then `end_ns` is where that ends. */
  is_open: boolean;
  /** Idle time that ends it and is no part of what it took, ns. */
  idle_ns: number;
  /** Time of it in which a person was waited for, which is no part of what it took either, ns. */
  person_ns: number;
  /** What set its end. */
  rule: string;
  /** The event that did. */
  event: string;
  /** How certain that is. */
  certainty: Certainty;
  /** What the phase is, for who meets the name for the first time. */
  explains: string;
  /** Who held it; the times sum to its length. */
  account: PageAccountEntry[];
  /** Who used processors and disks in it. */
  usage: PageUsage;
  /** The longest steps of its critical path; empty where a server has them. */
  steps: PageSteps;
  /** Its flame graphs, of samples and of waits; empty where a server has them. */
  flames: PageFlame[];
}

/** The search for the end of the last phase. */
export interface PageBand {
  /** Idle time that ends it, ns. */
  required_ns: number;
  /** Slices. */
  slices: PageSlice[];
}

/** A point in time worth a mark. */
export interface PageTick {
  /** Time, ns. */
  time_ns: number;
  /** What it is. */
  label: string;
}

/** What to change. */
export interface PageFinding {
  /** Code of the rule. */
  code: string;
  /** What was found. */
  title: string;
  /** Its cost, ns; `None` when not known. */
  cost_ns: number | null;
  /** Whether it costs that at most: something else was at work at the same time. */
  cost_at_most: boolean;
  /** What it rests on. */
  evidence: string;
  /** What to do. */
  advice: string;
  /** How certain it is. */
  certainty: Certainty;
  /** Command that explains the rule and its known false positives. */
  explained_by: string;
  /** Where to look, ns. */
  start_ns: number | null;
  /** Until where, ns. */
  end_ns: number | null;
}

/** What a track is about. The groups are shown in this order. */
export type TrackGroup = "firmware" | "network" | "requests" | "processors" | "disks" | "critical_path" | "devices" | "services" | "session" | "notifications" | "power" | "processes" | "log";

/** What a lane shows. */
export type LaneKind = "slices" | "shares";

/** What became of what a track shows. */
export interface PageMark {
  /** `slower`, `faster`, `new`, `gone`, `moved`. */
  verdict: string;
  /** The same with how much. */
  text: string;
}

/** What a screen shows of a track. */
export type DrawnLane = Drawn & { kind: "slices" } | DrawnShares & { kind: "shares" };

/** Arrows that a screen shows. */
export interface DrawnArrow {
  /** When, ns. */
  time_ns: number;
  /** From which track. */
  from: number;
  /** To which. */
  to: number;
  /** How many there are at these pixels. */
  count: number;
}

/** A run. */
export interface PageRun {
  /** Name: its file. */
  name: string;
  /** Why it is not compared; empty when it is. */
  set_apart: string[];
}

/** A subject whose time explains a part. */
export interface PagePart {
  /** Name. */
  name: string;
  /** What it is. */
  kind: string;
  /** What became of it. */
  change: string;
  /** Baseline's median, ns. */
  was_ns: number;
  /** Candidate's median, ns. */
  is_ns: number;
  /** The difference, ns. */
  difference_ns: number;
}

/** A measure of both sides. */
export interface PageMeasure {
  /** Key, as `--limit` takes it. */
  key: string;
  /** What it is called. */
  label: string;
  /** `ns`, `bytes` or `count`. */
  unit: string;
  /** By side and run; `null` where a run does not have it. */
  values: ((number | null)[])[];
  /** By side. */
  medians: (number | null)[];
  /** Candidate less baseline. */
  difference: number | null;
  /** The same, percent. */
  percent: number | null;
  /** Where the difference lies with 95 % confidence. */
  interval: [number, number] | null;
  /** How far the baseline's runs lie apart. */
  noise: number | null;
  /** Probability of ranks as uneven by chance. */
  p_value: number | null;
  /** `slower`, `faster`, `more`, `less`, `new`, `gone`, `same`, `unknown`. */
  verdict: string;
}

/** How much an answer can be relied on. */
export type Certainty = "measured" | "inferred" | "missing";

/** Who held a part of a phase. */
export interface PageAccountEntry {
  /** Who. */
  subject: string;
  /** What kind of subject. */
  kind: string;
  /** Time, ns. */
  ns: number;
  /** What it did. */
  did: string;
  /** How certain it is. */
  certainty: Certainty;
  /** When, ns; the longest ones. */
  stretches: [number, number][];
}

/** Who used processors and disks. */
export interface PageUsage {
  /** Processors, by process. */
  processors: PageUsageRow[];
  /** Disks, by process. */
  disks: PageUsageRow[];
  /** Disks, by file. */
  files: PageUsageRow[];
}

/** The steps of a range. */
export interface PageSteps {
  /** In order of time. */
  steps: PageStep[];
  /** Steps that are not listed, those that the path itself leaves out because they are short among them. */
  left_out: number;
}

/** A flame graph, ready to be drawn. */
export interface PageFlame {
  /** Time of all of it, ns. */
  total_ns: number;
  /** Nodes by depth, then from left to right. */
  nodes: PageFlameNode[];
  /** Nodes too thin to be drawn. */
  left_out: number;
  /** Why there is none; empty when there are. */
  nothing: string;
}

/** A slice of the same. */
export interface PageSlice {
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
  /** `idle` or `busy`. */
  state: string;
  /** Idle time found by its end, ns. */
  idle_so_far_ns: number;
  /** How busy what was. */
  note: string;
}

/** What a screen shows of a lane of slices. */
export interface Drawn {
  /** Names that the rows refer to. */
  labels: string[];
  /** The rows, top first. */
  rows: DrawnRow[];
  /** Intervals that lie deeper than the rows kept. */
  hidden: number;
}

/** What a screen shows of a strip: equal steps of the range. Columns of equal length. */
export interface DrawnShares {
  /** First step's start, ns. */
  start_ns: number;
  /** End of the last, ns. */
  end_ns: number;
  /** Busy share of each step, in 255ths. */
  busy: number[];
  /** The part of it at low priority, in 255ths. */
  low: number[];
}

/** A row of the same. */
export interface PageUsageRow {
  /** Name. */
  name: string;
  /** More of it. */
  detail: string;
  /** Time, ns. */
  ns: number;
  /** Requests. */
  count: number;
  /** Bytes. */
  bytes: number;
}

/** A step as a sentence. */
export interface PageStep {
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
  /** What it was, e.g. `disk`. */
  kind: string;
  /** What happened. */
  sentence: string;
  /** How certain it is. */
  certainty: Certainty;
  /** Why the system says that the thread waited, and the call stack where one was recorded, innermost first. */
  more: string[];
}

/** A node of it. */
export interface PageFlameNode {
  /** Name. */
  name: string;
  /** Depth from 0. */
  depth: number;
  /** Where it starts on the axis of the sum, ns. */
  start_ns: number;
  /** Its length, ns. */
  ns: number;
}

/** What a screen shows of a row: one entry per interval, or per group of intervals that share a pixel. Columns of equal length. */
export interface DrawnRow {
  /** Starts, ns. */
  start_ns: number[];
  /** Ends, ns. */
  end_ns: number[];
  /** The longest interval's name, as an index into [`Drawn::labels`]. */
  label: number[];
  /** The longest interval's tone, by its number. */
  tone: number[];
  /** How many intervals the entry stands for. */
  count: number[];
}
