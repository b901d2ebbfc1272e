// What the page is given: made from docs/src/reference/onoff.schema.json by tools/json_reference.py, not by hand.

/** Content of the page. */
export interface Page {
  /** Version of onoff that wrote the page. */
  version: string;
  /** True if a server answers queries. */
  served: boolean;
  /** Names of tones, track groups, steps and tables. */
  legend: PageLegend;
  /**  */
  recordings: PageRecording[];
  /** What is still being read, with the progress; empty when everything is there. */
  reading: string;
  /** Number of recordings and parts of recordings that were added since the page was opened. */
  revision: number;
  /** Why recordings are not shown. */
  not_shown: string[];
  /** Comparison of two sets of runs; `recordings` then contains one run of each. */
  comparison: PageComparison | null;
}

/** A table of a range. */
export interface PageTable {
  /**  */
  columns: PageColumn[];
  /** Formatted cells by row. */
  rows: string[][];
  /** Numeric values of the cells, for sorting and bars; `null` if a cell is not a number. */
  numbers: ((number | null)[])[];
  /** Interval of each row as (start, end), ns: the longest one of a group; empty if rows have no intervals. */
  spans: [number, number][];
  /** Number of rows before truncation. */
  of: number;
  /** Note about omitted data; empty if there are none. */
  omitted: string;
  /** Message if there are no rows; empty otherwise. */
  nothing: string;
  /** Number of rows before the first one. */
  skipped: number;
  /** Names of event fields in the range, most frequent first; only for events. */
  fields: string[];
}

/** The waits of a thread, or of all threads of a process, in a range. */
export interface PageWaits {
  /** Waits, longest first. */
  waits: PageWait[];
  /** Number of waits, including those that are not listed. */
  of: number;
  /** Message if there are no waits; empty otherwise. */
  nothing: string;
}

/** Rows above the lanes: the threads of a chain, or one process. */
export interface PageRows {
  /**  */
  title: string;
  /**  */
  rows: PageRow[];
  /** Which thread readied which: indexes into `rows`. */
  arrows: DrawnArrow[];
  /** Number of threads without a row. */
  omitted: number;
  /** Steps of the chain; none for a process. */
  steps: PageSteps;
}

/** Names that the page displays. */
export interface PageLegend {
  /** Tones, indexed by number. */
  tones: PageName[];
  /** Groups of tracks. */
  groups: PageName[];
  /** Kinds of steps on the critical path. */
  steps: PageStepKind[];
  /** Subjects of range tables. */
  subjects: Subject[];
}

/** Content of a recording. */
export interface PageRecording {
  /** File name. */
  name: string;
  /** Operating system, processors, memory, when it was recorded. */
  machine: string;
  /** True for the first picture of a recording, which has the phases only. The rest is still being read. */
  is_partial: boolean;
  /** Start of the axis, ns: 0, or negative if firmware times are known. */
  start_ns: number;
  /** Length of the axis, ns. */
  duration_ns: number;
  /** Note about isolated times after the end of the axis; empty if there are none. */
  beyond_axis: string;
  /**  */
  transitions: PageTransition[];
  /** Index of the transition to show first. */
  first: number;
  /** Intervals in which the computer was asleep, drawn at reduced length. */
  folds: PageFold[];
  /**  */
  tracks: PageTrack[];
  /**  */
  losses: PageLoss[];
  /**  */
  missing: PageMissing[];
  /** Intervals in which the recorder lost all events. */
  gaps: PageGap[];
  /** Names of the subjects of range tables that the recording has data for. */
  subjects: string[];
  /** Pre-drawn lanes; empty if a server draws them. */
  drawn: PageDrawn[];
}

/** Comparison of two sets of runs. */
export interface PageComparison {
  /** Result in sentences. */
  answer: string[];
  /** Sides, baseline first. */
  sides: PageSide[];
  /** Explanations of the difference of each phase, largest first. */
  explanations: PageExplanation[];
  /** Measures by category. */
  lists: PageMeasures[];
  /** Changes of order, as sentences. */
  moved: string[];
}

/** A column of a table. */
export interface PageColumn {
  /** Name, as in `--sort` and CSV. */
  name: string;
  /**  */
  title: string;
  /** True if the cells are numbers. */
  number: boolean;
}

