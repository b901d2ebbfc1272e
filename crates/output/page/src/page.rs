//! Input of the page, mirrored by `viewer/src/types.ts`. Times are nanoseconds on the recording's axis.

use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_findings::finding::FindingSubject;
use onoff_trace::Losses;

use crate::compare::PageComparison;
use crate::legend::PageLegend;
use crate::path::{self, Arrow, DrawnArrow, PageSteps};
use crate::ranges::PageFlame;
use crate::track::PageTrack;
use onoff_lanes::{DrawnLane, Track};
use onoff_what_if::changes::Change;
use onoff_what_if::prediction::PredictedDuration;

/// Content of the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Page {
    /// Version of onoff that wrote the page.
    pub version: String,
    /// True if a server answers queries.
    pub served: bool,
    /// Names of tones, track groups, steps and tables.
    pub legend: PageLegend,
    pub recordings: Vec<PageRecording>,
    /// What is still being read, with the progress; empty when everything is there.
    pub reading: String,
    /// Number of recordings and parts of recordings that were added since the page was opened.
    pub revision: u32,
    /// Why recordings are not shown.
    pub not_shown: Vec<String>,
    /// Comparison of two sets of runs; `recordings` then contains one run of each.
    pub comparison: Option<PageComparison>,
}

/// Content of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageRecording {
    /// File name.
    pub name: String,
    /// Operating system, processors, memory, when it was recorded.
    pub machine: String,
    /// True for the first picture of a recording, which has the phases only. The rest is still being read.
    pub is_partial: bool,
    /// Start of the axis, ns: 0, or negative if firmware times are known.
    pub start_ns: i64,
    /// Length of the axis, ns.
    pub duration_ns: i64,
    /// Note about isolated times after the end of the axis; empty if there are none.
    pub beyond_axis: String,
    pub transitions: Vec<PageTransition>,
    /// Index of the transition to show first.
    pub first: usize,
    /// Intervals in which the computer was asleep, drawn at reduced length.
    pub folds: Vec<PageFold>,
    pub tracks: Vec<PageTrack>,
    pub losses: Vec<PageLoss>,
    pub missing: Vec<PageMissing>,
    /// Intervals in which the recorder lost all events.
    pub gaps: Vec<PageGap>,
    /// Names of the subjects of range tables that the recording has data for.
    pub subjects: Vec<&'static str>,
    /// Pre-drawn lanes; empty if a server draws them.
    pub drawn: Vec<PageDrawn>,
}

/// An interval in which the recorder lost all events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageGap {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
}

/// A boot, shutdown, sleep or network boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageTransition {
    /// `boot`, `shutdown`, `suspend`, `netboot`.
    pub kind: String,
    /// Number among the transitions of its kind in the recording, from 1.
    pub number: u32,
    /// Variant, such as `fast_startup`.
    pub variant: String,
    /// Display name.
    pub title: String,
    /// Result in a few sentences, shortest first.
    pub headline: Vec<String>,
    /// What to fix first, as in `onoff diagnose`; empty if there is nothing.
    pub fix_first: String,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Phases, in order.
    pub phases: Vec<PagePhase>,
    /// Facts about phases, firmware tables and captures without a position on the axis.
    pub unplaced: Vec<String>,
    /// Search for the end of the last phase.
    pub band: Option<PageBand>,
    /// Timeouts.
    pub ticks: Vec<PageTick>,
    /// What had begun and not ended when the recording did, by start; empty for a transition that ended.
    pub still_running: Vec<PageTick>,
    /// Findings, most expensive first.
    pub findings: Vec<PageFinding>,
    /// The transition without each finding that has a prediction, and without all of them; empty if a server answers
    /// queries.
    pub predictions: Vec<PageWhatIf>,
}

/// A phase of a transition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PagePhase {
    /// Name, as in JSON output.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// True if the end is not in the recording; `end_ns` is then the end of the recording.
    pub is_open: bool,
    /// Idle time at the end, not part of the phase's duration, ns.
    pub idle_ns: i64,
    /// Time spent waiting for a person, not part of the phase's duration, ns.
    pub user_input_ns: i64,
    /// Rule that determines the end.
    pub rule: String,
    /// Event at the end.
    pub event: String,
    /// Certainty of the end.
    pub certainty: Certainty,
    /// Explanation of the phase.
    pub explains: String,
    /// Number of its color: the same for phases with the same name.
    pub shade: usize,
    /// Breakdown by subject; the times add up to the length of the phase.
    pub account: Vec<PageAccountEntry>,
    /// CPU and disk usage.
    pub usage: PageUsage,
    /// Longest steps of the critical path; empty if a server answers queries.
    pub steps: PageSteps,
    /// Flame graphs of samples and of waits; empty if a server answers queries.
    pub flames: Vec<PageFlame>,
}

/// Share of a phase attributed to one subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageAccountEntry {
    /// Subject, such as a service or driver.
    pub subject: String,
    /// Kind of subject.
    pub kind: String,
    /// Time, ns.
    pub ns: i64,
    /// Activity of the subject.
    pub actions: String,
    /// Certainty of the attribution.
    pub certainty: Certainty,
    /// Longest intervals as (start, end), ns.
    pub intervals: Vec<(i64, i64)>,
}

