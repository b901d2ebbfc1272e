/** The page's input: onoff's results and the list of lanes. Times are nanoseconds on the recording's axis. */

import type { Page } from "./types";

export type {
  Certainty,
  DrawnArrow as Arrow,
  DrawnLane,
  DrawnRow,
  Page,
  PageAccountEntry as AccountEntry,
  PageBand as Band,
  PageComparison as Comparison,
  PageExplanation as Explanation,
  PageFinding as Finding,
  PageFlame as Flame,
  PageFlameNode as FlameNode,
  PageFold as Fold,
  PageLoss as Loss,
  PageMeasure as Measure,
  PageMeasures as Measures,
  PagePhase as Phase,
  PageRecording as Recording,
  PageRow as Row,
  PageRows as Rows,
  PageSide as Side,
  PageStep as Step,
  PageSteps as Steps,
  PageTable as RangeTable,
  PageTick as Tick,
  PageTrack as Track,
  PageTransition as Transition,
  PageUsage as Usage,
  PageUsageRow as UsageRow,
  PageWait as Wait,
  PageWaits as Waits,
  PageWhatIf as WhatIf,
  PredictedDuration,
} from "./types";

export function readPage(text: string): Page {
  const page = JSON.parse(text) as Page | string;
  // The placeholder for the data: no recording yet.
  if (typeof page === "string")
    return {
      version: "",
      served: false,
      legend: { tones: [], groups: [], steps: [], subjects: [] },
      recordings: [],
      reading: "",
      revision: 0,
      not_shown: [],
      comparison: null,
    };
  if (typeof page !== "object" || page === null || !Array.isArray(page.recordings)) {
    throw new Error("the page data contain no list of recordings");
  }
  return page;
}