/** A wait of a thread. */
export interface PageWait {
  /** Thread that waited. */
  thread: PageThread;
  /** Start, ns. */
  start_ns: number;
  /** When the thread could run again, ns; `None` if it still waited when the recording ended. */
  ready_ns: number | null;
  /** When it ran again, ns; `None` if that was not recorded. */
  run_ns: number | null;
  /** What it waited for. */
  waited_for: string;
  /** Index into `PageLegend::tones`. */
  tone: number;
  /** Thread that ended the wait. */
  ended_by: PageThread | null;
  /** Wait reason recorded by the system; empty if none was recorded. */
  reason: string;
  /**  */
  certainty: Certainty;
  /** Call stack of the thread when it ran again, innermost frame first. */
  stack: string[];
  /** Call stack of the thread that ended the wait. */
  ending_stack: string[];
}

/** A row above the lanes. */
export interface PageRow {
  /**  */
  name: string;
  /** Additional text, such as the scale; may be empty. */
  note: string;
  /** Thread of the row; `None` for a row of all threads of a process. */
  thread: number | null;
  /**  */
  lane: DrawnLane;
}

/** Arrows merged to one pixel position. */
export interface DrawnArrow {
  /** Time of the first arrow, ns. */
  time_ns: number;
  /** Track of the readying thread. */
  from: number;
  /** Track of the readied thread. */
  to: number;
  /** Number of merged arrows. */
  count: number;
}

/** Steps of a range. */
export interface PageSteps {
  /** Steps, in order of time. */
  steps: PageStep[];
  /** Number of unlisted steps, including short ones that the path omits. */
  omitted: number;
}

/** A serialized name with its display title. */
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
  /** Index into `PageLegend::tones`. */
  tone: number;
}

/** Subject of a table. */
export interface Subject {
  /**  */
  name: string;
  /**  */
  title: string;
  /** Available groupings, default first. */
  groups: string[];
}

/** A boot, shutdown, sleep or network boot. */
export interface PageTransition {
  /** `boot`, `shutdown`, `suspend`, `netboot`. */
  kind: string;
  /** Number among the transitions of its kind in the recording, from 1. */
  number: number;
  /** Variant, such as `fast_startup`. */
  variant: string;
  /** Display name. */
  title: string;
  /** Result in a few sentences, shortest first. */
  headline: string[];
  /** What to fix first, as in `onoff diagnose`; empty if there is nothing. */
  fix_first: string;
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
  /** Phases, in order. */
  phases: PagePhase[];
  /** Facts about phases, firmware tables and captures without a position on the axis. */
  unplaced: string[];
  /** Search for the end of the last phase. */
  band: PageBand | null;
  /** Timeouts. */
  ticks: PageTick[];
  /** What had begun and not ended when the recording did, by start; empty for a transition that ended. */
  still_running: PageTick[];
  /** Findings, most expensive first. */
  findings: PageFinding[];
  /** The transition without each finding that has a prediction, and without all of them; empty if a server answers queries. */
  predictions: PageWhatIf[];
}

/** An interval in which the computer was asleep. */
export interface PageFold {
  /** Start, ns. */
  start_ns: number;
  /** End, ns; equal to the start if the recording's clock stopped. */
  end_ns: number;
  /** Duration of the sleep, ns; `None` if unknown. */
  slept_ns: number | null;
  /** Description, with the source of the duration. */
  text: string;
}

/** A track with its mark in a comparison. */
export interface PageTrack {
  /** Index in the list. */
  id: number;
  /** Group. */
  group: TrackGroup;
  /** Subgroup. */
  section: string;
  /** Name. */
  name: string;
  /** Note. */
  note: string;
  /** Kind of its lane. */
  kind: LaneKind;
  /** Number of rows. */
  rows: number;
  /** Total time, ns. */
  total_ns: number;
  /** Change between baseline and candidate; `None` without a comparison. */
  mark: PageMark | null;
}

/** A loss counter of the recording. */
export interface PageLoss {
  /** Name of the counter. */
  name: string;
  /**  */
  severity: string;
  /** Number of lost items. */
  count: number;
  /** Meaning of the loss. */
  means: string;
}

