//! Many recordings, one row a transition: enough to see which one to look at.

use onoff_trace::Trace;
use serde::Serialize;

use crate::sleep_statistics::SleepStatistics;
use onoff_blame::account::FixFirst;
use onoff_evidence::Certainty;
use onoff_evidence::recording::Provenance;
use onoff_network::report::{NetbootReport, NetworkBoot};
use onoff_transitions::TransitionKind;
use onoff_transitions::overview::{TransitionOverview, overview};

/// A transition of a recording, or a recording without one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SummaryRow {
    /// The recording: its file, or its files with `+` between them.
    pub recording: String,
    /// Computer name; empty when not known.
    pub computer: String,
    /// Operating system's name and release as people know it.
    pub os: String,
    /// Build number of the operating system; 0 when not known.
    pub os_build: u32,
    /// Real time of time zero, RFC 3339, UTC; `None` when the recording does not say.
    pub recorded_utc: Option<String>,
    /// `boot`, `shutdown`, `suspend` or `netboot`; empty where the recording holds no transition or cannot be read.
    pub transition: &'static str,
    /// The kind of it, e.g. `cold`, `restart`, `hibernation`; empty when not known.
    pub variant: String,
    /// How long it took, ns: of a boot without the required idle time, of a sleep without the sleep. `None` where an end is not in
    /// the recording.
    pub duration_ns: Option<i64>,
    /// A lower bound of it, ns; the duration itself where that is known.
    pub at_least_ns: i64,
    /// The phase that took longest; empty when no phase is known.
    pub phase: String,
    /// How long it took, ns.
    pub phase_ns: Option<i64>,
    /// What to change first, as `diagnose` names it; empty when no finding has a cost. Of a network boot, what its longest stage was about.
    pub subject: String,
    /// What it costs, ns.
    pub subject_ns: Option<i64>,
    /// True if that is an upper bound, because the work ran in parallel with other work.
    pub subject_at_most: bool,
    /// Whether that was measured or inferred.
    pub subject_certainty: Option<Certainty>,
    /// Why there is no answer; empty where there is one.
    pub error: String,
}

/// The recordings, a row each transition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The rows, in the order of the recordings.
    pub rows: Vec<SummaryRow>,
    /// Recordings that were looked at.
    pub recordings: u64,
    /// Transitions in them.
    pub transitions: u64,
    /// Recordings that cannot be read.
    pub unreadable: u64,
    /// Recordings that hold no transition.
    pub without_transition: u64,
    /// Files in the folders that are no recording, and links, which are not followed.
    pub other_files: u64,
    /// The sleeps of Linux among them, by kind, where there are two or more of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sleeps: Vec<SleepStatistics>,
}

impl SummaryRow {
    /// A row without an answer.
    #[must_use]
    pub fn failed(recording: String, error: String) -> Self {
        Self { recording, error, ..Self::default() }
    }
}

/// The transitions of the recording called `recording`; none where it holds none. `trace` should hold the tables of the transitions,
/// and `fix_first` says what to change first in the transition of a kind and number.
#[must_use]
pub fn rows(
    recording: &str,
    trace: &Trace,
    fix_first: impl Fn(TransitionKind, u32) -> Option<FixFirst>,
) -> Vec<SummaryRow> {
    let Provenance { computer, os, os_build, recorded_utc, .. } = Provenance::of(Vec::new(), trace);
    let row = |transition: TransitionOverview| {
        let longest = transition.longest();
        let first = fix_first(transition.kind, transition.number);
        SummaryRow {
            recording: recording.to_owned(),
            computer: computer.clone(),
            os: os.clone(),
            os_build,
            recorded_utc: recorded_utc.clone(),
            transition: transition.kind.as_str(),
            variant: transition.variant.to_owned(),
            duration_ns: transition.duration_ns,
            at_least_ns: transition.at_least_ns,
            phase_ns: longest.map(|(_, took_ns)| took_ns),
            subject_ns: first.as_ref().map(|first| first.cost_ns),
            subject_at_most: first.as_ref().is_some_and(|first| first.at_most),
            subject_certainty: first.as_ref().map(|first| first.certainty),
            subject: first.map(|first| first.name).unwrap_or_default(),
            phase: longest.map(|(phase, _)| phase.name.as_str().to_owned()).unwrap_or_default(),
            error: String::new(),
        }
    };
    overview(trace).into_iter().map(row).collect()
}

/// The network boots of the capture called `recording`. Whether each loaded is its variant.
#[must_use]
pub fn rows_of_capture(recording: &str, report: &NetbootReport) -> Vec<SummaryRow> {
    let row = |boot: &NetworkBoot| {
        let longest = boot.stages.iter().max_by_key(|stage| stage.duration_ns);
        SummaryRow {
            recording: recording.to_owned(),
            computer: boot.client.mac.map(|mac| mac.to_string()).unwrap_or_default(),
            recorded_utc: report.capture.start_utc.clone(),
            transition: "netboot",
            variant: boot.outcome.verdict.as_str().to_owned(),
            duration_ns: Some(boot.duration_ns),
            at_least_ns: boot.duration_ns,
            phase: longest.map(|stage| stage.kind.as_str().to_owned()).unwrap_or_default(),
            phase_ns: longest.map(|stage| stage.duration_ns),
            subject: longest.map(|stage| stage.detail.clone()).unwrap_or_default(),
            subject_ns: longest.filter(|stage| !stage.detail.is_empty()).map(|stage| stage.duration_ns),
            ..SummaryRow::default()
        }
    };
    report.boots.iter().map(row).collect()
}
