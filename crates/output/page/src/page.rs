//! What the page is given. The names are those of `viewer/src/data.ts`; times are nanoseconds on the recording's axis.

use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_trace::Losses;

use crate::compare::PageComparison;
use crate::legend::PageLegend;
use crate::path::{self, Arrow, DrawnArrow, PageSteps};
use crate::ranges::PageFlame;
use crate::track::PageTrack;
use onoff_lanes::{DrawnLane, Track};

/// Everything the page shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Page {
    /// Version of the program that wrote it.
    pub version: String,
    /// Whether a server draws lanes and sums ranges.
    pub served: bool,
    /// Names of tones, groups of tracks, steps and tables.
    pub legend: PageLegend,
    /// The recordings.
    pub recordings: Vec<PageRecording>,
    /// What differs between two sets of runs, of which the recordings are one each.
    pub comparison: Option<PageComparison>,
}

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageRecording {
    /// Name: that of its file.
    pub name: String,
    /// Operating system, processors, memory, when it was recorded.
    pub machine: String,
    /// Where the axis begins, ns: 0, or earlier where the firmware's times are known.
    pub start_ns: i64,
    /// Length of the axis, ns.
    pub duration_ns: i64,
    /// What it holds.
    pub transitions: Vec<PageTransition>,
    /// Which of them the page shows first.
    pub first: usize,
    /// Times in which the computer slept: drawn short, however long they are.
    pub folds: Vec<PageFold>,
    /// Its tracks.
    pub tracks: Vec<PageTrack>,
    /// What was lost.
    pub losses: Vec<PageLoss>,
    /// What was not recorded.
    pub missing: Vec<PageMissing>,
    /// Lanes drawn beforehand; empty where a server draws.
    pub drawn: Vec<PageDrawn>,
}

/// A transition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageTransition {
    /// `boot`, `shutdown`, `suspend`, `netboot`.
    pub kind: String,
    /// Which of its kind, e.g. `fast_startup`.
    pub variant: String,
    /// Its name on the page.
    pub title: String,
    /// The answer in a few sentences, the shortest first.
    pub headline: Vec<String>,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Its phases, in order.
    pub phases: Vec<PagePhase>,
    /// What is known of phases, and of tables and captures, that have no place on the axis.
    pub unplaced: Vec<String>,
    /// The search for the end of the last phase.
    pub band: Option<PageBand>,
    /// Time limits.
    pub ticks: Vec<PageTick>,
    /// What to change, what costs most first.
    pub findings: Vec<PageFinding>,
}

/// A phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PagePhase {
    /// Name, as JSON has it.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Whether its end is not in the recording: then `end_ns` is where that ends.
    pub is_open: bool,
    /// Idle time that ends it and is no part of what it took, ns.
    pub idle_ns: i64,
    /// Time of it in which a person was waited for, which is no part of what it took either, ns.
    pub person_ns: i64,
    /// What set its end.
    pub rule: String,
    /// The event that did.
    pub event: String,
    /// How certain that is.
    pub certainty: Certainty,
    /// What the phase is, for who meets the name for the first time.
    pub explains: String,
    /// Who held it; the times sum to its length.
    pub account: Vec<PageAccountEntry>,
    /// Who used processors and disks in it.
    pub usage: PageUsage,
    /// The longest steps of its critical path; empty where a server has them.
    pub steps: PageSteps,
    /// Its flame graphs, of samples and of waits; empty where a server has them.
    pub flames: Vec<PageFlame>,
}

/// Who held a part of a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageAccountEntry {
    /// Who.
    pub subject: String,
    /// What kind of subject.
    pub kind: String,
    /// Time, ns.
    pub ns: i64,
    /// What it did.
    pub did: String,
    /// How certain it is.
    pub certainty: Certainty,
    /// When, ns; the longest ones.
    pub stretches: Vec<(i64, i64)>,
}

/// Who used processors and disks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageUsage {
    /// Processors, by process.
    pub processors: Vec<PageUsageRow>,
    /// Disks, by process.
    pub disks: Vec<PageUsageRow>,
    /// Disks, by file.
    pub files: Vec<PageUsageRow>,
}

/// A row of the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageUsageRow {
    /// Name.
    pub name: String,
    /// More of it.
    pub detail: String,
    /// Time, ns.
    pub ns: i64,
    /// Requests.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The search for the end of the last phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageBand {
    /// Idle time that ends it, ns.
    pub required_ns: i64,
    /// Slices.
    pub slices: Vec<PageSlice>,
}

/// A slice of the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageSlice {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// `idle` or `busy`.
    pub state: &'static str,
    /// Idle time found by its end, ns.
    pub idle_so_far_ns: i64,
    /// How busy what was.
    pub note: String,
}

/// A time in which the computer slept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFold {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns; the start where the recording's clock stood still.
    pub end_ns: i64,
    /// How long it slept, ns; `None` when not known.
    pub slept_ns: Option<i64>,
    /// The same as a phrase, with what says so.
    pub text: String,
}

/// A point in time worth a mark.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageTick {
    /// Time, ns.
    pub time_ns: i64,
    /// What it is.
    pub label: String,
}

/// What to change.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFinding {
    /// Code of the rule.
    pub code: String,
    /// What was found.
    pub title: String,
    /// Its cost, ns; `None` when not known.
    pub cost_ns: Option<i64>,
    /// Whether it costs that at most: something else was at work at the same time.
    pub cost_at_most: bool,
    /// What it rests on.
    pub evidence: String,
    /// What to do.
    pub advice: String,
    /// How certain it is.
    pub certainty: Certainty,
    /// Command that explains the rule and its known false positives.
    pub explained_by: String,
    /// Where to look, ns.
    pub start_ns: Option<i64>,
    /// Until where, ns.
    pub end_ns: Option<i64>,
}

/// Something lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageLoss {
    /// Name of the counter.
    pub name: String,
    /// Severity.
    pub severity: String,
    /// How often.
    pub count: u64,
    /// What it means.
    pub means: String,
}

/// Something not recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMissing {
    /// What is not known without it.
    pub what: String,
    /// How to record it.
    pub record: String,
}

/// Every lane of a recording at one resolution.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageDrawn {
    /// Pixels over the whole recording.
    pub pixels: u32,
    /// Lanes, in the order of the tracks.
    pub lanes: Vec<DrawnLane>,
    /// Who made whom ready.
    pub arrows: Vec<DrawnArrow>,
}

/// The losses as the page lists them.
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

/// The resolutions at which a page without a server has its lanes: a screen, and two that are finer, as far as `budget_bytes`
/// of text allow.
#[must_use]
pub fn drawn_beforehand(
    (tracks, arrows): (&[Track], &[Arrow]),
    start_ns: i64,
    end_ns: i64,
    budget_bytes: usize,
) -> Vec<PageDrawn> {
    let mut drawn = Vec::new();
    let mut left = budget_bytes;
    for pixels in [1_600, 12_800, 102_400] {
        let lanes: Vec<DrawnLane> = tracks.iter().map(|track| track.draw(start_ns, end_ns, pixels)).collect();
        let size = serde_json::to_string(&lanes).map_or(usize::MAX, |text| text.len());
        if !drawn.is_empty() && size > left {
            break;
        }
        left = left.saturating_sub(size);
        drawn.push(PageDrawn { pixels, lanes, arrows: path::draw(arrows, start_ns, end_ns, pixels) });
    }
    drawn
}