/** Data that were not recorded. */
export interface PageMissing {
  /** Question that cannot be answered without the data. */
  what: string;
  /** How to record it. */
  record: string;
}

/** An interval in which the recorder lost all events. */
export interface PageGap {
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
}

/** All lanes of a recording at one resolution. */
export interface PageDrawn {
  /** Pixels of the entire recording. */
  pixels: number;
  /** Lanes, in the order of the tracks. */
  lanes: DrawnLane[];
  /** Ready-thread arrows. */
  arrows: DrawnArrow[];
}

/** One side of a comparison. */
export interface PageSide {
  /**  */
  name: string;
  /**  */
  runs: PageRun[];
  /** Index of the recording nearest to the median in `Page::recordings`; `None` if its file is not available. */
  recording: number | null;
  /** Index of that recording in `runs`. */
  shown_run: number | null;
}

/** Explanation of the difference of a phase, from its breakdown. */
export interface PageExplanation {
  /** Name of the phase. */
  phase: string;
  /** The explanation as a sentence. */
  sentence: string;
  /** Candidate minus baseline, ns. */
  difference_ns: number;
  /** Subjects that explain the difference. */
  parts: PagePart[];
  /** Time of subjects that changed in the opposite direction, ns. */
  opposing_ns: number;
  /** Unexplained rest, ns. */
  unexplained_ns: number;
}

/** Measures of a category. */
export interface PageMeasures {
  /** `total`, `phase`, `service`, as in the keys. */
  category: string;
  /**  */
  title: string;
  /** Number of measures in the category, including unlisted ones. */
  of: number;
  /** Listed measures. */
  rows: PageMeasure[];
}

/** A thread. */
export interface PageThread {
  /** Thread id. */
  tid: number;
  /** Process id; `None` if unknown. */
  pid: number | null;
  /** Name with the process. */
  name: string;
}

/** How much an answer can be relied on. */
export type Certainty = "measured" | "inferred" | "missing";

/** The drawing of a track. */
export type DrawnLane = DrawnSlices & { kind: "slices" } | DrawnUtilization & { kind: "utilization" } | DrawnStacked & { kind: "stacked" };

/** A step of the critical path. */
export interface PageStep {
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
  /** Kind, such as `disk`. */
  kind: string;
  /** Description of the step. */
  sentence: string;
  /**  */
  certainty: Certainty;
  /** Wait reason, then the call stack if recorded, innermost frame first. */
  more: string[];
}

/** A phase of a transition. */
export interface PagePhase {
  /** Name, as in JSON output. */
  name: string;
  /** Display name. */
  title: string;
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
  /** True if the end is not in the recording; `end_ns` is then the end of the recording. */
  is_open: boolean;
  /** Idle time at the end, not part of the phase's duration, ns. */
  idle_ns: number;
  /** Time spent waiting for a person, not part of the phase's duration, ns. */
  user_input_ns: number;
  /** Rule that determines the end. */
  rule: string;
  /** Event at the end. */
  event: string;
  /** Certainty of the end. */
  certainty: Certainty;
  /** Explanation of the phase. */
  explains: string;
  /** Number of its color: the same for phases with the same name. */
  shade: number;
  /** Breakdown by subject; the times add up to the length of the phase. */
  account: PageAccountEntry[];
  /** CPU and disk usage. */
  usage: PageUsage;
  /** Longest steps of the critical path; empty if a server answers queries. */
  steps: PageSteps;
  /** Flame graphs of samples and of waits; empty if a server answers queries. */
  flames: PageFlame[];
}

/** Search for the end of a phase that ends when the computer is idle. */
export interface PageBand {
  /** Required idle time, ns. */
  required_ns: number;
  /** Slices, in order. */
  slices: PageSlice[];
}

/** A marked point in time. */
export interface PageTick {
  /** Time, ns. */
  time_ns: number;
  /**  */
  label: string;
}