/// CPU and disk usage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageUsage {
    /// CPU by process.
    pub processors: Vec<PageUsageRow>,
    /// Disks by process.
    pub disks: Vec<PageUsageRow>,
    /// Disks by file.
    pub files: Vec<PageUsageRow>,
}

/// A row of a usage table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageUsageRow {
    pub name: String,
    /// Additional text.
    pub detail: String,
    /// Time, ns.
    pub ns: i64,
    /// Number of requests.
    pub count: u64,
    /// Transferred bytes.
    pub bytes: u64,
}

/// Search for the end of a phase that ends when the computer is idle.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageBand {
    /// Required idle time, ns.
    pub required_ns: i64,
    /// Slices, in order.
    pub slices: Vec<PageSlice>,
}

/// A time slice, idle or busy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageSlice {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// `idle` or `busy`.
    pub state: &'static str,
    /// Idle time accumulated up to the end of the slice, ns.
    pub idle_so_far_ns: i64,
    /// CPU and disk usage in the slice.
    pub note: String,
}

/// An interval in which the computer was asleep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFold {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns; equal to the start if the recording's clock stopped.
    pub end_ns: i64,
    /// Duration of the sleep, ns; `None` if unknown.
    pub slept_ns: Option<i64>,
    /// Description, with the source of the duration.
    pub text: String,
}

/// A marked point in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageTick {
    /// Time, ns.
    pub time_ns: i64,
    pub label: String,
}

/// A finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFinding {
    /// Code of the rule, such as `boot/service-slow`.
    pub code: String,
    pub title: String,
    /// Cost, ns; `None` if unknown.
    pub cost_ns: Option<i64>,
    /// True if the cost is an upper bound because other work ran in parallel.
    pub cost_is_upper_bound: bool,
    /// The changes of the prediction, as in `onoff what-if`; empty if the cost is not predicted.
    pub changes: Vec<Change>,
    pub evidence: String,
    pub advice: String,
    pub certainty: Certainty,
    /// Command that explains the rule and its known false positives.
    pub explained_by: String,
    pub subject: Option<FindingSubject>,
    /// Track of the subject, an index into `PageRecording::tracks`.
    pub track: Option<u32>,
    /// Start of the relevant interval, ns.
    pub start_ns: Option<i64>,
    /// End of the relevant interval, ns.
    pub end_ns: Option<i64>,
}

/// The predicted transition without some of its findings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageWhatIf {
    /// Indices of the findings, ascending.
    pub findings: Vec<usize>,
    /// The prediction in a sentence, as in `onoff what-if`.
    pub headline: String,
    /// Why there is no prediction; empty if there is one.
    pub reasons: Vec<String>,
    /// Arguments that make `onoff what-if` predict the same.
    pub arguments: String,
    /// Duration in the recording, ns.
    pub measured_ns: i64,
    /// Predicted duration; `None` if not known.
    pub predicted: Option<PredictedDuration>,
    /// The first culprit after the changes, with its time; empty if not known.
    pub first_culprit: String,
    pub phases: Vec<PageWhatIfPhase>,
}

/// A phase as measured and as predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageWhatIfPhase {
    /// Name of the phase, as in [`PagePhase`].
    pub name: String,
    /// Duration in the recording, ns.
    pub measured_ns: i64,
    /// Predicted duration; `None` if not known.
    pub predicted: Option<PredictedDuration>,
}

/// A loss counter of the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageLoss {
    /// Name of the counter.
    pub name: String,
    pub severity: String,
    /// Number of lost items.
    pub count: u64,
    /// Meaning of the loss.
    pub means: String,
}

/// Data that were not recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMissing {
    /// Question that cannot be answered without the data.
    pub what: String,
    /// How to record it.
    pub record: String,
}

/// All lanes of a recording at one resolution.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageDrawn {
    /// Pixels of the entire recording.
    pub pixels: u32,
    /// Lanes, in the order of the tracks.
    pub lanes: Vec<DrawnLane>,
    /// Ready-thread arrows.
    pub arrows: Vec<DrawnArrow>,
}

/// Converts losses for the page.
#[must_use]
pub fn loss_list(losses: &Losses) -> Vec<PageLoss> {
    losses
        .iter()
        .map(|loss| PageLoss {
            name: loss.counter.to_owned(),
            severity: loss.severity.as_str().to_owned(),
            count: loss.count,
            means: loss.help.to_owned(),
        })
        .collect()
}

/// Draws the lanes for a page without a server: at the width of a screen, and at up to two finer resolutions if they
/// fit into `budget_bytes` of JSON.
#[must_use]
pub fn predraw_lanes(
    (tracks, arrows): (&[Track], &[Arrow]),
    start_ns: i64,
    end_ns: i64,
    budget_bytes: usize,
) -> Vec<PageDrawn> {
    let mut drawn = Vec::new();
    let mut remaining_bytes = budget_bytes;
    for pixels in [1_600, 12_800, 102_400] {
        let lanes: Vec<DrawnLane> = tracks.iter().map(|track| track.draw(start_ns, end_ns, pixels)).collect();
        let size = serde_json::to_string(&lanes).map_or(usize::MAX, |text| text.len());
        if !drawn.is_empty() && size > remaining_bytes {
            break;
        }
        remaining_bytes = remaining_bytes.saturating_sub(size);
        drawn.push(PageDrawn { pixels, lanes, arrows: path::draw(arrows, start_ns, end_ns, pixels) });
    }
    drawn
}
