//! Summarizes many recordings, one row per transition.

use onoff_trace::{RecordedBoot, Trace};
use serde::Serialize;

use crate::boot_history::PhaseLength;
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
    /// File of the recording, or its files joined by `+`; the folder of several event logs.
    pub recording: String,
    /// Id of the boot, as in `boot --list-boots`, for event logs; empty for recordings of one boot.
    pub boot: String,
    /// Computer name; empty if unknown.
    pub computer: String,
    /// Name and release of the operating system.
    pub os: String,
    /// Build number of the operating system; 0 if unknown.
    pub os_build: u32,
    /// Wall-clock time of time zero, RFC 3339, UTC; `None` if not recorded.
    pub recorded_utc: Option<String>,
    /// `boot`, `shutdown`, `suspend` or `netboot`; empty if the recording has no transition or cannot be read.
    pub transition: &'static str,
    /// Variant, e.g. `cold`, `restart`, `hibernate`; empty if unknown.
    pub variant: String,
    /// Duration, ns: of a boot without the required idle time, of a sleep without the time asleep. `None` if an end is
    /// not in the recording.
    pub duration_ns: Option<i64>,
    /// Lower bound of the duration, ns; equal to the duration if known.
    pub at_least_ns: i64,
    /// Time spent waiting for a person, ns; not part of the duration.
    pub user_input_ns: i64,
    /// Time asleep, ns; of a modern standby, from entry to exit. Not part of the duration. `None` for other
    /// transitions, or if unknown.
    pub asleep_ns: Option<i64>,
    /// The phases whose duration is known, without required idle time and without waiting for a person, in order.
    pub phases: Vec<PhaseLength>,
    /// The longest phase; empty if no phase is known.
    pub phase: String,
    /// Duration of the longest phase, ns.
    pub phase_ns: Option<i64>,
    /// The subject to fix first, as named by `diagnose`; empty if no finding has a cost. For a network boot: the detail
    /// of its longest stage.
    pub subject: String,
    /// Cost of the subject, ns.
    pub subject_ns: Option<i64>,
    /// True if the cost is an upper bound because the work ran in parallel with other work.
    pub subject_is_upper_bound: bool,
    /// Certainty of the cost.
    pub subject_certainty: Option<Certainty>,
    /// Why the recording could not be analyzed; empty otherwise.
    pub error: String,
}

/// Summary of recordings, one row per transition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Rows in the order of the recordings.
    pub rows: Vec<SummaryRow>,
    /// Number of recordings.
    pub recordings: u64,
    /// Number of transitions.
    pub transitions: u64,
    /// Number of unreadable recordings.
    pub unreadable: u64,
    /// Number of recordings without a transition.
    pub without_transition: u64,
    /// Number of boots in event logs without a duration, because Windows wrote no account of them. They have no rows.
    pub boots_without_duration: u64,
    /// Event logs that could not be read. They are not recordings and have no rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable_logs: Vec<UnreadableLog>,
    /// Number of other files in the folders, including links, which are not followed.
    pub other_files: u64,
    /// Statistics of Linux sleeps, for each variant with two or more sleeps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sleeps: Vec<SleepStatistics>,
}

/// An event log that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadableLog {
    pub file: String,
    /// Why it could not be read.
    pub error: String,
}

impl SummaryRow {
    /// Returns a row for a recording that could not be analyzed.
    #[must_use]
    pub fn from_error(recording: String, error: String) -> Self {
        Self { recording, error, ..Self::default() }
    }
}

/// Returns a row for each transition of `recording`. `trace` should have the tables of the transitions. `fix_first`
/// returns what to fix first in the transition of a kind and number.
#[must_use]
pub fn summary_rows(
    recording: &str,
    trace: &Trace,
    fix_first: impl Fn(TransitionKind, u32) -> Option<FixFirst>,
) -> Vec<SummaryRow> {
    let Provenance { computer, os, os_build, recorded_utc, .. } = Provenance::new(Vec::new(), trace);
    let row = |transition: TransitionOverview| {
        let longest = transition.longest_phase();
        let fix = fix_first(transition.kind, transition.number);
        SummaryRow {
            recording: recording.to_owned(),
            boot: String::new(),
            computer: computer.clone(),
            os: os.clone(),
            os_build,
            recorded_utc: recorded_utc.clone(),
            transition: transition.kind.as_str(),
            variant: transition.variant.to_owned(),
            duration_ns: transition.duration_ns,
            at_least_ns: transition.at_least_ns,
            user_input_ns: transition.phases.iter().fold(0, |sum: i64, phase| sum.saturating_add(phase.user_input_ns)),
            asleep_ns: transition.asleep_ns,
            phases: transition
                .measured_phases()
                .map(|(phase, duration_ns)| PhaseLength { phase: phase.name.as_str().to_owned(), duration_ns })
                .collect(),
            phase_ns: longest.map(|(_, duration_ns)| duration_ns),
            subject_ns: fix.as_ref().and_then(|fix| fix.cost_ns),
            subject_is_upper_bound: fix.as_ref().is_some_and(|fix| fix.is_upper_bound),
            subject_certainty: fix.as_ref().map(|fix| fix.certainty),
            subject: fix.map(|fix| fix.name).unwrap_or_default(),
            phase: longest.map(|(phase, _)| phase.name.as_str().to_owned()).unwrap_or_default(),
            error: String::new(),
        }
    };
    overview(trace).into_iter().map(row).collect()
}

/// Returns a row for each transition of `boot`, one of several boots of the event logs `recording`, as
/// [`summary_rows`]. A boot without a duration has no row.
#[must_use]
pub fn logged_boot_rows(
    recording: &str,
    boot: &RecordedBoot,
    trace: &Trace,
    fix_first: impl Fn(TransitionKind, u32) -> Option<FixFirst>,
) -> Vec<SummaryRow> {
    let has_duration = |row: &SummaryRow| row.transition != TransitionKind::Boot.as_str() || row.duration_ns.is_some();
    let rows = summary_rows(recording, trace, fix_first).into_iter().filter(has_duration);
    rows.map(|row| SummaryRow { boot: boot.id.clone(), ..row }).collect()
}

/// Returns a row for each network boot of the capture `recording`. The variant is the outcome of the boot.
#[must_use]
pub fn capture_rows(recording: &str, report: &NetbootReport) -> Vec<SummaryRow> {
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