/** A finding. */
export interface PageFinding {
  /** Code of the rule, such as `boot/service-slow`. */
  code: string;
  /**  */
  title: string;
  /** Cost, ns; `None` if unknown. */
  cost_ns: number | null;
  /** True if the cost is an upper bound because other work ran in parallel. */
  cost_is_upper_bound: boolean;
  /** The changes of the prediction, as in `onoff what-if`; empty if the cost is not predicted. */
  changes: WhatIfChange[];
  /**  */
  evidence: string;
  /**  */
  advice: string;
  /**  */
  certainty: Certainty;
  /** Command that explains the rule and its known false positives. */
  explained_by: string;
  /**  */
  subject: FindingSubject | null;
  /** Track of the subject, an index into `PageRecording::tracks`. */
  track: number | null;
  /** Start of the relevant interval, ns. */
  start_ns: number | null;
  /** End of the relevant interval, ns. */
  end_ns: number | null;
}

/** The predicted transition without some of its findings. */
export interface PageWhatIf {
  /** Indices of the findings, ascending. */
  findings: number[];
  /** The prediction in a sentence, as in `onoff what-if`. */
  headline: string;
  /** Why there is no prediction; empty if there is one. */
  reasons: string[];
  /** Arguments that make `onoff what-if` predict the same. */
  arguments: string;
  /** Duration in the recording, ns. */
  measured_ns: number;
  /** Predicted duration; `None` if not known. */
  predicted: PredictedDuration | null;
  /** The first culprit after the changes, with its time; empty if not known. */
  first_culprit: string;
  /**  */
  phases: PageWhatIfPhase[];
}

/** Group of a track. Groups are shown in this order. */
export type TrackGroup = "firmware" | "network" | "requests" | "processors" | "disks" | "critical_path" | "devices" | "services" | "session" | "notifications" | "power" | "processes" | "log";

/** Kind of a lane. */
export type LaneKind = "slices" | "utilization" | "stacked";

/** Change of a track's subject between baseline and candidate. */
export interface PageMark {
  /** `slower`, `faster`, `new`, `gone`, `moved`. */
  verdict: string;
  /** Display text, such as `+9.00 s`. */
  text: string;
}

/** A run of one side. */
export interface PageRun {
  /** File name. */
  name: string;
  /** Reasons why the run is excluded; empty if it is compared. */
  exclusions: string[];
}

/** A subject that explains part of a difference. */
export interface PagePart {
  /**  */
  name: string;
  /** Kind of subject, such as `service`. */
  kind: string;
  /** `new`, `gone`, `longer` or `shorter`. */
  change: string;
  /** Median of the baseline, ns. */
  before_ns: number;
  /** Median of the candidate, ns. */
  after_ns: number;
  /** Candidate minus baseline, ns. */
  difference_ns: number;
}

/** A measure on both sides. */
export interface PageMeasure {
  /** Key, as `--limit` takes it. */
  key: string;
  /** Display name. */
  label: string;
  /** `ns`, `bytes` or `count`. */
  unit: string;
  /** Values by side and run; `null` if a run lacks the measure. */
  values: ((number | null)[])[];
  /** Medians by side. */
  medians: (number | null)[];
  /** Candidate minus baseline. */
  difference: number | null;
  /** Difference relative to the baseline, percent. */
  percent: number | null;
  /** 95 % confidence interval of the difference. */
  interval: [number, number] | null;
  /** Spread of the baseline's runs. */
  noise: number | null;
  /** p-value of the rank test. */
  p_value: number | null;
  /** `slower`, `faster`, `more`, `less`, `new`, `gone`, `same`, `unknown`. */
  verdict: string;
}

/** The drawing of a lane of slices. */
export interface DrawnSlices {
  /** Labels referenced by the rows. */
  labels: string[];
  /** Rows, top first. */
  rows: DrawnRow[];
  /** Number of intervals hidden because they overlap more than the maximum number of rows. */
  hidden: number;
}

/** The drawing of a strip: equal steps of the interval. Arrays of equal length. */
export interface DrawnUtilization {
  /** Start of the first step, ns. */
  start_ns: number;
  /** End of the last step, ns. */
  end_ns: number;
  /** Utilization of each step, in 255ths. */
  busy: number[];
  /** Low-priority part of it, in 255ths. */
  low_priority: number[];
}

/** The drawing of a stacked lane: equal steps of the interval. */
export interface DrawnStacked {
  /** Start of the first step, ns. */
  start_ns: number;
  /** End of the last step, ns. */
  end_ns: number;
  /** Subjects, largest first. */
  series: DrawnSeries[];
}

/** Share of a phase attributed to one subject. */
export interface PageAccountEntry {
  /** Subject, such as a service or driver. */
  subject: string;
  /** Kind of subject. */
  kind: string;
  /** Time, ns. */
  ns: number;
  /** Activity of the subject. */
  actions: string;
  /** Certainty of the attribution. */
  certainty: Certainty;
  /** Longest intervals as (start, end), ns. */
  intervals: [number, number][];
}

/** CPU and disk usage. */
export interface PageUsage {
  /** CPU by process. */
  processors: PageUsageRow[];
  /** Disks by process. */
  disks: PageUsageRow[];
  /** Disks by file. */
  files: PageUsageRow[];
}

/** A laid-out flame graph. */
export interface PageFlame {
  /** Total time, ns. */
  total_ns: number;
  /** Nodes by depth, then from left to right. */
  nodes: PageFlameNode[];
  /** Number of nodes too narrow to draw. */
  omitted: number;
  /** Message if there are no nodes; empty otherwise. */
  nothing: string;
}

/** A time slice, idle or busy. */
export interface PageSlice {
  /** Start, ns. */
  start_ns: number;
  /** End, ns. */
  end_ns: number;
  /** `idle` or `busy`. */
  state: string;
  /** Idle time accumulated up to the end of the slice, ns. */
  idle_so_far_ns: number;
  /** CPU and disk usage in the slice. */
  note: string;
}

/** A change of the computer. */
export type WhatIfChange = { code: "without"; name: string } | { code: "pend"; driver: string } | { code: "ungroup"; service: string } | { code: "delay"; name: string } | { code: "parallel"; unit: string } | { code: "async"; driver: string } | { code: "disk_speed"; percent: number } | { code: "processor_speed"; percent: number } | { code: "processors"; count: number };

/** The subject of a finding. */
export interface FindingSubject {
  /**  */
  kind: FindingSubjectKind;
  /** Name; empty if the kind is sufficient. */
  name: string;
  /** Process id, if the subject has a process. */
  pid: number | null;
}

/** A predicted duration. Waits for something outside the computer give the range; on Linux also the order of ready threads, and the competition of units. */
export interface PredictedDuration {
  /** Duration if external waits take as long as recorded, ns. */
  ns: number;
  /** Shortest duration, ns. */
  min_ns: number;
  /** Longest duration, ns. */
  max_ns: number;
}

/** A phase as measured and as predicted. */
export interface PageWhatIfPhase {
  /** Name of the phase, as in [`PagePhase`]. */
  name: string;
  /** Duration in the recording, ns. */
  measured_ns: number;
  /** Predicted duration; `None` if not known. */
  predicted: PredictedDuration | null;
}

/** The drawing of a row: one entry per interval, or per group of intervals within one pixel. Arrays of equal length. */
export interface DrawnRow {
  /** Starts, ns. */
  start_ns: number[];
  /** Ends, ns. */
  end_ns: number[];
  /** Label of the longest interval, as an index into [`DrawnSlices::labels`]. */
  label: number[];
  /** Tone of the longest interval, by number. */
  tone: number[];
  /** Number of intervals in the entry. */
  count: number[];
  /** Thread of the longest interval, 0 for none. Empty if no interval of the row has one. */
  thread: number[];
  /** Process of the longest interval, 0 for none. Empty if no interval of the row has one. */
  process: number[];
}

/** The share of one subject. */
export interface DrawnSeries {
  /**  */
  name: string;
  /** Share of each step, in 255ths. */
  busy: number[];
}

/** A row of a usage table. */
export interface PageUsageRow {
  /**  */
  name: string;
  /** Additional text. */
  detail: string;
  /** Time, ns. */
  ns: number;
  /** Number of requests. */
  count: number;
  /** Transferred bytes. */
  bytes: number;
}

/** A node of a flame graph. */
export interface PageFlameNode {
  /**  */
  name: string;
  /** Depth from 0. */
  depth: number;
  /** Offset from the left edge, ns. */
  start_ns: number;
  /** Width, ns. */
  ns: number;
}

/** Kind of a finding's subject. */
export type FindingSubjectKind = "service" | "driver" | "device" | "process" | "disk" | "phase" | "recording" | "file" | "work" | "setting" | "transition";
